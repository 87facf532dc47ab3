//! The classes that the agent defines in `java.lang`: those that inserted code calls, and what they
//! need.
//!
//! Most are written in Java (`crates/jvm-agent/hook/java`) and compiled by `hook/compile`; their
//! bytes are committed, so that neither building nor using the agent needs a Java compiler. Two are
//! assembled when the agent starts, because they follow from tables: [`reads`] and `wrappers`.
//!
//! What the compiled classes must know of the agent (addresses, bit layouts, choices) they ask for
//! by name when they are initialised: [`Layout::constant`]. The virtual machine's compilers then
//! take these for constants.

pub mod assembler;
pub mod emit;
pub mod reads;
mod wrappers;

use crate::program::access_facts as facts;
use crate::rewrite::names::{READS, WRAPPERS};
use assembler::Misassembled;
use emit::Emitter;
use paceline_wire as wire;

/// How many reads, and how many writes, a thread remembers, as a power of two.
const FILTER_BITS: u32 = 10;
/// The bytes that a thread needs to remember what it has recorded: reads and writes, 32 bytes each.
pub const FILTER_BYTES: usize = (2 * 32) << FILTER_BITS;
/// So many times each block inside of another one is recorded in any case.
const ALWAYS_RECORDED: u64 = 256;
/// Later one of so many is, as a power of two.
const CHANCE_BITS: u32 = 8;

/// So many accesses a thread records in a window of time, if it may be throttled.
pub const BUDGET: u32 = 1 << 13;

/// Which redundant accesses are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Redundant {
    /// None.
    #[default]
    Keep,
    /// Those that an access of the same block covers.
    Block,
    /// The same, but only if nothing that orders threads is between the two.
    Epoch,
}

/// Addresses and numbers that the hook works with.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The first stripe.
    pub stripes: u64,
    /// How many bits number a stripe.
    pub stripe_bits: u32,
    /// The bytes of a stripe; a power of two.
    pub stripe_bytes: usize,
    /// A stripe that no thread waits for.
    pub spare_stripe: u64,
    /// A word for each site.
    pub sites: u64,
    /// The owners of arrays, by identity hash.
    pub owners: u64,
    /// How many owners there is room for, less 1: a power of two less 1.
    pub owner_mask: u32,
    /// The site of records that only order.
    pub order_site: u32,
    /// The site of records that say the class of an object.
    pub object_site: u32,
    /// In a buffer, where the limit for draining early is.
    pub early_limit: usize,
    /// In a buffer, where the last place for a record is.
    pub last_place: usize,
    /// Which accesses are not recorded.
    pub redundant: Redundant,
    /// Whether a thread that records very much is throttled.
    pub throttled: bool,
    /// The number of the window of time.
    pub window: u64,
    /// How often a thread was throttled until the next one.
    pub throttlings: u64,
}

impl Layout {
    /// The value of a constant of `PacelineLayout`.
    pub fn constant(&self, name: &str) -> Option<u64> {
        Some(match name {
            "STRIPES" => self.stripes,
            "STRIPE_SHIFT" => u64::from(64 - self.stripe_bits),
            "STRIPE_BYTES_SHIFT" => self.stripe_bytes.trailing_zeros().into(),
            "SPARE_STRIPE" => self.spare_stripe,
            "SITES" => self.sites,
            "OWNERS" => self.owners,
            "OWNER_MASK" => self.owner_mask.into(),
            "OBJECT_SHIFT" => wire::SITE_BITS.into(),
            "STAMP_SHIFT" => wire::VERSION_BITS.into(),
            "ORDER_SITE" => self.order_site.into(),
            "OBJECT_SITE" => self.object_site.into(),
            "EARLY_LIMIT" => self.early_limit as u64,
            "LAST_PLACE" => self.last_place as u64,
            "WRITE" => facts::WRITE,
            "VOLATILE" => facts::VOLATILE,
            "WORD_OFFSET" => facts::WORD_OFFSET.into(),
            "FIELD_OFFSET" => facts::FIELD_OFFSET.into(),
            "OFFSET_MASK" => facts::MOST,
            "FIELD_NUMBER" => facts::FIELD.into(),
            "FILTERS" => (self.redundant != Redundant::Keep).into(),
            "EPOCHS" => (self.redundant == Redundant::Epoch).into(),
            "FILTER_BITS" => FILTER_BITS.into(),
            "ALWAYS_RECORDED" => ALWAYS_RECORDED,
            "CHANCE_SHIFT" => u64::from(64 - CHANCE_BITS),
            "BUDGET" => {
                if self.throttled {
                    BUDGET.into()
                } else {
                    0
                }
            }
            "WINDOW" => self.window,
            "THROTTLINGS" => self.throttlings,
            _ => return None,
        })
    }
}

