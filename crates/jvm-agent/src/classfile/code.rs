//! The code of a method, and a patcher that only inserts: code can be put before and behind an
//! instruction, an instruction can be exchanged, and everything that speaks of offsets follows.
//!
//! A jump to an instruction goes to what was put before it. Code behind an instruction is run only
//! when that instruction has completed.

use super::frames::{self, Change, Frame, Type};
use super::insn::{self, op};
use super::{Attribute, Failure, Outcome, Pool, Reader, attributes, put2, put4, u2_at, u4_at};

/// The longest code of a method.
const LONGEST: usize = 65535;
/// More stack than any inserted code needs.
const MORE_STACK: u16 = 10;
const NONE: u32 = u32::MAX;

/// A range of code, and the handler of what is thrown in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    start: usize,
    end: usize,
    handler: usize,
    class: u16,
}

/// An instruction and what is to be done to it.
#[derive(Clone, Default, Debug)]
pub struct Instruction {
    /// Where it is.
    pub at: usize,
    /// How long it is.
    pub len: usize,
    /// What it is.
    pub opcode: u8,
    /// Code to be put before it.
    pub before: Vec<u8>,
    /// Code that takes its place; only for instructions that do not jump.
    pub instead: Option<Vec<u8>>,
    /// Code to be put behind it.
    pub behind: Vec<u8>,
    /// A goto that needs 32 bits.
    wide: bool,
}

/// The code of a method.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    max_stack: u16,
    max_locals: u16,
    /// The bytes of the instructions.
    pub bytes: &'a [u8],
    handlers: Vec<Handler>,
    attributes: Vec<Attribute<'a>>,
    /// The stack map, if there is one.
    pub frames: Vec<Frame>,
    lines: Vec<(usize, u16)>,
    /// The instructions in their order.
    pub instructions: Vec<Instruction>,
    /// From offset to instruction.
    index: Vec<u32>,
    /// Code to be run before everything else, once.
    pub entry: Vec<u8>,
    /// Code to be run when an exception leaves the method.
    pub unwind: Vec<u8>,
    /// The offset from which on `unwind` is in force.
    pub unwind_from: usize,
}

