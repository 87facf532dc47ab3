//! The classes that the agent defines in `java.lang`: the one that inserted code calls, and three that
//! it needs. They are assembled when the agent starts, since they hold addresses.

pub mod assembler;
pub mod emit;
pub mod reads;
mod wrappers;

use crate::classfile::Outcome;
use crate::rewrite::names::HOOK;
use emit::Emitter;

const TEXT: &str = include_str!("hook.jasm");
const DEEP: &str = include_str!("deep.jasm");
const KEYS: &str = include_str!("keys.jasm");
const VARIABLES: &str = include_str!("variables.jasm");
const REPEATS: &str = include_str!("repeats.jasm");
const BUSY: &str = include_str!("busy.jasm");

const REFERENCE: &str = "
field package hash I
field package id J
field package lock J
field package next Ljava/lang/PacelineRef;
method package <init> (Ljava/lang/Object;Ljava/lang/ref/ReferenceQueue;)V
  aload 0
  aload 1
  aload 2
  invokespecial java/lang/ref/WeakReference.<init> (Ljava/lang/Object;Ljava/lang/ref/ReferenceQueue;)V
  return
end
";

const KEY: &str = "
field package hash I
field package id J
field package next Ljava/lang/PacelineKey;
method package <init> (Ljava/lang/Object;)V
  aload 0
  aload 1
  invokespecial java/lang/ref/SoftReference.<init> (Ljava/lang/Object;)V
  return
end
";

const CLASSES: &str = "
method package <init> ()V
  aload 0
  invokespecial java/lang/ClassValue.<init> ()V
  return
end
method public computeValue (Ljava/lang/Class;)Ljava/lang/Object;
  aload 1
  call classFacts (Ljava/lang/Class;)J
  invokestatic java/lang/Long.valueOf (J)Ljava/lang/Long;
  areturn
end
";

/// How many accesses of a kind a thread remembers, as a power of two.
const TOLD_BITS: u32 = 10;
/// The bytes that a thread needs to remember what it has told: reads and writes, 32 bytes each.
pub const TOLD_BYTES: usize = (2 * 32) << TOLD_BITS;
/// So many times each block inside of another one is told in any case.
const RARE: u64 = 256;
/// Later one of so many is, as a power of two.
const CHANCE_BITS: u32 = 8;

/// So many accesses a thread tells in a window of time, if they are not all told.
pub const BUDGET: u32 = 1 << 13;

/// Which accesses that a transaction repeats are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum Repeats {
    /// None.
    #[default]
    Keep = 0,
    /// Those that repeat one of the same block.
    Block = 1,
    /// Those that repeat one of the same block, with nothing between them that orders threads.
    Epoch = 2,
}

/// Addresses and numbers that the hook class is made for.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The first stripe.
    pub stripes: u64,
    /// How many bits number a stripe.
    pub stripe_bits: u32,
    /// A word for each site.
    pub sites: u64,
    /// The owners of arrays, by identity hash.
    pub owners: u64,
    /// How many owners there is room for, less 1: a power of two less 1.
    pub owner_mask: u32,
    /// A word that nobody waits for.
    pub nobodys: u64,
    /// The site of records that only order.
    pub order_site: u32,
    /// The site of records that tell the class of an object.
    pub object_site: u32,
    /// Which accesses are not told.
    pub repeats: Repeats,
    /// Whether a thread may tell any number of accesses in a window of time.
    pub unlimited: bool,
    /// The number of the window.
    pub window: u64,
    /// How often a thread was silent until the next one.
    pub silences: u64,
}

/// A class to define: its name and its bytes.
pub type Defined = (&'static [u8], Vec<u8>);

const PUBLIC_FINAL_SUPER: u16 = 0x0031;

/// The classes to define, in this order.
pub fn classes(layout: &Layout) -> Outcome<[Defined; 4]> {
    let constants = [
        ("STRIPES", layout.stripes),
        ("SHIFT", u64::from(64 - layout.stripe_bits)),
        ("SITES", layout.sites),
        ("OWNERS", layout.owners),
        ("OWNER_MASK", layout.owner_mask.into()),
        ("NOBODYS", layout.nobodys),
        ("ORDER", layout.order_site.into()),
        ("OBJECT", layout.object_site.into()),
        ("REPEATS", layout.repeats as u64),
        ("TOLD_BITS", TOLD_BITS.into()),
        ("TOLD_SHIFT", u64::from(64 - TOLD_BITS)),
        ("RARE", RARE),
        ("BUDGET", if layout.unlimited { 0 } else { BUDGET.into() }),
        ("WINDOW", layout.window),
        ("SILENCES", layout.silences),
        ("CHANCE_SHIFT", u64::from(64 - CHANCE_BITS)),
    ];
    Ok([
        (
            b"java/lang/PacelineRef",
            class(REFERENCE, b"java/lang/PacelineRef", b"java/lang/ref/WeakReference")?,
        ),
        (
            b"java/lang/PacelineKey",
            class(KEY, b"java/lang/PacelineKey", b"java/lang/ref/SoftReference")?,
        ),
        (
            b"java/lang/PacelineClasses",
            class(CLASSES, b"java/lang/PacelineClasses", b"java/lang/ClassValue")?,
        ),
        (HOOK, hook_class(&constants)?),
    ])
}

fn class(text: &str, name: &[u8], super_name: &[u8]) -> Outcome<Vec<u8>> {
    let mut emitter = Emitter::default();
    assembler::assemble(text, &[], &mut emitter)?;
    emitter.finish(PUBLIC_FINAL_SUPER, name, super_name)
}

fn hook_class(constants: &[(&str, u64)]) -> Outcome<Vec<u8>> {
    let mut emitter = Emitter::default();
    emitter.hide_methods();
    assembler::assemble(TEXT, constants, &mut emitter)?;
    assembler::assemble(DEEP, constants, &mut emitter)?;
    assembler::assemble(KEYS, constants, &mut emitter)?;
    assembler::assemble(VARIABLES, constants, &mut emitter)?;
    assembler::assemble(REPEATS, constants, &mut emitter)?;
    assembler::assemble(BUSY, constants, &mut emitter)?;
    assembler::assemble(&reads::text(), constants, &mut emitter)?;
    assembler::assemble(&wrappers::text(), constants, &mut emitter)?;
    emitter.finish(PUBLIC_FINAL_SUPER, HOOK, b"java/lang/Object")
}
