//! Bytecode, reduced to what the abstract stack machine of [`crate::flow`] needs to know: how
//! values move, where control goes, and the few instructions that touch fields, locks and methods.

use noak::error::DecodeError;
use noak::reader::attributes::RawInstruction as Raw;
use noak::reader::cpool;

use crate::body::{CallKind, SiteId};
use crate::expr::{FieldId, Name};
use crate::tables::Tables;

/// How a stack instruction shuffles the top of the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    /// Copies one slot.
    Dup,
    /// Copies one slot below the next one.
    DupX1,
    /// Copies one slot below the next two.
    DupX2,
    /// Copies two slots.
    Dup2,
    /// Copies two slots below the next one.
    Dup2X1,
    /// Copies two slots below the next two.
    Dup2X2,
    /// Exchanges two slots.
    Swap,
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Insn {
    /// Pushes a local of one or two slots.
    Load(u16, u8),
    /// Pops into a local of one or two slots.
    Store(u16, u8),
    /// Adds to a local.
    Increment(u16),
    /// Pushes an integer.
    Int(i32),
    /// Pushes a string.
    Text(Name),
    /// Pushes a class object.
    ClassObject(Name),
    /// Pushes null.
    Null,
    /// Pops some slots and pushes a new value of some slots.
    Compute(u8, u8),
    /// Moves slots about.
    Shuffle(Shuffle),
    /// Checks the class of a reference.
    Cast(Name),
    /// Reads a field: the field, its class if it is a reference, its slots.
    GetField(FieldId, Option<Name>, u8),
    /// Writes a field.
    PutField(FieldId, u8),
    /// Reads a static field.
    GetStatic(FieldId, Option<Name>, u8),
    /// Writes a static field.
    PutStatic(FieldId, u8),
    /// Reads an element of an array of references.
    GetElement,
    /// Writes an element of an array of references.
    PutElement,
    /// Allocates an object.
    New(Name),
    /// Calls a method.
    Call(SiteId),
    /// Makes a lambda.
    Lambda {
        /// The method behind it.
        site: SiteId,
        /// The interface that it implements.
        interface: Name,
        /// The interface's method.
        method: Name,
        /// The slots of each captured value.
        captured: Vec<u8>,
    },
    /// Takes a monitor.
    MonitorEnter,
    /// Gives a monitor back.
    MonitorExit,
    /// Goes elsewhere.
    Jump(u32),
    /// Pops some slots and may go elsewhere.
    Branch(u8, u32),
    /// Pops a number and goes to one of several places.
    Switch(Vec<u32>),
    /// Calls a subroutine of old class files.
    Subroutine(u32),
    /// Returns from a subroutine.
    SubroutineReturn,
    /// Returns, with a value of some slots.
    Return(u8),
    /// Throws.
    Throw,
}

/// Decodes the instruction at `pc`.
pub fn decode(raw: &Raw<'_>, pc: u32, tables: &mut Tables<'_>) -> Result<Insn, DecodeError> {
    let groups = [literal, shuffle, arithmetic, conversion, array, control, local];
    let found = groups.iter().find_map(|decode| decode(raw));
    match found.or_else(|| branch(raw, pc)) {
        Some(insn) => Ok(insn),
        None => with_constant(raw, tables),
    }
}

/// Constants that are part of the instruction.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn literal(raw: &Raw<'_>) -> Option<Insn> {
    use Insn::{Compute, Int};
    Some(match raw {
        Raw::AConstNull => Insn::Null,
        Raw::IConstM1 => Int(-1),
        Raw::IConst0 => Int(0),
        Raw::IConst1 => Int(1),
        Raw::IConst2 => Int(2),
        Raw::IConst3 => Int(3),
        Raw::IConst4 => Int(4),
        Raw::IConst5 => Int(5),
        Raw::BIPush { value } => Int((*value).into()),
        Raw::SIPush { value } => Int((*value).into()),
        Raw::FConst0 | Raw::FConst1 | Raw::FConst2 => Compute(0, 1),
        Raw::LConst0 | Raw::LConst1 | Raw::DConst0 | Raw::DConst1 | Raw::LdC2W { .. } => {
            Compute(0, 2)
        }
        _ => return None,
    })
}