impl<'a> Code<'a> {
    /// Reads the body of a Code attribute.
    pub fn parse(body: &'a [u8], pool: &Pool<'a>) -> Outcome<Code<'a>> {
        let mut reader = Reader::new(body, 0);
        let (max_stack, max_locals) = (reader.u2()?, reader.u2()?);
        let len = reader.u4()? as usize;
        let bytes = reader.bytes(len)?;
        let handlers =
            (0..reader.u2()?).map(|_| handler(&mut reader)).collect::<Outcome<Vec<_>>>()?;
        let attributes = attributes(&body[reader.at()..], pool)?;
        let (instructions, index) = decode(bytes)?;
        let map = attributes.iter().find(|a| a.name == b"StackMapTable");
        let frames = map.map_or(Ok(Vec::new()), |a| frames::parse(a.body))?;
        let lines = lines(&attributes)?;
        Ok(Code {
            max_stack,
            max_locals,
            bytes,
            handlers,
            attributes,
            frames,
            lines,
            instructions,
            index,
            entry: Vec::new(),
            unwind: Vec::new(),
            unwind_from: 0,
        })
    }

    /// The source line of an offset, or 0.
    pub fn line(&self, at: usize) -> u16 {
        match self.lines.partition_point(|&(start, _)| start <= at) {
            0 => 0,
            n => self.lines[n - 1].1,
        }
    }

    /// The two-byte operand of an instruction.
    pub fn operand(&self, at: usize) -> Outcome<u16> {
        u2_at(self.bytes, at + 1)
    }

    /// Whether the code stores something into local variable 0.
    pub fn overwrites_local_0(&self) -> bool {
        self.instructions.iter().any(|i| match i.opcode {
            op::ASTORE_0 => true,
            op::ASTORE => self.bytes[i.at + 1] == 0,
            op::WIDE => self.bytes[i.at + 1] == op::ASTORE && self.operand(i.at + 1) == Ok(0),
            _ => false,
        })
    }

    fn instruction_at(&self, at: usize) -> Outcome<usize> {
        match self.index.get(at) {
            Some(&i) if i != NONE => Ok(i as usize),
            _ => Err(Failure::Malformed("jump into an instruction")),
        }
    }

    /// Writes the body of the changed Code attribute.
    pub fn write(&mut self, pool: &mut Pool, major: u16) -> Outcome<Vec<u8>> {
        let layout = self.lay_out()?;
        let unwind_at = layout.labels[self.instructions.len()];
        let mut code = Vec::with_capacity(unwind_at + self.unwind.len() + 1);
        self.put_instructions(&layout, &mut code)?;
        if !self.unwind.is_empty() {
            code.extend_from_slice(&self.unwind);
            code.push(op::ATHROW);
        }
        if code.len() > LONGEST {
            return Err(Failure::CodeTooLong);
        }
        let mut out = Vec::with_capacity(code.len() * 2);
        put2(&mut out, self.max_stack.saturating_add(MORE_STACK));
        put2(&mut out, self.max_locals);
        put4(&mut out, code.len() as u32);
        out.extend_from_slice(&code);
        self.put_handlers(&layout, unwind_at, &mut out)?;
        self.put_attributes(&layout, unwind_at, pool, major, &mut out)?;
        Ok(out)
    }

    /// Finds where everything goes. A goto that has become too long is made wide, which moves
    /// everything behind it: hence the loop.
    fn lay_out(&mut self) -> Outcome<Layout> {
        loop {
            let layout = self.place();
            if !self.widen(&layout)? {
                return Ok(layout);
            }
        }
    }

    fn place(&self) -> Layout {
        let count = self.instructions.len();
        let mut layout =
            Layout { labels: Vec::with_capacity(count + 1), places: Vec::with_capacity(count) };
        let mut at = self.entry.len();
        for instruction in &self.instructions {
            layout.labels.push(at);
            at += instruction.before.len();
            layout.places.push(at);
            at += instruction.new_len(at) + instruction.behind.len();
        }
        layout.labels.push(at);
        layout
    }

    fn widen(&mut self, layout: &Layout) -> Outcome<bool> {
        let mut again = false;
        for i in 0..self.instructions.len() {
            let Instruction { opcode, at, wide, .. } = self.instructions[i];
            if wide || !insn::is_short_jump(opcode) {
                continue;
            }
            let target = self.instruction_at(insn::jump_target(self.bytes, at)?)?;
            let distance = layout.labels[target] as i64 - layout.places[i] as i64;
            if i16::try_from(distance).is_ok() {
                continue;
            }
            if opcode != op::GOTO && opcode != op::JSR {
                return Err(Failure::JumpTooFar);
            }
            self.instructions[i].wide = true;
            again = true;
        }
        Ok(again)
    }

    fn label(&self, layout: &Layout, at: usize) -> Outcome<usize> {
        Ok(layout.labels[self.instruction_at(at)?])
    }

    fn put_instructions(&self, layout: &Layout, out: &mut Vec<u8>) -> Outcome<()> {
        out.extend_from_slice(&self.entry);
        for (i, instruction) in self.instructions.iter().enumerate() {
            out.extend_from_slice(&instruction.before);
            self.put_instruction(layout, layout.places[i], instruction, out)?;
            out.extend_from_slice(&instruction.behind);
        }
        Ok(())
    }

    fn put_instruction(
        &self,
        layout: &Layout,
        place: usize,
        instruction: &Instruction,
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        let at = instruction.at;
        match instruction.opcode {
            op::TABLESWITCH | op::LOOKUPSWITCH => self.put_switch(layout, place, at, out),
            op::GOTO_W | op::JSR_W => {
                let target = self.label(layout, insn::jump_target(self.bytes, at)?)?;
                out.push(instruction.opcode);
                put4(out, (target as i64 - place as i64) as u32);
                Ok(())
            }
            opcode if insn::is_short_jump(opcode) => {
                let target = self.label(layout, insn::jump_target(self.bytes, at)?)?;
                let distance = target as i64 - place as i64;
                if instruction.wide {
                    out.push(opcode + (op::GOTO_W - op::GOTO));
                    put4(out, distance as u32);
                } else {
                    out.push(opcode);
                    put2(out, distance as u16);
                }
                Ok(())
            }
            _ => {
                let same = &self.bytes[at..at + instruction.len];
                out.extend_from_slice(instruction.instead.as_deref().unwrap_or(same));
                Ok(())
            }
        }
    }

    fn put_switch(
        &self,
        layout: &Layout,
        place: usize,
        at: usize,
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        let opcode = self.bytes[at];
        let operands = (at + 4) & !3;
        let word = |n: usize| u4_at(self.bytes, operands + 4 * n);
        let moved = |n: usize| -> Outcome<u32> {
            let target = insn::target(at, i64::from(word(n)? as i32))?;
            Ok((self.label(layout, target)? as i64 - place as i64) as u32)
        };
        out.push(opcode);
        out.resize(out.len() + 3 - (place & 3), 0);
        put4(out, moved(0)?);
        put4(out, word(1)?);
        if opcode == op::TABLESWITCH {
            put4(out, word(2)?);
            let cases = (i64::from(word(2)? as i32) - i64::from(word(1)? as i32) + 1) as usize;
            return (0..cases).try_for_each(|case| {
                put4(out, moved(3 + case)?);
                Ok(())
            });
        }
        (0..word(1)? as usize).try_for_each(|case| {
            put4(out, word(2 + 2 * case)?);
            put4(out, moved(3 + 2 * case)?);
            Ok(())
        })
    }

    /// Where a protected range starts now. If it started behind a monitorenter, it must protect
    /// what was put there too: otherwise there is a way out of the method with the lock held, and
    /// the just-in-time compilers then give up on the method.
    fn range_start(&self, layout: &Layout, at: usize) -> Outcome<usize> {
        let i = self.instruction_at(at)?;
        match i.checked_sub(1).map(|p| (p, &self.instructions[p])) {
            Some((p, before)) if before.opcode == op::MONITORENTER => Ok(layout.places[p] + 1),
            _ => Ok(layout.labels[i]),
        }
    }

    fn put_handlers(&self, layout: &Layout, unwind_at: usize, out: &mut Vec<u8>) -> Outcome<()> {
        let unwind_start = match self.unwind_from {
            0 => self.entry.len(),
            from => self.label(layout, from)?,
        };
        let unwinds = !self.unwind.is_empty() && unwind_start < unwind_at;
        put2(out, self.handlers.len() as u16 + u16::from(unwinds));
        for handler in &self.handlers {
            put2(out, self.range_start(layout, handler.start)? as u16);
            put2(out, self.label(layout, handler.end)? as u16);
            put2(out, self.label(layout, handler.handler)? as u16);
            put2(out, handler.class);
        }
        if unwinds {
            [unwind_start, unwind_at, unwind_at, 0].iter().for_each(|&n| put2(out, n as u16));
        }
        Ok(())
    }

    fn put_attributes(
        &self,
        layout: &Layout,
        unwind_at: usize,
        pool: &mut Pool,
        major: u16,
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        let mut count = 0;
        let mut bytes = Vec::new();
        for attribute in &self.attributes {
            let Some(body) = self.moved_attribute(layout, attribute)? else { continue };
            count += 1;
            put_attribute(&mut bytes, attribute.name_index, &body);
        }
        if let Some(body) = self.moved_frames(layout, unwind_at, pool, major)? {
            count += 1;
            put_attribute(&mut bytes, pool.add_text(b"StackMapTable")?, &body);
        }
        put2(out, count);
        out.extend_from_slice(&bytes);
        Ok(())
    }

    fn moved_attribute(&self, layout: &Layout, attribute: &Attribute) -> Outcome<Option<Vec<u8>>> {
        match attribute.name {
            b"LineNumberTable" => self.moved_lines(layout, attribute.body).map(Some),
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                self.moved_variables(layout, attribute.body).map(Some)
            }
            // Their offsets mean nothing at run time.
            b"StackMapTable"
            | b"RuntimeVisibleTypeAnnotations"
            | b"RuntimeInvisibleTypeAnnotations" => Ok(None),
            _ => Ok(Some(attribute.body.to_vec())),
        }
    }

    /// What starts with the code stays there, so that the entry code has a line too.
    fn start_label(&self, layout: &Layout, at: usize) -> Outcome<usize> {
        if at == 0 { Ok(0) } else { self.label(layout, at) }
    }

    fn moved_lines(&self, layout: &Layout, body: &[u8]) -> Outcome<Vec<u8>> {
        let mut reader = Reader::new(body, 0);
        let count = reader.u2()?;
        let mut out = Vec::with_capacity(body.len());
        put2(&mut out, count);
        for _ in 0..count {
            let start = reader.u2()?.into();
            put2(&mut out, self.start_label(layout, start)? as u16);
            put2(&mut out, reader.u2()?);
        }
        Ok(out)
    }

    fn moved_variables(&self, layout: &Layout, body: &[u8]) -> Outcome<Vec<u8>> {
        let mut reader = Reader::new(body, 0);
        let count = reader.u2()?;
        let mut out = Vec::with_capacity(body.len());
        put2(&mut out, count);
        for _ in 0..count {
            let start = usize::from(reader.u2()?);
            let end = start + usize::from(reader.u2()?);
            let (new_start, new_end) = (self.start_label(layout, start)?, self.label(layout, end)?);
            put2(&mut out, new_start as u16);
            put2(&mut out, (new_end - new_start) as u16);
            out.extend_from_slice(reader.bytes(6)?);
        }
        Ok(out)
    }

    fn moved_frames(
        &self,
        layout: &Layout,
        unwind_at: usize,
        pool: &mut Pool,
        major: u16,
    ) -> Outcome<Option<Vec<u8>>> {
        let mut frames = self.frames.clone();
        let end = self.bytes.len();
        if !self.unwind.is_empty() && major >= 50 {
            let thrown = Type::Object(pool.add_class(b"java/lang/Throwable")?);
            frames.push(Frame { at: end, change: Change::Full(Vec::new(), vec![thrown]) });
        }
        if frames.is_empty() {
            return Ok(None);
        }
        let moved = |at: usize| if at == end { Ok(unwind_at) } else { self.label(layout, at) };
        let moved_new = |at: usize| {
            let place = layout.places.get(self.instruction_at(at)?);
            place.copied().ok_or(Failure::Malformed("new"))
        };
        frames::write(&frames, moved, moved_new).map(Some)
    }
}

