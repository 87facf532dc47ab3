//! A small assembler: text to class file. The hook class is written in it, so that building the
//! agent needs no Java compiler.
//!
//! One instruction a line; `;` starts a comment. `method ACCESS NAME DESCRIPTOR` to `end` is a method
//! (`native` in place of code when it has none; `reserved` ones run on even if the stack overflows, `inline` and `apart` speak to the compilers), `field ACCESS NAME DESCRIPTOR` a field, `name:` a
//! label, `catch FROM TO HANDLER` a protected range. The stack is generous. Some words
//! stand for the few instructions that nearly every method needs: see `shorthand`.

use std::collections::HashMap;

use super::emit::{APART, Body, Emitter, INLINE, RESERVED};
use crate::classfile::insn::op;
use crate::classfile::{Failure, Outcome};

const THREAD: &str = "java/lang/Thread";
const UNSAFE: &str = "jdk/internal/misc/Unsafe";

/// Assembles the members of a class into what is being emitted. `constants` are numbers that the
/// text names with a `$`.
pub fn assemble(text: &str, constants: &[(&str, u64)], out: &mut Emitter) -> Outcome<()> {
    let mut assembler = Assembler { out, constants, method: None };
    text.lines().try_for_each(|line| assembler.line(line))
}

struct Method {
    access: u32,
    name: String,
    descriptor: String,
    body: Body,
    labels: HashMap<String, usize>,
    catches: Vec<[String; 3]>,
    native: bool,
}

struct Assembler<'o, 'c> {
    out: &'o mut Emitter,
    constants: &'c [(&'c str, u64)],
    method: Option<Method>,
}

const WRONG: Failure = Failure::Malformed("hook class");

impl Assembler<'_, '_> {
    fn line(&mut self, line: &str) -> Outcome<()> {
        let code = line.split(" ;").next().unwrap_or_default().trim();
        let words: Vec<&str> = code.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            [comment, ..] if comment.starts_with(';') => Ok(()),
            ["method", access, name, descriptor] => self.start(access, name, descriptor),
            ["field", access, name, descriptor] => {
                self.out.field(flags(access)? as u16, name, descriptor)
            }
            ["end"] => self.end(),
            ["native"] => self.with(|m, _| {
                m.native = true;
                Ok(())
            }),
            ["catch", from, to, handler] => self.with(|m, _| {
                m.catches.push([from, to, handler].map(str::to_owned));
                Ok(())
            }),
            [label] if label.ends_with(':') => self.with(|m, _| {
                let slot = m.label(&label[..label.len() - 1]);
                m.body.bind(slot);
                Ok(())
            }),
            [word, ref operands @ ..] => self.instruction(word, operands),
        }
    }

    fn with(&mut self, work: impl FnOnce(&mut Method, &mut Emitter) -> Outcome<()>) -> Outcome<()> {
        work(self.method.as_mut().ok_or(WRONG)?, self.out)
    }

    fn start(&mut self, access: &str, name: &str, descriptor: &str) -> Outcome<()> {
        self.method = Some(Method {
            access: flags(access)?,
            name: name.to_owned(),
            descriptor: descriptor.to_owned(),
            body: Body::default(),
            labels: HashMap::new(),
            catches: Vec::new(),
            native: false,
        });
        Ok(())
    }

    fn end(&mut self) -> Outcome<()> {
        let mut method = self.method.take().ok_or(WRONG)?;
        for names in std::mem::take(&mut method.catches) {
            let [from, to, handler] = names.each_ref().map(|name| method.label(name));
            method.body.protect(from, to, handler);
        }
        let Method { access, name, descriptor, body, native, .. } = method;
        if native {
            self.out.method(access | NATIVE, &name, &descriptor, None)
        } else {
            self.out.method(access, &name, &descriptor, Some(body))
        }
    }

    fn instruction(&mut self, word: &str, operands: &[&str]) -> Outcome<()> {
        if let Some(lines) = shorthand(word, operands) {
            return lines.iter().try_for_each(|line| self.line(line));
        }
        let number = operands.first().and_then(|o| self.number(o));
        let method = self.method.as_mut().ok_or(WRONG)?;
        let out = &mut *self.out;
        if let Some(opcode) = simple(word) {
            method.body.op(opcode);
        } else if let Some(opcode) = jump(word) {
            let label = method.label(operands.first().ok_or(WRONG)?);
            method.body.jump(opcode, label);
        } else if word == "bipush" {
            method.body.op(0x10);
            method.body.op(number.ok_or(WRONG)? as u8);
        } else if let Some(opcode) = with_local(word) {
            method.body.local(opcode, number.ok_or(WRONG)? as u8);
        } else if word == "long" {
            let constant = out.pool.add_long(number.ok_or(WRONG)?)?;
            method.body.constant(0x14, constant);
        } else if word == "int" {
            let constant = out.pool.add_int(number.ok_or(WRONG)? as u32)?;
            method.body.constant(op::LDC_W, constant);
        } else if let Some(opcode) = with_class(word) {
            let name = operands.first().ok_or(WRONG)?;
            let constant = out.pool.add_class(name.as_bytes())?;
            method.body.constant(opcode, constant);
        } else if word == "string" {
            let text = operands.first().ok_or(WRONG)?;
            let constant = out.pool.add_string(text.as_bytes())?;
            method.body.constant(op::LDC_W, constant);
        } else {
            let [target, descriptor] = operands[..] else { return Err(WRONG) };
            method.body.member(&mut out.pool, word, target, descriptor)?;
        }
        Ok(())
    }

    fn number(&self, text: &str) -> Option<u64> {
        match text.strip_prefix('$') {
            Some(name) => self.constants.iter().find(|(n, _)| *n == name).map(|&(_, v)| v),
            None => text
                .strip_prefix("0x")
                .map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
                .or_else(|| text.parse::<i64>().ok().map(|n| n as u64)),
        }
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

const NATIVE: u32 = 0x0100;

fn flags(words: &str) -> Outcome<u32> {
    words.split(',').try_fold(0, |sum, word| {
        let flag = match word {
            "public" => 0x0001,
            "static" => 0x0008,
            "final" => 0x0010,
            "synchronized" => 0x0020,
            "volatile" => 0x0040,
            "package" => 0,
            "reserved" => RESERVED,
            "apart" => APART,
            "inline" => INLINE,
            _ => return Err(WRONG),
        };
        Ok(sum | flag)
    })
}

/// Words that stand for several lines.
fn shorthand(word: &str, operands: &[&str]) -> Option<Vec<String>> {
    let unsafe_call =
        |name: &str, descriptor: &str| vec![format!("invokevirtual {UNSAFE}.{name} {descriptor}")];
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
        "put" => vec![format!("putfield {THREAD}.$paceline{first} {}", operands.get(1)?)],
        "call" => vec![format!("invokestatic java/lang/PacelineHook.{first} {}", operands.get(1)?)],
        // Memory, through the platform's Unsafe, which `memory` pushes.
        "memory" => vec![format!("getstatic java/lang/PacelineHook.MEMORY L{UNSAFE};")],
        "getLong" => unsafe_call("getLong", "(J)J"),
        "putLong" => unsafe_call("putLong", "(JJ)V"),
        "getInt" => unsafe_call("getInt", "(J)I"),
        "putInt" => unsafe_call("putInt", "(JI)V"),
        "getLongOf" => unsafe_call("getLongVolatile", "(Ljava/lang/Object;J)J"),
        "putLongOf" => unsafe_call("putLong", "(Ljava/lang/Object;JJ)V"),
        "publish" => unsafe_call("putLongRelease", "(Ljava/lang/Object;JJ)V"),
        "swapLong" => unsafe_call("compareAndSetLong", "(Ljava/lang/Object;JJJ)Z"),
        _ => return None,
    })
}