/// What only moves the slots on the stack, or drops some.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn shuffle(raw: &Raw<'_>) -> Option<Insn> {
    Some(match raw {
        Raw::Nop => Insn::Compute(0, 0),
        Raw::Pop => Insn::Compute(1, 0),
        Raw::Pop2 => Insn::Compute(2, 0),
        Raw::Dup => Insn::Shuffle(Shuffle::Dup),
        Raw::DupX1 => Insn::Shuffle(Shuffle::DupX1),
        Raw::DupX2 => Insn::Shuffle(Shuffle::DupX2),
        Raw::Dup2 => Insn::Shuffle(Shuffle::Dup2),
        Raw::Dup2X1 => Insn::Shuffle(Shuffle::Dup2X1),
        Raw::Dup2X2 => Insn::Shuffle(Shuffle::Dup2X2),
        Raw::Swap => Insn::Shuffle(Shuffle::Swap),
        _ => return None,
    })
}

/// Arithmetic and comparisons: `int` and `float` take a slot each, `long` and `double` two.
#[rustfmt::skip]
#[expect(clippy::wildcard_enum_match_arm, reason = "one of several functions that share 200 opcodes")]
fn arithmetic(raw: &Raw<'_>) -> Option<Insn> {
    let (popped, pushed) = match raw {
        Raw::INeg | Raw::FNeg => (1, 1),
        Raw::IAdd | Raw::ISub | Raw::IMul | Raw::IDiv | Raw::IRem
        | Raw::IAnd | Raw::IOr | Raw::IXor | Raw::IShL | Raw::IShR | Raw::IUShR
        | Raw::FAdd | Raw::FSub | Raw::FMul | Raw::FDiv | Raw::FRem
        | Raw::FCmpG | Raw::FCmpL => (2, 1),
        Raw::LNeg | Raw::DNeg => (2, 2),
        Raw::LShL | Raw::LShR | Raw::LUShR => (3, 2),
        Raw::LCmp | Raw::DCmpG | Raw::DCmpL => (4, 1),
        Raw::LAdd | Raw::LSub | Raw::LMul | Raw::LDiv | Raw::LRem
        | Raw::LAnd | Raw::LOr | Raw::LXor
        | Raw::DAdd | Raw::DSub | Raw::DMul | Raw::DDiv | Raw::DRem => (4, 2),
        _ => return None,
    };
    Some(Insn::Compute(popped, pushed))
}

/// Conversions of numbers.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn conversion(raw: &Raw<'_>) -> Option<Insn> {
    let (popped, pushed) = match raw {
        Raw::I2B | Raw::I2C | Raw::I2S | Raw::I2F | Raw::F2I => (1, 1),
        Raw::I2L | Raw::I2D | Raw::F2L | Raw::F2D => (1, 2),
        Raw::L2I | Raw::L2F | Raw::D2I | Raw::D2F => (2, 1),
        Raw::L2D | Raw::D2L => (2, 2),
        _ => return None,
    };
    Some(Insn::Compute(popped, pushed))
}

/// Arrays and their elements; only elements that are objects matter.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn array(raw: &Raw<'_>) -> Option<Insn> {
    use Insn::Compute;
    Some(match raw {
        Raw::AALoad => Insn::GetElement,
        Raw::AAStore => Insn::PutElement,
        Raw::ArrayLength | Raw::NewArray { .. } | Raw::ANewArray { .. } => Compute(1, 1),
        Raw::MultiANewArray { dimensions, .. } => Compute(*dimensions, 1),
        Raw::IALoad | Raw::BALoad | Raw::CALoad | Raw::SALoad | Raw::FALoad => Compute(2, 1),
        Raw::LALoad | Raw::DALoad => Compute(2, 2),
        Raw::IAStore | Raw::BAStore | Raw::CAStore | Raw::SAStore | Raw::FAStore => Compute(3, 0),
        Raw::LAStore | Raw::DAStore => Compute(4, 0),
        _ => return None,
    })
}

/// Monitors, types, and what leaves the method.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn control(raw: &Raw<'_>) -> Option<Insn> {
    Some(match raw {
        Raw::InstanceOf { .. } => Insn::Compute(1, 1),
        Raw::MonitorEnter => Insn::MonitorEnter,
        Raw::MonitorExit => Insn::MonitorExit,
        Raw::Return => Insn::Return(0),
        Raw::AReturn | Raw::IReturn | Raw::FReturn => Insn::Return(1),
        Raw::LReturn | Raw::DReturn => Insn::Return(2),
        Raw::AThrow => Insn::Throw,
        Raw::Ret { .. } | Raw::RetW { .. } => Insn::SubroutineReturn,
        _ => return None,
    })
}