/// A class to define: its name and its bytes.
pub type Defined = (Vec<u8>, Vec<u8>);

macro_rules! compiled {
    ($($name:literal)*) => {
        &[$((
            concat!("java/lang/", $name),
            include_bytes!(concat!("../../hook/classes/java/lang/", $name, ".class")),
        )),*]
    };
}

/// The classes that were compiled.
const COMPILED: &[(&str, &[u8])] = compiled!(
    "PacelineAgent" "PacelineLayout" "PacelineRef" "PacelineKey" "PacelineClasses"
    "PacelineRecords" "PacelineFilter" "PacelineObjects" "PacelineCalls" "PacelineKeys"
    "PacelineVariables" "PacelinePlatform" "PacelineHook"
);

const PUBLIC_FINAL_SUPER: u16 = 0x0031;

/// The classes to define, in this order.
pub fn classes() -> Result<Vec<Defined>, Misassembled> {
    let compiled = COMPILED.iter().map(|(name, bytes)| (name.as_bytes().to_vec(), bytes.to_vec()));
    let mut classes: Vec<Defined> = compiled.collect();
    for (name, text) in [(READS, reads::text()), (WRAPPERS, wrappers::text())] {
        let mut emitter = Emitter::default();
        assembler::assemble(&text, &mut emitter)?;
        let bytes = emitter.finish(PUBLIC_FINAL_SUPER, name, b"java/lang/Object");
        let bytes =
            bytes.map_err(|why| Misassembled { line: 0, text: String::new(), why: why.into() })?;
        classes.push((name.to_vec(), bytes));
    }
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classfile::{ClassFile, u2_at};
    use crate::rewrite::platform::THREAD_FIELDS;

    const LAYOUT: Layout = Layout {
        stripes: 0,
        stripe_bits: 14,
        stripe_bytes: 32,
        spare_stripe: 0,
        sites: 0,
        owners: 0,
        owner_mask: 0,
        order_site: 1,
        object_site: 2,
        early_limit: 8,
        last_place: 16,
        redundant: Redundant::Keep,
        throttled: false,
        window: 0,
        throttlings: 0,
    };

    #[test]
    fn every_constant_that_the_hook_asks_for_is_known() {
        let source = include_str!("../../hook/java/lang/PacelineLayout.java");
        let asked = source.split("of(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let unknown: Vec<_> = asked.clone().filter(|it| LAYOUT.constant(it).is_none()).collect();
        assert!(asked.count() > 20);
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn the_hook_is_compiled_against_the_fields_that_threads_get() {
        let source = include_str!("../../hook/stub/java/lang/Thread.java");
        let declared = source.lines().filter_map(|line| {
            let (kind, name) = line.trim().strip_suffix(';')?.split_once(' ')?;
            name.starts_with("$paceline").then_some((name, if kind == "int" { "I" } else { "J" }))
        });
        let [mut declared, mut added] = [declared.collect(), THREAD_FIELDS.to_vec()];
        declared.sort_unstable();
        added.sort_unstable();
        assert_eq!(declared, added);
    }

    /// An application that prints a stack trace must not see that it is observed.
    #[test]
    fn all_methods_are_hidden_from_stack_traces() {
        for (name, bytes) in classes().expect("the classes") {
            let (class, pool) = ClassFile::parse(&bytes).expect("a class");
            for method in &class.methods {
                let attributes = method.attributes(&pool).expect("attributes");
                let body = |name: &[u8]| attributes.iter().find(|it| it.name == name);
                let is_native = body(b"Code").is_none();
                if is_native || method.name.starts_with(b"<") {
                    continue;
                }
                let named = String::from_utf8_lossy(method.name);
                let annotations = body(b"RuntimeVisibleAnnotations");
                let annotations = annotations.unwrap_or_else(|| panic!("{name:?}.{named}")).body;
                // They have no elements, and this one is the first.
                let first = pool.text(u2_at(annotations, 2).expect("an annotation"));
                assert_eq!(first, Ok(&b"Ljdk/internal/vm/annotation/Hidden;"[..]), "{named}");
            }
        }
    }
}
