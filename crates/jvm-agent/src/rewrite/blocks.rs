//! Which methods need no block around them, although they are meant to be atomic.

use super::names::is_platform;
use crate::classfile::Outcome;
use crate::classfile::code::Code;
use crate::classfile::insn::{self, op};
use crate::classfile::pool::Reference;

/// What a method does, as far as it can be seen.
#[derive(Clone, Copy, Default, Debug)]
pub struct Doings {
    /// Accesses and lock operations.
    pub observed: usize,
    /// Calls that may lead to events.
    pub calls: usize,
    /// The last such call is one of a block.
    pub calls_block: bool,
}

/// Whether a block around the method can make a difference. A method that does one thing at most
/// is as atomic without; one that only calls another block is as atomic as that one.
pub fn matters(code: &Code, doings: Doings) -> Outcome<bool> {
    match (doings.observed, doings.calls) {
        (0, 0) => Ok(false),
        (1, 0) => loops(code),
        (0, 1) if doings.calls_block => loops(code),
        _ => Ok(true),
    }
}

/// Whether a call leads to no event: methods of the platform that neither call back nor order
/// threads.
pub fn is_quiet(called: &Reference) -> bool {
    const QUIET: &[&[u8]] = &[
        b"java/lang/String",
        b"java/lang/StringBuilder",
        b"java/lang/Math",
        b"java/lang/Character",
        b"java/lang/Integer",
        b"java/lang/Long",
        b"java/lang/Boolean",
        b"java/lang/Double",
        b"java/lang/Byte",
        b"java/lang/Short",
        b"java/lang/Float",
        b"java/lang/Enum",
    ];
    let takes_object = called.descriptor.windows(17).any(|w| w == b"Ljava/lang/Object");
    let constructs = called.name == b"<init>" && is_platform(called.owner);
    let copies = called.owner == b"java/lang/System" && called.name == b"arraycopy";
    let class_of = called.owner == b"java/lang/Object" && called.name == b"getClass";
    QUIET.contains(&called.owner) && (!takes_object || called.name == b"equals")
        || constructs && !takes_object && is_quiet_class(called.owner)
        || copies
        || class_of
}

/// Classes whose constructors do nothing with what they are given but keep it.
fn is_quiet_class(class: &[u8]) -> bool {
    class == b"java/lang/Object" || class.ends_with(b"Exception") || class.ends_with(b"Error")
}

fn loops(code: &Code) -> Outcome<bool> {
    for i in &code.instructions {
        let jumps = insn::is_short_jump(i.opcode) || i.opcode == op::GOTO_W;
        if jumps && insn::jump_target(code.bytes, i.at)? <= i.at {
            return Ok(true);
        }
        if matches!(i.opcode, op::TABLESWITCH | op::LOOKUPSWITCH) {
            return Ok(true);
        }
    }
    Ok(false)
}
