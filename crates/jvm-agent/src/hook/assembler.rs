//! A small assembler: text to the methods of a class. What follows from tables ([`super::reads`]
//! and `wrappers`) is generated in it.
//!
//! One instruction a line. `method ACCESS NAME DESCRIPTOR` to `end` is a method, `name:` a label,
//! `catch FROM TO HANDLER` a protected range. All methods are static, and hidden from stack traces;
//! those that are `apart` are never inlined. Some words stand for the few instructions that nearly
//! every method needs: see `shorthand`.

use std::collections::HashMap;

use super::emit::{APART, Body, Emitter};
use crate::classfile::Failure;
use crate::classfile::insn::op;

const THREAD: &str = "java/lang/Thread";
const UNSAFE: &str = "jdk/internal/misc/Unsafe";

/// Why a text cannot be assembled, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, `{text}`: {why}")]
pub struct Misassembled {
    /// The line, counted from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong with it.
    pub why: Why,
}

/// What can be wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Why {
    /// The first word means nothing.
    #[error("no such instruction")]
    Unknown,
    /// Too few operands, or of the wrong kind.
    #[error("wrong operands")]
    Operands,
    /// Code stands outside of a method.
    #[error("not in a method")]
    Outside,
    /// A method begins inside of another one.
    #[error("the method before has no end")]
    Unended,
    /// A label was used, but never put anywhere.
    #[error("a label is used that is nowhere")]
    Label,
    /// It has no room in a class file.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Assembles methods into what is being emitted.
pub fn assemble(text: &str, out: &mut Emitter) -> Result<(), Misassembled> {
    let mut assembler = Assembler { out, method: None };
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        assembler.line(line).map_err(|why| misassembled(number, line, why))?;
        last = number;
    }
    match assembler.method {
        Some(_) => Err(misassembled(last, "", Why::Unended)),
        None => Ok(()),
    }
}

fn misassembled(number: usize, line: &str, why: Why) -> Misassembled {
    Misassembled { line: number + 1, text: line.trim().to_owned(), why }
}

struct Method {
    access: u32,
    name: String,
    descriptor: String,
    body: Body,
    labels: HashMap<String, usize>,
    catches: Vec<[String; 3]>,
}

struct Assembler<'o> {
    out: &'o mut Emitter,
    method: Option<Method>,
}