/// Loads and stores.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn local(raw: &Raw<'_>) -> Option<Insn> {
    use Insn::{Load, Store};
    Some(match raw {
        Raw::ALoad { index } | Raw::ILoad { index } | Raw::FLoad { index } => {
            Load((*index).into(), 1)
        }
        Raw::ALoadW { index } | Raw::ILoadW { index } | Raw::FLoadW { index } => Load(*index, 1),
        Raw::LLoad { index } | Raw::DLoad { index } => Load((*index).into(), 2),
        Raw::LLoadW { index } | Raw::DLoadW { index } => Load(*index, 2),
        Raw::ALoad0 | Raw::ILoad0 | Raw::FLoad0 => Load(0, 1),
        Raw::ALoad1 | Raw::ILoad1 | Raw::FLoad1 => Load(1, 1),
        Raw::ALoad2 | Raw::ILoad2 | Raw::FLoad2 => Load(2, 1),
        Raw::ALoad3 | Raw::ILoad3 | Raw::FLoad3 => Load(3, 1),
        Raw::LLoad0 | Raw::DLoad0 => Load(0, 2),
        Raw::LLoad1 | Raw::DLoad1 => Load(1, 2),
        Raw::LLoad2 | Raw::DLoad2 => Load(2, 2),
        Raw::LLoad3 | Raw::DLoad3 => Load(3, 2),
        Raw::AStore { index } | Raw::IStore { index } | Raw::FStore { index } => {
            Store((*index).into(), 1)
        }
        Raw::AStoreW { index } | Raw::IStoreW { index } | Raw::FStoreW { index } => {
            Store(*index, 1)
        }
        Raw::LStore { index } | Raw::DStore { index } => Store((*index).into(), 2),
        Raw::LStoreW { index } | Raw::DStoreW { index } => Store(*index, 2),
        Raw::AStore0 | Raw::IStore0 | Raw::FStore0 => Store(0, 1),
        Raw::AStore1 | Raw::IStore1 | Raw::FStore1 => Store(1, 1),
        Raw::AStore2 | Raw::IStore2 | Raw::FStore2 => Store(2, 1),
        Raw::AStore3 | Raw::IStore3 | Raw::FStore3 => Store(3, 1),
        Raw::LStore0 | Raw::DStore0 => Store(0, 2),
        Raw::LStore1 | Raw::DStore1 => Store(1, 2),
        Raw::LStore2 | Raw::DStore2 => Store(2, 2),
        Raw::LStore3 | Raw::DStore3 => Store(3, 2),
        Raw::IInc { index, .. } => Insn::Increment((*index).into()),
        Raw::IIncW { index, .. } => Insn::Increment(*index),
        _ => return None,
    })
}

/// Jumps. A target outside the method is refused later, when the blocks are made.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn branch(raw: &Raw<'_>, pc: u32) -> Option<Insn> {
    let to = |offset: i32| pc.wrapping_add_signed(offset);
    Some(match raw {
        Raw::Goto { offset } => Insn::Jump(to((*offset).into())),
        Raw::GotoW { offset } => Insn::Jump(to(*offset)),
        Raw::JSr { offset } => Insn::Subroutine(to((*offset).into())),
        Raw::JSrW { offset } => Insn::Subroutine(to(*offset)),
        Raw::IfEq { offset }
        | Raw::IfNe { offset }
        | Raw::IfLt { offset }
        | Raw::IfGe { offset }
        | Raw::IfGt { offset }
        | Raw::IfLe { offset }
        | Raw::IfNull { offset }
        | Raw::IfNonNull { offset } => Insn::Branch(1, to((*offset).into())),
        Raw::IfICmpEq { offset }
        | Raw::IfICmpNe { offset }
        | Raw::IfICmpLt { offset }
        | Raw::IfICmpGe { offset }
        | Raw::IfICmpGt { offset }
        | Raw::IfICmpLe { offset }
        | Raw::IfACmpEq { offset }
        | Raw::IfACmpNe { offset } => Insn::Branch(2, to((*offset).into())),
        Raw::TableSwitch(switch) => {
            let cases = switch.pairs().map(|p| to(p.offset()));
            Insn::Switch(distinct(cases.chain([to(switch.default_offset())])))
        }
        Raw::LookupSwitch(switch) => {
            let cases = switch.pairs().map(|p| to(p.offset()));
            Insn::Switch(distinct(cases.chain([to(switch.default_offset())])))
        }
        _ => return None,
    })
}

