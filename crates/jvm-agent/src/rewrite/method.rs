//! One method of the application: which of its instructions are observed, and how.
//!
//! Fields and array elements are in `accesses`. Locks are recorded after they were taken and before
//! they are given up.

use super::blocks::{Doings, is_quiet, matters};
use super::constructor::Construction;
use super::hooks::Snippet;
use super::model;
use super::names::{PLATFORM_HOOK, dotted, is_platform, parameters, readable_type};
use super::site::{MethodFacts, Name, Program, Site, Target};
use super::synchronizers;
use super::variables::{self, Bridges, Known};
use super::{
    Detail, Extent, Summary, annotations, attempt, carries_word, is_about_size, overloaded,
};
use crate::classfile::code::Code;
use crate::classfile::insn::op;
use crate::classfile::pool::Reference;
use crate::classfile::{Attribute, ClassFile, Member, Outcome, Pool, access};
use paceline_wire::Kind;

mod reached;

/// Rewrites the methods of a class.
pub struct Rewriter<'r, 'a> {
    pub(super) class: &'r ClassFile<'a>,
    extent: Extent,
    pub(super) program: &'r mut dyn Program,
    file: Name,
    readable_class: Vec<u8>,
    overloaded: Vec<&'a [u8]>,
    class_annotations: Vec<Vec<u8>>,
    /// Its objects have volatile fields, and count as shared from the start: the order that
    /// volatile accesses make must not get lost.
    pub(super) born_shared: bool,
    summary: Summary,
    bridges: Bridges,
}

/// What all steps of rewriting a method need.
pub(super) struct Context<'m> {
    pub(super) detail: Detail,
    pub(super) member: &'m Member<'m>,
    pub(super) method: Name,
    pub(super) this_is_stable: bool,
    pub(super) construction: Option<Construction>,
    /// In a constructor: no other thread can know the object yet.
    pub(super) unknown: bool,
    /// What was seen so far.
    pub(super) doings: Doings,
}

/// What is run at the end of a method.
#[derive(Default)]
struct Exits {
    /// Before a return.
    returned: Vec<u8>,
    /// When an exception leaves it.
    thrown: Vec<u8>,
}

impl<'r, 'a> Rewriter<'r, 'a> {
    /// Prepares for the methods of a class.
    pub fn new(
        class: &'r ClassFile<'a>,
        pool: &Pool<'a>,
        extent: Extent,
        program: &'r mut dyn Program,
    ) -> Outcome<Rewriter<'r, 'a>> {
        let born_shared =
            class.fields.iter().any(|f| f.is(access::VOLATILE) && !f.is(access::STATIC));
        Ok(Rewriter {
            class,
            extent,
            program,
            file: class.source_file(pool).into(),
            readable_class: dotted(class.name),
            overloaded: overloaded(class),
            class_annotations: annotations::names(&class.attributes(pool)?, pool)?,
            born_shared,
            summary: Summary::default(),
            bridges: Bridges::default(),
        })
    }

    /// What was done, and the methods that the class needs.
    pub fn finish(self) -> (Summary, Bridges) {
        (self.summary, self.bridges)
    }

