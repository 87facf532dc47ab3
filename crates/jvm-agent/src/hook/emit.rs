//! Makes a class from nothing: constants, fields, methods with labels. Class version 49, which needs
//! no stack maps.

use crate::classfile::insn::op;
use crate::classfile::{Failure, Outcome, Pool, put2, put4};
use crate::rewrite::names::parameters;

const STACK: u16 = 16;
const VERSION: u32 = 49;
/// Not a flag of class files: the method may use the stack that is reserved for what must not be
/// cut in the middle by an overflow.
pub const RESERVED: u32 = 1 << 16;
/// Not a flag of class files: the method is never inlined.
pub const APART: u32 = 1 << 17;
/// Not a flag of class files: the method is always inlined.
pub const INLINE: u32 = 1 << 18;

/// A class under construction.
pub struct Emitter {
    /// Its constants.
    pub pool: Pool<'static>,
    fields: (u16, Vec<u8>),
    methods: (u16, Vec<u8>),
    /// Whether methods are marked as hidden.
    hidden: bool,
}

impl Default for Emitter {
    fn default() -> Emitter {
        Emitter {
            pool: Pool::empty(),
            fields: Default::default(),
            methods: Default::default(),
            hidden: false,
        }
    }
}

impl Emitter {
    /// From here on, methods do not show in stack traces: an application that prints one must not
    /// see that it is observed.
    pub fn hide_methods(&mut self) {
        self.hidden = true;
    }

    /// The annotations of a method, as the body of an attribute; none if it has none.
    fn annotations(&mut self, access: u32) -> Outcome<Option<Vec<u8>>> {
        let mut names: Vec<&[u8]> = Vec::new();
        if self.hidden {
            names.push(b"Ljdk/internal/vm/annotation/Hidden;");
        }
        if access & RESERVED != 0 {
            names.push(b"Ljdk/internal/vm/annotation/ReservedStackAccess;");
        }
        if access & APART != 0 {
            names.push(b"Ljdk/internal/vm/annotation/DontInline;");
        }
        if access & INLINE != 0 {
            names.push(b"Ljdk/internal/vm/annotation/ForceInline;");
        }
        let mut body = Vec::new();
        put2(&mut body, names.len() as u16);
        for name in &names {
            put2(&mut body, self.pool.add_text(name)?);
            put2(&mut body, 0);
        }
        Ok((!names.is_empty()).then_some(body))
    }

    /// Adds a field.
    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) -> Outcome<()> {
        let name = self.pool.add_text(name.as_bytes())?;
        let descriptor = self.pool.add_text(descriptor.as_bytes())?;
        self.fields.0 += 1;
        [access, name, descriptor, 0].iter().for_each(|&n| put2(&mut self.fields.1, n));
        Ok(())
    }

    /// Adds a method; without a body it is native.
    pub fn method(
        &mut self,
        access: u32,
        name: &str,
        descriptor: &str,
        body: Option<Body>,
    ) -> Outcome<()> {
        let slots = parameter_slots(descriptor.as_bytes());
        let name = self.pool.add_text(name.as_bytes())?;
        let descriptor = self.pool.add_text(descriptor.as_bytes())?;
        let code_name = self.pool.add_text(b"Code")?;
        let annotations_name = self.pool.add_text(b"RuntimeVisibleAnnotations")?;
        let mark = if body.is_some() { self.annotations(access)? } else { None };
        let access = access as u16;
        let out = &mut self.methods.1;
        self.methods.0 += 1;
        let attributes = u16::from(body.is_some()) + u16::from(mark.is_some());
        [access, name, descriptor, attributes].iter().for_each(|&n| put2(out, n));
        if let Some(body) = body {
            let locals = slots.max(body.locals);
            body.finish(code_name, locals, out)?;
        }
        if let Some(body) = mark {
            put2(out, annotations_name);
            put4(out, body.len() as u32);
            out.extend_from_slice(&body);
        }
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
        [access, this, extends, 0, self.fields.0].iter().for_each(|&n| put2(&mut out, n));
        out.extend_from_slice(&self.fields.1);
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

    /// An access of a field or a call: `invokestatic`, `java/lang/Thread.currentThread`,
    /// descriptor.
    pub fn member(
        &mut self,
        pool: &mut Pool,
        word: &str,
        target: &str,
        descriptor: &str,
    ) -> Outcome<()> {
        let (class, name) = target.rsplit_once('.').ok_or(Failure::Malformed("hook class"))?;
        let [class, name, descriptor] = [class, name, descriptor].map(str::as_bytes);
        match word {
            "getfield" => self.constant(op::GETFIELD, pool.add_field(class, name, descriptor)?),
            "putfield" => self.constant(op::PUTFIELD, pool.add_field(class, name, descriptor)?),
            "getstatic" => self.constant(op::GETSTATIC, pool.add_field(class, name, descriptor)?),
            "putstatic" => self.constant(op::PUTSTATIC, pool.add_field(class, name, descriptor)?),
            "invokestatic" => {
                self.constant(op::INVOKESTATIC, pool.add_method(class, name, descriptor)?);
            }
            "invokevirtual" => {
                self.constant(op::INVOKEVIRTUAL, pool.add_method(class, name, descriptor)?);
            }
            "invokespecial" => {
                self.constant(op::INVOKESPECIAL, pool.add_method(class, name, descriptor)?);
            }
            "invokeinterface" => {
                let method = pool.add_interface_method(class, name, descriptor)?;
                self.constant(op::INVOKEINTERFACE, method);
                self.op(parameter_slots(descriptor) as u8 + 1);
                self.op(0);
            }
            _ => return Err(Failure::Malformed("hook class")),
        }
        Ok(())
    }

    fn place(&self, label: usize) -> Outcome<usize> {
        self.labels[label].ok_or(Failure::Malformed("label in the hook class"))
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