impl Assembler<'_> {
    fn line(&mut self, line: &str) -> Result<(), Why> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            ["method", access, name, descriptor] => self.start(access, name, descriptor),
            ["end"] => self.end(),
            ["catch", from, to, handler] => {
                self.method()?.catches.push([from, to, handler].map(str::to_owned));
                Ok(())
            }
            [label] if label.ends_with(':') => {
                let method = self.method()?;
                let slot = method.label(&label[..label.len() - 1]);
                method.body.bind(slot);
                Ok(())
            }
            [word, ref operands @ ..] => match shorthand(word, operands) {
                Some(lines) => lines.iter().try_for_each(|line| self.line(line)),
                None => self.instruction(word, operands),
            },
        }
    }

    fn method(&mut self) -> Result<&mut Method, Why> {
        self.method.as_mut().ok_or(Why::Outside)
    }

    fn start(&mut self, access: &str, name: &str, descriptor: &str) -> Result<(), Why> {
        if self.method.is_some() {
            return Err(Why::Unended);
        }
        self.method = Some(Method {
            access: flags(access)?,
            name: name.to_owned(),
            descriptor: descriptor.to_owned(),
            body: Body::default(),
            labels: HashMap::new(),
            catches: Vec::new(),
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Why> {
        let mut method = self.method.take().ok_or(Why::Outside)?;
        for names in std::mem::take(&mut method.catches) {
            let [from, to, handler] = names.each_ref().map(|name| method.label(name));
            method.body.protect(from, to, handler);
        }
        if !method.body.is_complete() {
            return Err(Why::Label);
        }
        let Method { access, name, descriptor, body, .. } = method;
        Ok(self.out.method(access, &name, &descriptor, body)?)
    }

    fn instruction(&mut self, word: &str, operands: &[&str]) -> Result<(), Why> {
        let method = self.method.as_mut().ok_or(Why::Outside)?;
        let pool = &mut self.out.pool;
        let first = || operands.first().copied().ok_or(Why::Operands);
        let number = || first()?.parse::<u8>().map_err(|_| Why::Operands);
        if let Some(opcode) = among(SIMPLE, word) {
            method.body.op(opcode);
        } else if let Some(opcode) = among(JUMPS, word) {
            let label = method.label(first()?);
            method.body.jump(opcode, label);
        } else if word == "bipush" {
            method.body.op(op::BIPUSH);
            method.body.op(number()?);
        } else if let Some(opcode) = among(WITH_LOCAL, word) {
            method.body.local(opcode, number()?);
        } else if let Some(opcode) = among(WITH_CLASS, word) {
            let constant = pool.add_class(first()?.as_bytes())?;
            method.body.constant(opcode, constant);
        } else if is_member(word) {
            let [target, descriptor] = operands[..] else { return Err(Why::Operands) };
            let (class, name) = target.rsplit_once('.').ok_or(Why::Operands)?;
            method.body.member(pool, word, [class, name, descriptor].map(str::as_bytes))?;
        } else {
            return Err(Why::Unknown);
        }
        Ok(())
    }
}

impl Method {
    fn label(&mut self, name: &str) -> usize {
        if let Some(&slot) = self.labels.get(name) {
            return slot;
        }
        let slot = self.body.label();
        self.labels.insert(name.to_owned(), slot);
        slot
    }
}

fn flags(words: &str) -> Result<u32, Why> {
    words.split(',').try_fold(0, |sum, word| {
        let flag = match word {
            "public" => 0x0001,
            "static" => 0x0008,
            "apart" => APART,
            _ => return Err(Why::Operands),
        };
        Ok(sum | flag)
    })
}

/// Words that stand for several lines.
fn shorthand(word: &str, operands: &[&str]) -> Option<Vec<String>> {
    let first = operands.first().copied().unwrap_or_default();
    Some(match word {
        // The current thread, into a local.
        "thread" => vec![
            format!("invokestatic {THREAD}.currentThread ()L{THREAD};"),
            format!("astore {first}"),
        ],
        // A field of the thread in a local: `get 1 Depth I`.
        "get" => vec![
            format!("aload {first}"),
            format!("getfield {THREAD}.$paceline{} {}", operands.get(1)?, operands.get(2)?),
        ],
        // A method of the hook: `call PacelineCalls.cancel ()V`.
        "call" => vec![format!("invokestatic java/lang/{first} {}", operands.get(1)?)],
        // The platform's Unsafe.
        "memory" => vec![format!("getstatic java/lang/PacelineLayout.MEMORY L{UNSAFE};")],
        _ => return None,
    })
}

fn among(table: &[(&str, u8)], word: &str) -> Option<u8> {
    table.iter().find(|(name, _)| *name == word).map(|&(_, opcode)| opcode)
}

fn is_member(word: &str) -> bool {
    word.starts_with("invoke") || matches!(word, "getfield" | "getstatic")
}

const SIMPLE: &[(&str, u8)] = &[
    ("iconst_0", 0x03),
    ("iconst_1", 0x04),
    ("lconst_0", 0x09),
    ("iaload", 0x2e),
    ("laload", 0x2f),
    ("faload", 0x30),
    ("daload", 0x31),
    ("aaload", 0x32),
    ("baload", 0x33),
    ("caload", 0x34),
    ("saload", 0x35),
    ("iadd", 0x60),
    ("i2l", 0x85),
    ("l2i", 0x88),
    ("lcmp", 0x94),
    ("ireturn", 0xac),
    ("lreturn", 0xad),
    ("dreturn", 0xaf),
    ("areturn", 0xb0),
    ("return", 0xb1),
    ("athrow", 0xbf),
    ("monitorenter", 0xc2),
    ("monitorexit", 0xc3),
];

const JUMPS: &[(&str, u8)] = &[
    ("ifeq", 0x99),
    ("ifne", 0x9a),
    ("iflt", 0x9b),
    ("if_icmpeq", 0x9f),
    ("if_acmpeq", 0xa5),
    ("goto", 0xa7),
    ("ifnull", 0xc6),
];

const WITH_LOCAL: &[(&str, u8)] = &[
    ("iload", 0x15),
    ("lload", 0x16),
    ("fload", 0x17),
    ("dload", 0x18),
    ("aload", 0x19),
    ("istore", 0x36),
    ("lstore", 0x37),
    ("dstore", 0x39),
    ("astore", 0x3a),
];

const WITH_CLASS: &[(&str, u8)] = &[("checkcast", op::CHECKCAST), ("instanceof", 0xc1)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classfile::ClassFile;

    fn assembled(text: &str) -> Result<Vec<u8>, Misassembled> {
        let mut emitter = Emitter::default();
        assemble(text, &mut emitter)?;
        Ok(emitter.finish(0x31, b"java/lang/Made", b"java/lang/Object").expect("a class"))
    }

    fn code(text: &str) -> Vec<u8> {
        let bytes = assembled(text).expect("a class");
        let (class, pool) = ClassFile::parse(&bytes).expect("a class");
        let attributes = class.methods[0].attributes(&pool).expect("attributes");
        let body = attributes.iter().find(|it| it.name == b"Code").expect("code").body;
        let length = u32::from_be_bytes(body[4..8].try_into().expect("four bytes")) as usize;
        body[8..8 + length].to_vec()
    }

    #[test]
    fn jumps_go_both_ways() {
        let text = "method public,static m (I)I\nagain:\niload 0\nifne out\ngoto again\nout:\n\
                    iconst_1\nireturn\nend\n";
        let jumps = [0x15, 0, 0x9a, 0, 6, 0xa7, 0xff, 0xfb, 0x04, 0xac];
        assert_eq!(code(text), jumps);
    }

    #[test]
    fn a_mistake_is_found_at_its_line() {
        let wrong = |text: &str| assembled(text).expect_err("a mistake");
        let found = wrong("method static m ()V\niconst_0\nadd it\nreturn\nend");
        assert_eq!(found.to_string(), "line 3, `add it`: no such instruction");
        let at = |text: &str| (wrong(text).line, wrong(text).why);
        assert_eq!(at("return"), (1, Why::Outside));
        assert_eq!(at("method static m ()V\nbipush 300\nend"), (2, Why::Operands));
        assert_eq!(at("method static m ()V\ngoto away\nend"), (3, Why::Label));
        assert_eq!(at("method static m ()V\nreturn\n"), (2, Why::Unended));
        assert_eq!(at("method private m ()V"), (1, Why::Operands));
        assert_eq!(at("method static m ()V\ninvokestatic m\nend"), (2, Why::Operands));
    }

    #[test]
    fn every_word_is_used() {
        let text = super::super::reads::text() + &super::super::wrappers::text();
        let used: std::collections::HashSet<&str> =
            text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        // What shorthands stand for is not in the text.
        let tables = [SIMPLE, JUMPS, WITH_LOCAL, WITH_CLASS].concat();
        let unused: Vec<_> = tables.iter().filter(|(word, _)| !used.contains(word)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}
