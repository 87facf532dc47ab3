//! What is inserted into classes of the platform: where threads start and end, where pools run
//! what they were given, and what reflection shows.

use super::hooks::Snippet;
use super::site::{Name, Program, Site, Target};
use crate::classfile::code::Code;
use crate::classfile::insn::op;
use crate::classfile::{ClassFile, Member, Outcome, Pool};
use paceline_trace::Kind;

/// Where in a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At its start.
    Entry,
    /// Before each return.
    Return,
    /// Before each call of a method without parameters, with that name.
    Call(&'static str),
}

/// What a hook is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// Nothing.
    Nothing,
    /// `this`; at a call, the receiver.
    This,
    /// The first parameter.
    First,
    /// The second parameter, which the hook's result replaces.
    ReplaceSecond,
}

/// A call of the hook class to be put into a method.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// The method.
    pub method: &'static str,
    /// Its descriptor, or the start of it.
    pub descriptor: &'static str,
    /// Where.
    pub place: Place,
    /// What it is given.
    pub given: Given,
    /// The method of the hook class; it takes an object (if any is given), and a site if it makes
    /// events.
    pub call: &'static str,
    /// The kind of event that it makes.
    pub kind: Option<Kind>,
}

/// What is done to a class of the platform.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The class.
    pub class: &'static str,
    /// Fields that it gets; only possible while it is loaded.
    pub fields: &'static [(&'static str, &'static str)],
    /// Calls that it gets; done by retransformation.
    pub hooks: &'static [Hook],
}

/// The state of a thread, as seen by the hook class. (`Hook` describes what each is for.)
pub const THREAD_FIELDS: &[(&str, &str)] = &[
    ("$pacelineToken", "I"),
    ("$pacelineBuffer", "J"),
    ("$pacelineHeld", "J"),
    ("$pacelineDepth", "I"),
    ("$pacelineBegun", "I"),
    ("$pacelineBlocks", "J"),
    ("$pacelineBlockRoom", "I"),
    ("$pacelineLocks", "J"),
    ("$pacelineLockCount", "I"),
    ("$pacelineLockRoom", "I"),
    ("$pacelineNextId", "J"),
    ("$pacelineLastId", "J"),
    ("$pacelineLock", "J"),
];

const fn hook(
    method: &'static str,
    descriptor: &'static str,
    place: Place,
    given: Given,
    call: &'static str,
) -> Hook {
    Hook { method, descriptor, place, given, call, kind: None }
}

const fn event(
    method: &'static str,
    descriptor: &'static str,
    place: Place,
    given: Given,
    call: &'static str,
    kind: Kind,
) -> Hook {
    Hook { method, descriptor, place, given, call, kind: Some(kind) }
}

const CONTAINER: &str = "(Ljdk/internal/vm/ThreadContainer;)V";

/// All changes.
pub const CHANGES: &[Change] = &[
    Change {
        class: "java/lang/Thread",
        fields: THREAD_FIELDS,
        hooks: &[
            hook("start", "()V", Place::Entry, Given::This, "fork"),
            hook("start", CONTAINER, Place::Entry, Given::This, "fork"),
            hook("exit", "()V", Place::Entry, Given::This, "ended"),
            hook("join", "(J)V", Place::Return, Given::This, "joined"),
            hook("join", "(Ljava/time/Duration;)Z", Place::Return, Given::This, "joined"),
        ],
    },
    Change {
        class: "java/lang/VirtualThread",
        fields: &[],
        hooks: &[
            hook("start", CONTAINER, Place::Entry, Given::This, "fork"),
            hook("run", "(Ljava/lang/Runnable;)V", Place::Return, Given::This, "ended"),
        ],
    },
    Change {
        class: "jdk/internal/reflect/Reflection",
        fields: &[],
        hooks: &[hook(
            "filterFields",
            "(Ljava/lang/Class;[Ljava/lang/reflect/Field;)",
            Place::Entry,
            Given::ReplaceSecond,
            "withoutAdded",
        )],
    },
];

/// Puts the hooks for a method into its code; tells whether there were any.
pub fn insert<'a>(
    code: &mut Code<'a>,
    change: &Change,
    class: &ClassFile<'a>,
    member: &Member<'a>,
    pool: &mut Pool<'a>,
    program: &mut dyn Program,
) -> Outcome<bool> {
    let wanted = |h: &&Hook| {
        h.method.as_bytes() == member.name && member.descriptor.starts_with(h.descriptor.as_bytes())
    };
    let mut any = false;
    for hook in change.hooks.iter().filter(wanted) {
        let inserted = snippet(hook, class, member, pool, program)?;
        any |= put(code, hook.place, &inserted, pool)?;
    }
    Ok(any)
}

fn put(code: &mut Code, place: Place, inserted: &[u8], pool: &Pool) -> Outcome<bool> {
    if place == Place::Entry {
        code.entry.extend_from_slice(inserted);
        return Ok(true);
    }
    let mut any = false;
    for i in 0..code.instructions.len() {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let here = match place {
            Place::Entry => false,
            Place::Return => matches!(opcode, op::IRETURN..=op::RETURN),
            Place::Call(name) => {
                matches!(opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE)
                    && pool.reference(code.operand(at)?)?.name == name.as_bytes()
                    && pool.reference(code.operand(at)?)?.descriptor.starts_with(b"()")
            }
        };
        if here {
            code.instructions[i].before.extend_from_slice(inserted);
            any = true;
        }
    }
    Ok(any)
}

fn snippet(
    hook: &Hook,
    class: &ClassFile,
    member: &Member,
    pool: &mut Pool,
    program: &mut dyn Program,
) -> Outcome<Vec<u8>> {
    let at_call = matches!(hook.place, Place::Call(_));
    let snippet = Snippet::new(pool);
    let (snippet, object) = match hook.given {
        Given::Nothing => (snippet, ""),
        Given::This if at_call => (snippet.ops(&[op::DUP]), "Ljava/lang/Object;"),
        Given::This => (snippet.ops(&[op::ALOAD_0]), "Ljava/lang/Object;"),
        Given::First => (snippet.ops(&[op::ALOAD_0 + 1]), "Ljava/lang/Object;"),
        Given::ReplaceSecond => {
            let fields = "[Ljava/lang/reflect/Field;";
            let descriptor = format!("({fields}){fields}");
            let snippet = snippet.ops(&[op::ALOAD_0 + 1]);
            let snippet = snippet.call(hook.call.as_bytes(), descriptor.as_bytes())?;
            return Ok(snippet.ops(&[op::ASTORE_0 + 1]).code);
        }
    };
    let Some(kind) = hook.kind else {
        let descriptor = format!("({object})V");
        return Ok(snippet.call(hook.call.as_bytes(), descriptor.as_bytes())?.code);
    };
    let site = program.site(site_of(kind, class, member))?;
    let descriptor = format!("({object}I)V");
    Ok(snippet.number(site)?.call(hook.call.as_bytes(), descriptor.as_bytes())?.code)
}

fn site_of(kind: Kind, class: &ClassFile, member: &Member) -> Site {
    let method: Name = [&super::names::dotted(class.name)[..], b".", member.name].concat().into();
    let file: Name = Name::from(&b""[..]);
    Site { kind: Some(kind), target: Target::Object, file, method, line: 0, model: 0 }
}