fn distinct(targets: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut targets: Vec<u32> = targets.collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Instructions that refer to the constant pool.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "one of several functions that share 200 opcodes"
)]
fn with_constant(raw: &Raw<'_>, tables: &mut Tables<'_>) -> Result<Insn, DecodeError> {
    Ok(match raw {
        Raw::LdC { index } | Raw::LdCW { index } => constant(*index, tables)?,
        Raw::CheckCast { index } => Insn::Cast(tables.class(*index)?),
        Raw::New { index } => Insn::New(tables.class(*index)?),
        Raw::GetField { index } => {
            let (field, class, slots) = tables.field(*index)?;
            Insn::GetField(field, class, slots)
        }
        Raw::GetStatic { index } => {
            let (field, class, slots) = tables.field(*index)?;
            Insn::GetStatic(field, class, slots)
        }
        Raw::PutField { index } => {
            let (field, _, slots) = tables.field(*index)?;
            Insn::PutField(field, slots)
        }
        Raw::PutStatic { index } => {
            let (field, _, slots) = tables.field(*index)?;
            Insn::PutStatic(field, slots)
        }
        Raw::InvokeVirtual { index } => {
            Insn::Call(tables.method(CallKind::Virtual, cpool::Index::new(index.as_u16())?)?)
        }
        Raw::InvokeInterface { index, .. } => {
            Insn::Call(tables.method(CallKind::Interface, cpool::Index::new(index.as_u16())?)?)
        }
        Raw::InvokeSpecial { index } => Insn::Call(tables.method(CallKind::Special, *index)?),
        Raw::InvokeStatic { index } => Insn::Call(tables.method(CallKind::Static, *index)?),
        Raw::InvokeDynamic { index } => tables.dynamic(*index)?,
        // Everything else has been decoded by one of the other three functions.
        _ => Insn::Compute(0, 0),
    })
}

fn constant(
    index: cpool::Index<cpool::Item<'_>>,
    tables: &mut Tables<'_>,
) -> Result<Insn, DecodeError> {
    let item = tables.pool.get(cpool::Index::<cpool::Item<'_>>::new(index.as_u16())?)?;
    Ok(match item {
        cpool::Item::Integer(n) => Insn::Int(n.value),
        cpool::Item::String(s) => Insn::Text(tables.text(s.string)?),
        cpool::Item::Class(c) => Insn::ClassObject(tables.text(c.name)?),
        cpool::Item::FieldRef(_)
        | cpool::Item::MethodRef(_)
        | cpool::Item::InterfaceMethodRef(_)
        | cpool::Item::Long(_)
        | cpool::Item::Float(_)
        | cpool::Item::Double(_)
        | cpool::Item::NameAndType(_)
        | cpool::Item::Utf8(_)
        | cpool::Item::MethodHandle(_)
        | cpool::Item::MethodType(_)
        | cpool::Item::Dynamic(_)
        | cpool::Item::InvokeDynamic(_)
        | cpool::Item::Module(_)
        | cpool::Item::Package(_) => Insn::Compute(0, 1),
    })
}

/// Width in slots of the type that starts a descriptor, and its class when it is one.
pub fn type_of(desc: &[u8]) -> (u8, Option<&[u8]>) {
    match desc.first() {
        Some(b'V') => (0, None),
        Some(b'J' | b'D') => (2, None),
        Some(b'L') => (1, desc.get(1..desc.len().saturating_sub(1))),
        _ => (1, None),
    }
}

/// The types of a method descriptor's parameters, one by one, and that of its result.
pub fn parameters(desc: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut types = Vec::new();
    let mut at = 1;
    while at < desc.len() && desc[at] != b')' {
        let start = at;
        while at < desc.len() && desc[at] == b'[' {
            at += 1;
        }
        if desc.get(at) == Some(&b'L') {
            at += desc[at..].iter().position(|&b| b == b';').unwrap_or(desc.len() - at);
        }
        at = (at + 1).min(desc.len());
        types.push(&desc[start..at]);
    }
    (types, desc.get(at + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_taken_apart() {
        let (types, result) = parameters(b"(I[JLjava/lang/String;[[Lx/Y;D)Lx/Z;");
        let expected: [&[u8]; 5] = [b"I", b"[J", b"Ljava/lang/String;", b"[[Lx/Y;", b"D"];
        assert_eq!(types, expected);
        assert_eq!(type_of(result), (1, Some(&b"x/Z"[..])));
        assert_eq!(type_of(b"[J"), (1, None));
        assert_eq!(parameters(b"()V"), (vec![], &b"V"[..]));
    }

    #[test]
    fn damaged_descriptors_do_not_panic() {
        for damaged in [&b""[..], b"(", b"(L", b"([[", b"(Lx", b"I"] {
            parameters(damaged);
            type_of(damaged);
        }
    }
}