/// Where everything goes.
struct Layout {
    /// Where what was put before each instruction starts; and where the last one ends.
    labels: Vec<usize>,
    /// Where each instruction itself is.
    places: Vec<usize>,
}

impl Instruction {
    fn new_len(&self, place: usize) -> usize {
        match self.opcode {
            op::TABLESWITCH | op::LOOKUPSWITCH => {
                self.len - (3 - (self.at & 3)) + (3 - (place & 3))
            }
            op::GOTO | op::JSR if self.wide => 5,
            _ => self.instead.as_ref().map_or(self.len, Vec::len),
        }
    }
}

fn put_attribute(out: &mut Vec<u8>, name: u16, body: &[u8]) {
    put2(out, name);
    put4(out, body.len() as u32);
    out.extend_from_slice(body);
}

fn handler(reader: &mut Reader) -> Outcome<Handler> {
    let mut next = || reader.u2().map(usize::from);
    let (start, end, handler) = (next()?, next()?, next()?);
    Ok(Handler { start, end, handler, class: reader.u2()? })
}

fn decode(bytes: &[u8]) -> Outcome<(Vec<Instruction>, Vec<u32>)> {
    let mut instructions = Vec::with_capacity(bytes.len() / 2);
    let mut index = vec![NONE; bytes.len() + 1];
    let mut at = 0;
    while at < bytes.len() {
        let len = insn::length(bytes, at)?;
        if at + len > bytes.len() {
            return Err(Failure::Malformed("code"));
        }
        index[at] = instructions.len() as u32;
        instructions.push(Instruction { at, len, opcode: bytes[at], ..Instruction::default() });
        at += len;
    }
    index[bytes.len()] = instructions.len() as u32;
    Ok((instructions, index))
}

fn lines(attributes: &[Attribute]) -> Outcome<Vec<(usize, u16)>> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.name == b"LineNumberTable") {
        let mut reader = Reader::new(attribute.body, 0);
        for _ in 0..reader.u2()? {
            lines.push((reader.u2()?.into(), reader.u2()?));
        }
    }
    lines.sort_unstable();
    Ok(lines)
}
