//! Small pieces of inserted code.

use super::names::{HOOK, WORD};
use crate::classfile::insn::op;
use crate::classfile::{Outcome, Pool, put2};

/// Code under construction, with the pool that its constants go to.
pub struct Snippet<'c, 'p> {
    /// The code.
    pub code: Vec<u8>,
    pool: &'c mut Pool<'p>,
}

impl<'c, 'p> Snippet<'c, 'p> {
    /// Nothing yet.
    pub fn new(pool: &'c mut Pool<'p>) -> Snippet<'c, 'p> {
        Snippet { code: Vec::new(), pool }
    }

    /// Instructions without operands.
    pub fn ops(mut self, ops: &[u8]) -> Self {
        self.code.extend_from_slice(ops);
        self
    }

    /// An instruction with a constant of the class itself.
    pub fn with_constant(mut self, opcode: u8, constant: u16) -> Self {
        self.code.push(opcode);
        put2(&mut self.code, constant);
        self
    }

    /// Pushes a number.
    pub fn number(self, number: u32) -> Outcome<Self> {
        match i16::try_from(number) {
            Ok(small) => Ok(self.with_constant(op::SIPUSH, small as u16)),
            Err(_) => {
                let constant = self.pool.add_int(number)?;
                Ok(self.with_constant(op::LDC_W, constant))
            }
        }
    }

    /// Pushes a class.
    pub fn class(self, name: &[u8]) -> Outcome<Self> {
        let constant = self.pool.add_class(name)?;
        Ok(self.with_constant(op::LDC_W, constant))
    }

    /// Takes an object, pushes its word. The class is the one that the code knows it by.
    pub fn word(self, class: &[u8]) -> Outcome<Self> {
        let field = self.pool.add_field(class, WORD, b"J")?;
        Ok(self.with_constant(op::GETFIELD, field))
    }

    /// Takes an object and a word, sets it.
    pub fn set_word(self, class: &[u8]) -> Outcome<Self> {
        let field = self.pool.add_field(class, WORD, b"J")?;
        Ok(self.with_constant(op::PUTFIELD, field))
    }

    /// Calls the hook class.
    pub fn call(self, name: &[u8], descriptor: &[u8]) -> Outcome<Self> {
        self.call_in(HOOK, name, descriptor)
    }

    /// Calls another class of the hook.
    pub fn call_in(self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Outcome<Self> {
        let method = self.pool.add_method(class, name, descriptor)?;
        Ok(self.with_constant(op::INVOKESTATIC, method))
    }
}
