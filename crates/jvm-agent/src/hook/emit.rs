//! Makes a class from nothing: constants, and methods with labels. Class version 49, which needs no
//! stack maps.

use crate::classfile::insn::op;
use crate::classfile::{Failure, Outcome, Pool, put2, put4};
use crate::rewrite::names::parameters;

/// Enough for every method that is generated.
const STACK: u16 = 16;
const VERSION: u32 = 49;
/// Not a flag of class files: the method is never inlined.
pub const APART: u32 = 1 << 17;

/// A class under construction. Its methods do not show in stack traces: an application that prints
/// one must not see that it is observed.
pub struct Emitter {
    /// Its constants.
    pub pool: Pool<'static>,
    methods: (u16, Vec<u8>),
}

impl Default for Emitter {
    fn default() -> Emitter {
        Emitter { pool: Pool::empty(), methods: Default::default() }
    }
}

impl Emitter {
    /// The annotations of a method, as the body of an attribute.
    fn annotations(&mut self, access: u32) -> Outcome<Vec<u8>> {
        let mut names: Vec<&[u8]> = vec![b"Ljdk/internal/vm/annotation/Hidden;"];
        if access & APART != 0 {
            names.push(b"Ljdk/internal/vm/annotation/DontInline;");
        }
        let mut body = Vec::new();
        put2(&mut body, names.len() as u16);
        for name in &names {
            put2(&mut body, self.pool.add_text(name)?);
            put2(&mut body, 0);
        }
        Ok(body)
    }

    /// Adds a method.
    pub fn method(&mut self, access: u32, name: &str, descriptor: &str, body: Body) -> Outcome<()> {
        let slots = parameter_slots(descriptor.as_bytes());
        let name = self.pool.add_text(name.as_bytes())?;
        let descriptor = self.pool.add_text(descriptor.as_bytes())?;
        let code_name = self.pool.add_text(b"Code")?;
        let annotations_name = self.pool.add_text(b"RuntimeVisibleAnnotations")?;
        let annotations = self.annotations(access)?;
        let out = &mut self.methods.1;
        self.methods.0 += 1;
        [access as u16, name, descriptor, 2].iter().for_each(|&n| put2(out, n));
        let locals = slots.max(body.locals);
        body.finish(code_name, locals, out)?;
        put2(out, annotations_name);
        put4(out, annotations.len() as u32);
        out.extend_from_slice(&annotations);
        Ok(())
    }

    /// The bytes of the class.
    pub fn finish(mut self, access: u16, name: &[u8], super_name: &[u8]) -> Outcome<Vec<u8>> {
        let this = self.pool.add_class(name)?;
        let extends = self.pool.add_class(super_name)?;
        let mut out = Vec::new();
        put4(&mut out, 0xCAFE_BABE);
        put4(&mut out, VERSION);
        self.pool.put(&mut out);
        let no_interfaces_nor_fields = [0, 0];
        [access, this, extends].iter().for_each(|&n| put2(&mut out, n));
        no_interfaces_nor_fields.iter().for_each(|&n| put2(&mut out, n));
        put2(&mut out, self.methods.0);
        out.extend_from_slice(&self.methods.1);
        put2(&mut out, 0);
        Ok(out)
    }
}

/// The code of a method, with labels.
#[derive(Default)]
pub struct Body {
    code: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Where a jump is, and to which label.
    jumps: Vec<(usize, usize)>,
    protected: Vec<[usize; 3]>,
    /// Slots of local variables that are used. Not more: the less stack a method of ours needs, the
    /// rarer it is the one that overflows it.
    locals: u16,
}

impl Body {
    /// An instruction with a local variable, which may take two slots.
    pub fn local(&mut self, opcode: u8, index: u8) {
        self.op(opcode);
        self.op(index);
        self.locals = self.locals.max(u16::from(index) + 2);
    }

    /// A label that has no place yet.
    pub fn label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    /// Puts a label here.
    pub fn bind(&mut self, label: usize) {
        self.labels[label] = Some(self.code.len());
    }

    /// A byte of an instruction.
    pub fn op(&mut self, byte: u8) {
        self.code.push(byte);
    }

    /// An instruction with a constant.
    pub fn constant(&mut self, opcode: u8, constant: u16) {
        self.code.push(opcode);
        put2(&mut self.code, constant);
    }

    /// A jump.
    pub fn jump(&mut self, opcode: u8, label: usize) {
        self.jumps.push((self.code.len(), label));
        self.code.extend_from_slice(&[opcode, 0, 0]);
    }

    /// What is thrown between two labels is caught at the third.
    pub fn protect(&mut self, from: usize, to: usize, handler: usize) {
        self.protected.push([from, to, handler]);
    }

    /// An access of a field or a call, by the name of the instruction: class, name, descriptor.
    pub fn member(&mut self, pool: &mut Pool, word: &str, target: [&[u8]; 3]) -> Outcome<()> {
        let [class, name, descriptor] = target;
        let (opcode, constant) = match word {
            "getfield" => (op::GETFIELD, pool.add_field(class, name, descriptor)?),
            "getstatic" => (op::GETSTATIC, pool.add_field(class, name, descriptor)?),
            "invokestatic" => (op::INVOKESTATIC, pool.add_method(class, name, descriptor)?),
            "invokevirtual" => (op::INVOKEVIRTUAL, pool.add_method(class, name, descriptor)?),
            "invokeinterface" => {
                (op::INVOKEINTERFACE, pool.add_interface_method(class, name, descriptor)?)
            }
            _ => return Err(Failure::Malformed("an instruction of the hook")),
        };
        self.constant(opcode, constant);
        if opcode == op::INVOKEINTERFACE {
            self.op(parameter_slots(descriptor) as u8 + 1);
            self.op(0);
        }
        Ok(())
    }

    /// Whether all labels have a place.
    pub fn is_complete(&self) -> bool {
        self.labels.iter().all(Option::is_some)
    }

    fn place(&self, label: usize) -> Outcome<usize> {
        self.labels[label].ok_or(Failure::Malformed("a label of the hook"))
    }

    fn finish(mut self, code_name: u16, locals: u16, out: &mut Vec<u8>) -> Outcome<()> {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let distance = self.place(label)? as i64 - at as i64;
            self.code[at + 1..at + 3].copy_from_slice(&(distance as i16).to_be_bytes());
        }
        put2(out, code_name);
        put4(out, (12 + self.code.len() + 8 * self.protected.len()) as u32);
        put2(out, STACK);
        put2(out, locals);
        put4(out, self.code.len() as u32);
        out.extend_from_slice(&self.code);
        put2(out, self.protected.len() as u16);
        for range in &self.protected {
            for &label in range {
                put2(out, self.place(label)? as u16);
            }
            put2(out, 0);
        }
        put2(out, 0);
        Ok(())
    }
}

/// How many local variables the parameters take.
fn parameter_slots(descriptor: &[u8]) -> u16 {
    let slots = |t: &&[u8]| if matches!(*t, b"J" | b"D") { 2 } else { 1 };
    parameters(descriptor).iter().map(slots).sum()
}
