//! Constructors: until the constructor of the super class has run, `this` may not be passed on.
//! The stack map says where that is the case; between its frames the code is followed.

use std::collections::HashMap;

use crate::classfile::code::Code;
use crate::classfile::frames::{Change, Type};
use crate::classfile::insn::op;
use crate::classfile::{Outcome, Pool};
use crate::rewrite::names::parameters;

/// Follows a constructor's code.
pub struct Construction {
    /// Whether `this` is not initialised yet.
    pub uninitialized: bool,
    /// Objects that were made and not initialised since.
    pending: usize,
    /// From offset to the two above, where a frame says so.
    known: HashMap<usize, (bool, usize)>,
}

impl Construction {
    /// At the start of a constructor.
    pub fn new(code: &Code, descriptor: &[u8]) -> Construction {
        let mut locals = vec![Type::UNINITIALIZED_THIS];
        locals.extend(parameters(descriptor).iter().map(|_| Type::Plain(0)));
        let mut known = HashMap::new();
        for frame in &code.frames {
            let stack = stack_after(&mut locals, &frame.change);
            let this = |t: &Type| *t == Type::UNINITIALIZED_THIS;
            let uninitialized = locals.iter().any(this) || stack.iter().any(this);
            known.insert(frame.at, (uninitialized, pending(&stack)));
        }
        Construction { uninitialized: true, pending: 0, known }
    }

    /// Steps to an instruction.
    pub fn arrive(&mut self, at: usize) {
        if let Some(&(uninitialized, pending)) = self.known.get(&at) {
            (self.uninitialized, self.pending) = (uninitialized, pending);
        }
    }

    /// Steps over an instruction; whether it was the call of the other constructor.
    pub fn pass(&mut self, opcode: u8, at: usize, code: &Code, pool: &Pool) -> Outcome<bool> {
        match opcode {
            op::NEW => self.pending += 1,
            op::INVOKESPECIAL if pool.reference(code.operand(at)?)?.name == b"<init>" => {
                match self.pending.checked_sub(1) {
                    Some(less) => self.pending = less,
                    None => {
                        self.uninitialized = false;
                        return Ok(true);
                    }
                }
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Applies a frame to the locals; its stack.
fn stack_after(locals: &mut Vec<Type>, change: &Change) -> Vec<Type> {
    match change {
        Change::Same => Vec::new(),
        Change::OneOnStack(one) => vec![*one],
        Change::Chop(count) => {
            locals.truncate(locals.len().saturating_sub((*count).into()));
            Vec::new()
        }
        Change::Append(more) => {
            locals.extend_from_slice(more);
            Vec::new()
        }
        Change::Full(all, stack) => {
            locals.clone_from(all);
            stack.clone()
        }
    }
}

/// How many different objects on the stack wait for their constructor.
fn pending(stack: &[Type]) -> usize {
    let mut made: Vec<u16> = stack
        .iter()
        .filter_map(|t| match t {
            Type::Uninitialized(at) => Some(*at),
            Type::Plain(_) | Type::Object(_) => None,
        })
        .collect();
    made.sort_unstable();
    made.dedup();
    made.len()
}