fn simple(word: &str) -> Option<u8> {
    Some(match word {
        "null" => 0x01,
        "iconst_m1" => 0x02,
        "iconst_0" => 0x03,
        "iconst_1" => 0x04,
        "iconst_2" => 0x05,
        "iconst_3" => 0x06,
        "iconst_4" => 0x07,
        "iconst_5" => 0x08,
        "lconst_0" => 0x09,
        "lconst_1" => 0x0a,
        "iaload" => 0x2e,
        "laload" => 0x2f,
        "faload" => 0x30,
        "daload" => 0x31,
        "aaload" => 0x32,
        "baload" => 0x33,
        "caload" => 0x34,
        "saload" => 0x35,
        "aastore" => 0x53,
        "pop" => 0x57,
        "pop2" => 0x58,
        "dup" => 0x59,
        "dup_x1" => 0x5a,
        "dup2" => 0x5c,
        "swap" => 0x5f,
        "iadd" => 0x60,
        "ladd" => 0x61,
        "isub" => 0x64,
        "lsub" => 0x65,
        "lmul" => 0x69,
        "lshl" => 0x79,
        "ishr" => 0x7a,
        "lushr" => 0x7d,
        "iand" => 0x7e,
        "land" => 0x7f,
        "lor" => 0x81,
        "lxor" => 0x83,
        "i2l" => 0x85,
        "l2i" => 0x88,
        "ishl" => 0x78,
        "lcmp" => 0x94,
        "ireturn" => 0xac,
        "lreturn" => 0xad,
        "freturn" => 0xae,
        "dreturn" => 0xaf,
        "areturn" => 0xb0,
        "return" => 0xb1,
        "arraylength" => 0xbe,
        "athrow" => 0xbf,
        "monitorenter" => 0xc2,
        "monitorexit" => 0xc3,
        _ => return None,
    })
}

fn jump(word: &str) -> Option<u8> {
    Some(match word {
        "ifeq" => 0x99,
        "ifne" => 0x9a,
        "iflt" => 0x9b,
        "ifge" => 0x9c,
        "ifgt" => 0x9d,
        "ifle" => 0x9e,
        "if_icmpeq" => 0x9f,
        "if_icmpne" => 0xa0,
        "if_icmplt" => 0xa1,
        "if_icmpge" => 0xa2,
        "if_icmpgt" => 0xa3,
        "if_icmple" => 0xa4,
        "if_acmpeq" => 0xa5,
        "if_acmpne" => 0xa6,
        "goto" => 0xa7,
        "ifnull" => 0xc6,
        "ifnonnull" => 0xc7,
        _ => return None,
    })
}

fn with_local(word: &str) -> Option<u8> {
    Some(match word {
        "iload" => 0x15,
        "lload" => 0x16,
        "fload" => 0x17,
        "dload" => 0x18,
        "aload" => 0x19,
        "fstore" => 0x38,
        "dstore" => 0x39,
        "istore" => 0x36,
        "lstore" => 0x37,
        "astore" => 0x3a,
        _ => return None,
    })
}

fn with_class(word: &str) -> Option<u8> {
    Some(match word {
        "class" => op::LDC_W,
        "new" => op::NEW,
        "anewarray" => 0xbd,
        "checkcast" => op::CHECKCAST,
        "instanceof" => 0xc1,
        _ => return None,
    })
}
