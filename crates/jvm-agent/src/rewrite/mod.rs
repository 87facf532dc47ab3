//! Puts observation into a class: decides, member by member, what to add, and leaves the
//! bytes to the patcher.
//!
//! Everything works by insertion. Where code does not fit any more, array elements are given up
//! first, then fields; locks, blocks and threads last. A note names what was given up.

mod accesses;
pub mod annotations;
mod blocks;
pub mod calls;
mod constructor;
pub mod hooks;
mod method;
pub mod model;
pub mod names;
pub mod platform;
pub mod site;
mod synchronizers;
pub mod variables;

use crate::classfile::code::Code;
use crate::classfile::{Attribute, ClassFile, Failure, Members, Outcome, Pool, access, put2, put4};
use method::Rewriter;
use names::{WORD, is_platform};
use platform::Change;
use site::Program;

/// How much of a class is observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Everything.
    Observed,
    /// Nothing but the owners of its objects: other classes may access its fields.
    Bare,
}

/// How much of a method is observed. The order is that of giving up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Default, Debug)]
pub enum Detail {
    /// Blocks, locks and threads only.
    Locks,
    /// Without array elements.
    Fields,
    /// Everything.
    #[default]
    All,
}

/// What was done to a class.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Methods that are observed.
    pub methods: u32,
    /// Methods that are blocks.
    pub blocks: u32,
    /// Methods that are observed in part or not at all, and what is missing.
    pub degraded: Vec<(Vec<u8>, &'static str)>,
    /// Calls of the platform that order threads in a way that is not understood.
    pub unmodelled: Vec<Vec<u8>>,
}

/// Rewrites a class of the application.
pub fn rewrite(
    bytes: &[u8],
    extent: Extent,
    program: &mut dyn Program,
) -> Outcome<(Vec<u8>, Summary)> {
    let (class, mut pool) = ClassFile::parse(bytes)?;
    let mut fields =
        Members { count: class.fields.len() as u16, bytes: class.field_bytes.to_vec() };
    if carries_word(&class) {
        let (name, long) = (pool.add_text(WORD)?, pool.add_text(b"J")?);
        fields.add(WORD_ACCESS, name, long);
    }
    let mut rewriter = Rewriter::new(&class, &pool, extent, program)?;
    let mut methods = Members { count: class.methods.len() as u16, bytes: Vec::new() };
    for member in &class.methods {
        methods.bytes.extend_from_slice(member.head);
        let attributes = member.attributes(&pool)?;
        put_attributes(&attributes, &mut methods.bytes, |attribute| {
            if attribute.name != b"Code" {
                return Ok(None);
            }
            rewriter.method(member, &attributes, attribute.body, &mut pool)
        })?;
    }
    let (mut summary, bridges) = rewriter.finish();
    bridges.add(&mut methods, &mut pool)?;
    summary.unmodelled.extend(model::unmodelled_base(class.super_name));
    let referred = pool.referred_methods()?;
    summary.unmodelled.extend(referred.iter().filter_map(model::unmodelled_reference));
    Ok((class.assemble(&pool, &fields, &methods), summary))
}

/// Public, transient and synthetic: reached from everywhere, not serialised, not the
/// programmer's.
const WORD_ACCESS: u16 = 0x1081;

/// Whether the class is where the word of its objects is declared.
fn carries_word(class: &ClassFile) -> bool {
    class.access & access::INTERFACE == 0
        && !is_platform(class.name)
        && is_platform(class.super_name)
}

/// Rewrites a class of the platform.
pub fn rewrite_platform(
    bytes: &[u8],
    change: &Change,
    program: &mut dyn Program,
) -> Outcome<Vec<u8>> {
    let (class, mut pool) = ClassFile::parse(bytes)?;
    let mut fields =
        Members { count: class.fields.len() as u16, bytes: class.field_bytes.to_vec() };
    for (name, descriptor) in change.fields {
        let name = pool.add_text(name.as_bytes())?;
        let descriptor = pool.add_text(descriptor.as_bytes())?;
        fields.add(WORD_ACCESS, name, descriptor);
    }
    let mut methods = Members { count: class.methods.len() as u16, bytes: Vec::new() };
    for member in &class.methods {
        methods.bytes.extend_from_slice(member.head);
        let attributes = member.attributes(&pool)?;
        put_attributes(&attributes, &mut methods.bytes, |attribute| {
            if attribute.name != b"Code" {
                return Ok(None);
            }
            let mut code = Code::parse(attribute.body, &pool)?;
            if !platform::insert(&mut code, change, &class, member, &mut pool, program)? {
                return Ok(None);
            }
            code.write(&mut pool, class.major).map(Some)
        })?;
    }
    Ok(class.assemble(&pool, &fields, &methods))
}

/// Copies attributes, with other bodies for those that get one.
fn put_attributes<'a>(
    attributes: &[Attribute<'a>],
    out: &mut Vec<u8>,
    mut body: impl FnMut(&Attribute<'a>) -> Outcome<Option<Vec<u8>>>,
) -> Outcome<()> {
    put2(out, attributes.len() as u16);
    for attribute in attributes {
        let new = body(attribute)?;
        let body = new.as_deref().unwrap_or(attribute.body);
        put2(out, attribute.name_index);
        put4(out, body.len() as u32);
        out.extend_from_slice(body);
    }
    Ok(())
}

/// Whether giving up detail can help against a failure.
fn is_about_size(failure: Failure) -> bool {
    matches!(failure, Failure::CodeTooLong | Failure::JumpTooFar | Failure::PoolFull)
}

/// What is known about the class whose methods are rewritten.
pub(crate) fn overloaded<'a>(class: &ClassFile<'a>) -> Vec<&'a [u8]> {
    let mut names: Vec<_> = class.methods.iter().map(|m| m.name).collect();
    names.sort_unstable();
    names.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect()
}

/// A pool that can be tried out.
pub(crate) fn attempt<'p, T>(
    pool: &mut Pool<'p>,
    work: impl FnOnce(&mut Pool<'p>) -> Outcome<T>,
) -> Outcome<T> {
    let mark = pool.mark();
    let outcome = work(pool);
    if outcome.is_err() {
        pool.reset(mark);
    }
    outcome
}