    /// The new body of a Code attribute, or none if it stays as it is.
    pub fn method(
        &mut self,
        member: &Member<'a>,
        attributes: &[Attribute<'a>],
        body: &'a [u8],
        pool: &mut Pool<'a>,
    ) -> Outcome<Option<Vec<u8>>> {
        let details: &[Detail] = match self.extent {
            Extent::Observed => &[Detail::All, Detail::Fields, Detail::Locks],
            Extent::Bare if member.name == b"<init>" => &[Detail::Locks],
            Extent::Bare => return Ok(None),
        };
        let most = self.program.detail();
        let mut slow = None;
        for &detail in details.iter().filter(|&&detail| detail <= most) {
            match attempt(pool, |pool| self.attempt(member, attributes, body, pool, detail)) {
                Ok(new) if may_be_slow(member, detail) && is_slow(body, &new) => {
                    slow = Some(new);
                }
                Ok(new) if slow.is_some() && is_slow(body, &new) => break,
                Ok(new) => {
                    self.count(member, detail);
                    return Ok(Some(new));
                }
                Err(failure) if is_about_size(failure) => {}
                Err(failure) => return Err(failure),
            }
        }
        if slow.is_some() {
            self.count(member, Detail::All);
            return Ok(slow);
        }
        let label = self.label(member);
        self.summary.degraded.push((label, "not observed: too large"));
        Ok(None)
    }

    fn count(&mut self, member: &Member<'a>, detail: Detail) {
        if self.extent == Extent::Bare {
            return;
        }
        self.summary.methods += 1;
        if detail == self.program.detail() {
            return;
        }
        let missing = match detail {
            Detail::All => return,
            Detail::Fields => "without array elements: too large",
            Detail::Locks => "without fields and array elements: too large",
        };
        let label = self.label(member);
        self.summary.degraded.push((label, missing));
    }

    fn attempt(
        &mut self,
        member: &Member<'a>,
        attributes: &[Attribute<'a>],
        body: &'a [u8],
        pool: &mut Pool<'a>,
        detail: Detail,
    ) -> Outcome<Vec<u8>> {
        let mut code = Code::parse(body, pool)?;
        let is_constructor = member.name == b"<init>";
        let mut context = Context {
            detail,
            member,
            method: self.label(member).into(),
            this_is_stable: !member.is(access::STATIC) && !code.overwrites_local_0(),
            construction: is_constructor.then(|| Construction::new(&code, member.descriptor)),
            // Older classes do not say where jumps lead.
            unknown: is_constructor && !self.born_shared && self.class.major >= 50,
            doings: Doings::default(),
        };
        for i in 0..code.instructions.len() {
            self.instruction(&mut code, i, &mut context, pool)?;
        }
        if self.extent == Extent::Observed {
            self.boundaries(&mut code, attributes, &context, pool)?;
        }
        code.write(pool, self.class.major)
    }

    fn instruction(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        if let Some(construction) = &mut context.construction {
            construction.arrive(at);
            if construction.pass(opcode, at, code, pool)? {
                code.unwind_from = if code.unwind_from == 0 { at + 3 } else { code.unwind_from };
                self.constructed(code, i, context, pool)?;
            }
        }
        if self.extent == Extent::Bare {
            return Ok(());
        }
        context.unknown = context.unknown && !self.may_make_known(code, i, pool)?;
        match opcode {
            op::GETSTATIC..=op::PUTFIELD if context.detail >= Detail::Fields => {
                self.field(code, i, context, pool)
            }
            op::IALOAD..=op::SALOAD if context.detail >= Detail::All => {
                self.element_read(code, i, context, pool)
            }
            op::IASTORE..=op::SASTORE if context.detail >= Detail::All => {
                let before: &[u8] = match opcode {
                    op::LASTORE | op::DASTORE => &[op::DUP2_X2, op::POP2, op::DUP2_X2],
                    _ => &[op::DUP_X2, op::POP, op::DUP2_X1],
                };
                self.element_write(code, i, before, context, pool)
            }
            op::NEWARRAY | op::ANEWARRAY | op::MULTIANEWARRAY if context.detail >= Detail::All => {
                let snippet = Snippet::new(pool).ops(&[op::DUP]);
                let made = snippet.call(b"made", b"(Ljava/lang/Object;)V")?.code;
                code.instructions[i].behind = made;
                Ok(())
            }
            op::MONITORENTER | op::MONITOREXIT => self.monitor(code, i, context, pool),
            op::INVOKEVIRTUAL | op::INVOKESPECIAL | op::INVOKESTATIC | op::INVOKEINTERFACE => {
                self.call(code, i, context, pool)
            }
            _ => Ok(()),
        }
    }

    /// Class and name, and parameters if there are several methods of that name.
    fn label(&self, member: &Member) -> Vec<u8> {
        let mut label = self.readable_class.clone();
        label.push(b'.');
        label.extend_from_slice(member.name);
        if self.overloaded.contains(&member.name) {
            let types: Vec<_> =
                parameters(member.descriptor).iter().map(|t| readable_type(t)).collect();
            label.push(b'(');
            label.extend_from_slice(&types.join(&b", "[..]));
            label.push(b')');
        }
        label
    }

    pub(super) fn site(
        &mut self,
        kind: Kind,
        target: Target,
        line: u16,
        context: &Context,
    ) -> Outcome<u32> {
        self.program.site(Site {
            kind: Some(kind),
            target,
            file: self.file.clone(),
            method: context.method.clone(),
            line,
            model: 0,
        })
    }

    /// After the call of the super class's constructor: the thread that makes the object owns it.
    fn constructed(
        &mut self,
        code: &mut Code,
        i: usize,
        context: &Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let called = pool.reference(code.operand(code.instructions[i].at)?)?;
        let calls_super = called.owner == self.class.super_name;
        if !context.this_is_stable || !calls_super {
            return Ok(());
        }
        let snippet = Snippet::new(pool).ops(&[op::ALOAD_0]);
        let snippet = if self.born_shared {
            let snippet = snippet.ops(&[op::DUP, op::DUP]).word(self.class.name)?;
            snippet.call(b"born", b"(Ljava/lang/Object;J)J")?
        } else if carries_word(self.class) {
            snippet.call(b"claim", b"()J")?
        } else {
            return Ok(());
        };
        code.instructions[i].behind.extend(snippet.set_word(self.class.name)?.code);
        Ok(())
    }

    fn monitor(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        context.doings.observed += 2;
        let line = code.line(code.instructions[i].at);
        if code.instructions[i].opcode == op::MONITOREXIT {
            let site = self.site(Kind::Release, Target::Object, line, context)?;
            let before = Snippet::new(pool).number(site)?.call(b"release", b"(I)V")?;
            code.instructions[i].before = before.code;
            return Ok(());
        }
        let site = self.site(Kind::Acquire, Target::Object, line, context)?;
        let before = Snippet::new(pool).ops(&[op::DUP]);
        code.instructions[i].before = before.call(b"beforeLock", b"(Ljava/lang/Object;)V")?.code;
        code.instructions[i].behind =
            Snippet::new(pool).number(site)?.call(b"locked", b"(I)V")?.code;
        Ok(())
    }

    fn call(
        &mut self,
        code: &mut Code<'a>,
        i: usize,
        context: &mut Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let (at, opcode) = (code.instructions[i].at, code.instructions[i].opcode);
        let called = pool.reference(code.operand(at)?)?;
        if !is_quiet(&called) {
            context.doings.calls += 1;
            // Behind an interface there may be a lambda, which is no block.
            context.doings.calls_block =
                opcode != op::INVOKEINTERFACE && self.is_block_called(&called);
        }
        let is_clone = called.name == b"clone" && called.descriptor == b"()Ljava/lang/Object;";
        if is_clone && opcode != op::INVOKESTATIC && called.owner.first() != Some(&b'[') {
            let descriptor = b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;";
            code.instructions[i].before = vec![op::DUP];
            code.instructions[i].behind = Snippet::new(pool).call(b"cloned", descriptor)?.code;
            return Ok(());
        }
        // A class of the application may extend Thread: that is seen when the call runs.
        let is_alive = called.name == b"isAlive" && called.descriptor == b"()Z";
        if is_alive && opcode == op::INVOKEVIRTUAL && !is_platform(called.owner) {
            code.instructions[i].before = vec![op::DUP];
            let seen = Snippet::new(pool).ops(&[op::DUP_X1]);
            let seen = seen.call_in(PLATFORM_HOOK, b"wasAlive", b"(Ljava/lang/Object;I)V")?;
            code.instructions[i].behind = seen.code;
            return Ok(());
        }
        match variables::find(&called) {
            Some(Known::Access(access)) if opcode == access.opcode() => {
                return self.access(code, i, &access, context, pool);
            }
            Some(Known::Harmless) => return Ok(()),
            Some(Known::Access(_) | Known::Unmodelled) | None => {}
        }
        if opcode == op::INVOKEVIRTUAL
            && let Some(moment) = synchronizers::find(&called, context.member.name)
        {
            return self.synchronizer(code, i, moment, context, pool);
        }
        let found = match opcode {
            op::INVOKESPECIAL => None,
            _ => model::find(&called, opcode == op::INVOKESTATIC),
        };
        let Some(found) = found else {
            self.summary.unmodelled.extend(model::unmodelled(&called));
            return Ok(());
        };
        context.doings.calls_block = false;
        let line = code.line(at);
        let mut first = 0;
        for call in &found.calls {
            for &kind in &call.kinds {
                let site = self.model_site(kind, call, line, context)?;
                first = if first == 0 { site } else { first };
            }
        }
        let method = pool.add_method(super::names::WRAPPERS, &found.wrapper, &found.descriptor)?;
        let snippet = Snippet::new(pool).number(first)?.with_constant(op::INVOKESTATIC, method);
        code.instructions[i].instead = Some(snippet.code);
        Ok(())
    }

    /// Whether a call is one of a method that is a block itself, as far as names say.
    fn is_block_called(&self, called: &Reference) -> bool {
        let label = [&dotted(called.owner)[..], b".", called.name].concat();
        let named = !called.name.starts_with(b"<") && !called.name.contains(&b'$');
        named && !is_platform(called.owner) && self.program.is_surely_block(&label)
    }

    fn model_site(
        &mut self,
        kind: Kind,
        call: &model::Call,
        line: u16,
        context: &Context,
    ) -> Outcome<u32> {
        self.program.site(Site {
            kind: Some(kind),
            target: call.target(),
            file: self.file.clone(),
            method: context.method.clone(),
            line,
            model: call.model as u8,
        })
    }

    /// Entry and exits: block, lock of the method, yield, end of class initialisation.
    fn boundaries(
        &mut self,
        code: &mut Code<'a>,
        attributes: &[Attribute<'a>],
        context: &Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<()> {
        let mut entry = Vec::new();
        let mut exits = Exits::default();
        if !matches!(context.member.name, b"<init>" | b"<clinit>") {
            self.method_boundaries(code, attributes, context, pool, &mut entry, &mut exits)?;
        }
        code.entry = entry;
        code.unwind = exits.thrown;
        if context.member.name == b"<clinit>" {
            let line = code.line(0);
            let target = Target::Text([&self.readable_class[..], b".<clinit>"].concat().into());
            let site = self.site(Kind::Post, target, line, context)?;
            exits.returned = Snippet::new(pool).number(site)?.call(b"initialised", b"(I)V")?.code;
        }
        for instruction in &mut code.instructions {
            if matches!(instruction.opcode, op::IRETURN..=op::RETURN) {
                instruction.before.extend_from_slice(&exits.returned);
            }
        }
        Ok(())
    }

    fn method_boundaries(
        &mut self,
        code: &Code<'a>,
        attributes: &[Attribute<'a>],
        context: &Context,
        pool: &mut Pool<'a>,
        entry: &mut Vec<u8>,
        exits: &mut Exits,
    ) -> Outcome<()> {
        let line = code.line(0);
        let mut found = annotations::names(attributes, pool)?;
        found.extend_from_slice(&self.class_annotations);
        let facts = MethodFacts {
            label: &context.method,
            synthetic: context.member.is(access::SYNTHETIC),
            annotations: &found,
        };
        if self.program.is_yield(&facts) {
            let site = self.site(Kind::Yield, Target::Object, line, context)?;
            entry.extend(Snippet::new(pool).number(site)?.call(b"simple", b"(I)V")?.code);
        }
        let is_locked = context.member.is(access::SYNCHRONIZED);
        let is_block = self.program.is_block(&facts);
        if is_block {
            self.summary.blocks += 1;
        }
        let is_block = is_block && (is_locked || matters(code, context.doings)?);
        let mut begin = None;
        if is_block {
            let target = Target::Text(context.method.clone());
            let site = self.site(Kind::Begin, target.clone(), line, context)?;
            begin = Some(site);
            let site = self.site(Kind::End, target, line, context)?;
            exits.returned.extend(Snippet::new(pool).number(site)?.call(b"exit", b"(I)V")?.code);
            exits
                .thrown
                .extend(Snippet::new(pool).number(site)?.call(b"exitThrown", b"(I)V")?.code);
        }
        if is_locked {
            entry.extend(self.lock_of_method(line, begin, context, pool)?);
            let site = self.site(Kind::Release, Target::Object, line, context)?;
            let release = Snippet::new(pool).number(site)?.call(b"release", b"(I)V")?.code;
            exits.returned.splice(0..0, release.clone());
            exits.thrown = match begin {
                // One call: if the stack is full, the first of two would throw when it is done.
                Some(begin) => {
                    Snippet::new(pool)
                        .number(site)?
                        .number(begin + 1)?
                        .call(b"releasedThrown", b"(II)V")?
                        .code
                }
                None => release,
            };
        } else if let Some(site) = begin {
            entry.extend(Snippet::new(pool).number(site)?.call(b"enter", b"(I)V")?.code);
        }
        if is_block || is_locked {
            let object = b"(Ljava/lang/Object;)V";
            let thrown = Snippet::new(pool).ops(&[op::DUP]).call(b"thrown", object)?;
            exits.thrown.extend(thrown.code);
        }
        Ok(())
    }

    /// The lock that a synchronized method has when it starts.
    fn lock_of_method(
        &mut self,
        line: u16,
        begin: Option<u32>,
        context: &Context,
        pool: &mut Pool<'a>,
    ) -> Outcome<Vec<u8>> {
        let site = self.site(Kind::Acquire, Target::Object, line, context)?;
        let snippet = Snippet::new(pool);
        let (snippet, name, given) = if !context.member.is(access::STATIC) {
            let snippet = snippet.ops(&[op::ALOAD_0, op::ALOAD_0]).word(self.class.name)?;
            (snippet, "entered", "Ljava/lang/Object;J")
        } else if self.class.major >= 49 {
            (snippet.class(self.class.name)?, "enteredStatic", "Ljava/lang/Class;")
        } else {
            // Class constants came with Java 5; before, the agent finds the class by the call
            // stack.
            (snippet.ops(&[op::ACONST_NULL]), "enteredStatic", "Ljava/lang/Class;")
        };
        let snippet = snippet.number(site)?;
        match begin {
            Some(begin) => snippet
                .number(begin)?
                .call(format!("{name}Block").as_bytes(), format!("({given}II)V").as_bytes()),
            None => snippet.call(name.as_bytes(), format!("({given}I)V").as_bytes()),
        }
        .map(|snippet| snippet.code)
    }
}

/// Whether it is worth while to leave something out for speed: class initialisers run once.
fn may_be_slow(member: &Member, detail: Detail) -> bool {
    detail == Detail::All && member.name != b"<clinit>"
}

/// HotSpot does not compile longer methods.
const LONGEST_COMPILED: u32 = 8000;

/// Whether a method that was compiled before is too long for that now.
fn is_slow(old: &[u8], new: &[u8]) -> bool {
    let length = |body: &[u8]| {
        let bytes = body.get(4..8).and_then(|it| it.try_into().ok()).unwrap_or_default();
        u32::from_be_bytes(bytes)
    };
    length(old) <= LONGEST_COMPILED && length(new) > LONGEST_COMPILED
}
