//! Fields and array elements.
//!
//! A read is recorded after the program's own instruction, with the value that it got
//! (`hook::reads`). A write, and a read of a volatile or static field, is put between two calls:
//! the first takes a stamp and holds the stripe until the second, so that the stamp is that of the
//! access.

use super::blocks::is_quiet;
use super::hooks::Snippet;
use super::method::{Context, Rewriter};
use super::names::{READS, is_platform};
use super::site::Target;
use crate::classfile::code::Code;
use crate::classfile::insn::op;
use crate::classfile::pool::Reference;
use crate::classfile::{Outcome, Pool, access};
use crate::hook::reads;
use paceline_wire::Kind;

impl<'a> Rewriter<'_, 'a> {
    /// Whether an instruction of a constructor may let others know the object, or can be reached by
    /// a jump, which is as bad. The call of the other constructor is trusted.
    pub(super) fn may_make_known(&self, code: &Code, i: usize, pool: &Pool<'a>) -> Outcome<bool> {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let behind_this = i > 0 && code.instructions[i - 1].opcode == op::ALOAD_0;
        Ok(match opcode {
            op::INVOKESPECIAL => {
                let called = pool.reference(code.operand(at)?)?;
                called.owner != self.class.super_name && !is_quiet(&called)
            }
            op::INVOKEVIRTUAL | op::INVOKESTATIC | op::INVOKEINTERFACE => {
                !is_quiet(&pool.reference(code.operand(at)?)?)
            }
            op::INVOKEDYNAMIC | op::PUTSTATIC | op::AASTORE | op::MONITORENTER => true,
            _ => behind_this && !matches!(opcode, op::GETFIELD) && !is_push(opcode),
        } || code.frames.iter().any(|frame| frame.at == at))
    }

    /// The access flags of a field, as far as its class is known by now.
    fn flags(&self, field: &Reference) -> Option<u16> {
        let own = || self.class.fields.iter().find(|f| f.name == field.name).map(|f| f.access);
        let known = if field.owner == self.class.name { own() } else { None };
        known.or_else(|| self.program.field_access(field.owner, field.name))
    }

    fn is_skipped(&self, field: &Reference) -> bool {
        is_platform(field.owner)
            || self.flags(field).is_some_and(|f| f & access::FINAL != 0)
            || field.name.starts_with(b"$SwitchMap$")
            || field.name == b"$assertionsDisabled"
    }

    pub(super) fn field(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let constant = code.operand(at)?;
        let field = pool.reference(constant)?;
        if self.is_skipped(&field) {
            return Ok(());
        }
        let uninitialized = context.construction.as_ref().is_some_and(|c| c.uninitialized);
        if opcode == op::PUTFIELD && uninitialized && field.owner == self.class.name {
            return Ok(());
        }
        if context.unknown && context.this_is_stable && is_of_this(code, i) {
            return Ok(());
        }
        context.doings.observed += 1;
        let write = matches!(opcode, op::PUTSTATIC | op::PUTFIELD);
        let kind = if write { Kind::Write } else { Kind::Read };
        let target = Target::Field { owner: field.owner.into(), name: field.name.into() };
        let site = self.site(kind, target, code.line(at), context)?;
        let wide = matches!(field.descriptor, b"J" | b"D");
        let pop = if wide { op::POP2 } else { op::POP };
        let on_this =
            i > 0 && code.instructions[i - 1].opcode == op::ALOAD_0 && context.this_is_stable;
        let is_volatile = self.flags(&field).is_some_and(|f| f & access::VOLATILE != 0);
        if opcode == op::GETFIELD && !is_volatile {
            let copy = if wide { op::DUP2_X1 } else { op::DUP_X1 };
            let (name, descriptor) = reads::of_field(field.descriptor);
            let recorded = Snippet::new(pool).ops(&[copy]).number(site)?;
            let recorded = recorded.call_in(READS, name.as_bytes(), descriptor.as_bytes())?.code;
            code.instructions[i].before = vec![op::DUP];
            code.instructions[i].behind = recorded;
            return Ok(());
        }
        let snippet = Snippet::new(pool);
        let before = match opcode {
            // The class is initialised here, and not while the stripe is held.
            op::GETSTATIC | op::PUTSTATIC => snippet
                .with_constant(op::GETSTATIC, constant)
                .ops(&[pop])
                .number(site)?
                .call(b"atStatic", b"(I)V")?,
            op::GETFIELD => {
                // A null is found here, by the program's own instruction.
                let checked = if on_this {
                    snippet
                } else {
                    snippet.ops(&[op::DUP]).with_constant(op::GETFIELD, constant).ops(&[pop])
                };
                at_field(checked.ops(&[op::DUP]), site)?
            }
            // If it is null, the hook lets the program's own instruction find that out.
            _ if wide => at_field(snippet.ops(&[op::DUP2_X1, op::POP2, op::DUP_X2]), site)?,
            _ => at_field(snippet.ops(&[op::DUP2, op::POP]), site)?,
        };
        code.instructions[i].before = before.code;
        code.instructions[i].behind = done(pool)?;
        Ok(())
    }

    /// The value is copied below array and index, which go with it to the hook.
    pub(super) fn element_read(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        context.doings.observed += 1;
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let site = self.site(Kind::Read, Target::Element, code.line(at), context)?;
        // In the order of the instructions.
        let letter = b"IJFDLBCS"[usize::from(opcode - op::IALOAD)];
        let copy = if matches!(letter, b'J' | b'D') { op::DUP2_X2 } else { op::DUP_X2 };
        let (name, descriptor) = reads::of_element(&[letter]);
        let recorded = Snippet::new(pool).ops(&[copy]).number(site)?;
        code.instructions[i].before = vec![op::DUP2];
        let recorded = recorded.call_in(READS, name.as_bytes(), descriptor.as_bytes())?;
        code.instructions[i].behind = recorded.code;
        Ok(())
    }

    pub(super) fn element_write(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        operands: &[u8],
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        context.doings.observed += 1;
        let line = code.line(code.instructions[i].at);
        let site = self.site(Kind::Write, Target::Element, line, context)?;
        let before = Snippet::new(pool).ops(operands).number(site)?;
        code.instructions[i].before = before.call(b"atElement", b"(Ljava/lang/Object;II)V")?.code;
        code.instructions[i].behind = done(pool)?;
        Ok(())
    }
}

/// Whether a field access is one of `this`, as far as the instructions before it show.
fn is_of_this(code: &Code, i: usize) -> bool {
    let opcode = |back: usize| i.checked_sub(back).map(|i| code.instructions[i].opcode);
    match code.instructions[i].opcode {
        op::GETFIELD => opcode(1) == Some(op::ALOAD_0),
        op::PUTFIELD => {
            opcode(2) == Some(op::ALOAD_0)
                && opcode(1).is_some_and(|it| is_push(it) && it != op::ALOAD_0)
        }
        _ => false,
    }
}

/// Whether an instruction pushes a constant or a local variable and does nothing else.
fn is_push(opcode: u8) -> bool {
    matches!(opcode, op::ACONST_NULL..=op::ALOAD_3)
}

fn at_field<'c, 'p>(snippet: Snippet<'c, 'p>, site: u32) -> Outcome<Snippet<'c, 'p>> {
    snippet.number(site)?.call(b"at", b"(Ljava/lang/Object;I)V")
}

fn done(pool: &mut Pool) -> Outcome<Vec<u8>> {
    Ok(Snippet::new(pool).call(b"done", b"()V")?.code)
}
