//! From bytecode to a [`Body`]: runs the [`Machine`] and writes down what matters to locks, with
//! every lock and argument as a [`LockExpr`].
//!
//! The paper's statements and what they become:
//! `SYNC e sb` is `Enter` and `Exit`; `CALL e.m(p)` is `Call`; `x := y` is `Define` (the
//! instruction that computes a root runs again), a phi killed on an edge, `SetField` or
//! `SetElement`.

mod finish;

use hashbrown::{HashMap, HashSet};

use crate::body::{Block, Body, CallKind, Edge, Event, Lambda, Op, Reach, SiteId, SiteKey, Style};
use crate::bytecode::Insn;
use crate::cfg::{Cfg, reach};
use crate::expr::{FieldId, LockExpr, Name, Origin, Root, Selector};
use crate::machine::{Env, Machine, Shapes};
use crate::tables::Tables;
use crate::values::{Meaning, Value};

/// What a method's code says, besides its body.
#[derive(Default, Debug)]
pub struct Flow {
    /// The body; none when nothing in it matters.
    pub body: Option<Box<Body>>,
    /// What every return gives back, when it is always the same place.
    pub returns: Option<LockExpr>,
    /// Parameters that are stored somewhere, by bit.
    pub stored: u32,
    /// Fields of `this` that a constructor sets to one of its parameters.
    pub captures: Vec<(FieldId, LockExpr)>,
    /// Fields of `this` that are set to a fresh object.
    pub fills: Vec<(FieldId, LockExpr)>,
    /// Fields that get a reference, with what is known about its class.
    pub stores: Vec<(FieldId, Stored)>,
    /// Classes of which objects are made.
    pub made: Vec<Name>,
    /// Fields that it assigns, if it has no body.
    pub sets: Vec<FieldId>,
    /// The class of all that is returned, if every return gives a fresh object of it.
    pub returns_class: Option<Name>,
}

/// What is stored in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// An object of this very class.
    Exact(Name),
    /// What a call returns.
    Returned(SiteId),
    /// Something else.
    Unknown,
}

/// What is known about a method before its code is read.
pub struct Head<'h> {
    /// The start of each source line.
    pub lines: &'h [(u32, u16)],
    /// Its local variables.
    pub variables: &'h [Variable],
    /// Whether its stores to `this` are captures.
    pub constructor: bool,
    /// Whether it is synchronized.
    pub synchronized: bool,
}

/// A local variable, where it has a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The slot.
    pub slot: u16,
    /// The first position where it has its value.
    pub start: u32,
    /// The first position after.
    pub end: u32,
    /// Its name.
    pub name: Name,
}

/// Analyses a method.
pub fn analyse(
    cfg: &Cfg,
    head: &Head<'_>,
    start: Env,
    tables: &mut Tables<'_>,
    shapes: &mut Shapes,
) -> Flow {
    let parameters: Vec<(u16, Origin)> = (0..).zip(start.locals.iter().map(|v| v.origin)).collect();
    let machine = Machine::run(cfg, start, tables, shapes);
    let reached = reach(cfg);
    let mut writer = Writer {
        machine,
        head,
        reach: Reach::Always,
        flow: Flow::default(),
        events: Vec::new(),
        entries: Vec::new(),
        fields: Vec::new(),
        sources: Vec::new(),
        decisions: Vec::new(),
        returned_values: Vec::new(),
        lambdas: HashMap::new(),
        made_lambdas: Vec::new(),
        returned: Returned::Nothing,
        returned_class: None,
    };
    let graph = writer.write(&reached);
    writer.finish(graph, &parameters)
}

/// Blocks, edges and the phis killed on edges.
type Graph = (Vec<Block>, Vec<Edge>, Vec<u32>);

/// What the returns seen so far have in common.
enum Returned {
    Nothing,
    One(LockExpr),
    Several,
}

struct LambdaValue {
    site: SiteId,
    method: Name,
    captured: Vec<Value>,
}

struct Writer<'m, 'a> {
    machine: Machine<'m, 'a>,
    head: &'m Head<'m>,
    /// Which runs come to the current block.
    reach: Reach,
    flow: Flow,
    events: Vec<Event>,
    /// Locks and arguments.
    entries: Vec<Value>,
    /// Fields and arrays that are read or assigned, as [`Op::GetField`] and the like number them
    /// until the body is made: most are not kept.
    fields: Vec<Value>,
    sources: Vec<(Origin, Origin)>,
    decisions: Vec<(u32, Origin)>,
    returned_values: Vec<Origin>,
    lambdas: HashMap<u32, LambdaValue>,
    made_lambdas: Vec<Lambda>,
    returned: Returned,
    /// The class of what was returned so far; none inside when it is not always the same.
    returned_class: Option<Option<Name>>,
}

impl Writer<'_, '_> {
    fn write(&mut self, reached: &[Reach]) -> Graph {
        let cfg = self.machine.cfg;
        let (mut blocks, mut edges, mut kills) = (Vec::new(), Vec::new(), Vec::new());
        for block in 0..cfg.len() {
            self.reach = reached[block];
            blocks.push(Block {
                events: self.events.len() as u32,
                edges: edges.len() as u32,
                handlers: 0,
            });
            let Some(entry) = self.machine.entry[block].clone() else {
                blocks[block].handlers = edges.len() as u32;
                continue;
            };
            let (end, caught) = self.block(block, entry);
            for &next in &cfg.next[block] {
                kills.extend(self.machine.assigned_phis(next, &end, true));
                self.sources.extend(self.machine.phi_sources(next, &end, true));
                edges.push(Edge { to: next, kills: kills.len() as u32 });
            }
            blocks[block].handlers = edges.len() as u32;
            for &handler in &cfg.handlers[block] {
                let mut phis = HashSet::new();
                for env in &caught {
                    phis.extend(self.machine.assigned_phis(handler, env, false));
                    self.sources.extend(self.machine.phi_sources(handler, env, false));
                }
                let from = kills.len();
                kills.extend(phis);
                kills[from..].sort_unstable();
                edges.push(Edge { to: handler, kills: kills.len() as u32 });
            }
        }
        let end = Block {
            events: self.events.len() as u32,
            edges: edges.len() as u32,
            handlers: edges.len() as u32,
        };
        blocks.push(end);
        (blocks, edges, kills)
    }

    /// Writes the events of a block. Gives back its last state, and the states that its handlers
    /// may see.
    fn block(&mut self, block: usize, mut env: Env) -> (Env, Vec<Env>) {
        let cfg = self.machine.cfg;
        let covered = !cfg.handlers[block].is_empty();
        let mut caught = Vec::new();
        if covered {
            caught.push(env.clone());
        }
        for (pc, insn) in cfg.insns_of(block) {
            self.insn(*pc, insn, &env);
            self.value_flow(block as u32, *pc, insn, &env);
            self.machine.step(*pc, insn, &mut env);
            if covered && matches!(insn, Insn::Store(..) | Insn::Increment(_)) {
                caught.push(env.clone());
            }
        }
        (env, caught)
    }

    fn insn(&mut self, pc: u32, insn: &Insn, env: &Env) {
        match insn {
            Insn::MonitorEnter => self.lock(pc, env.top(), Style::Monitor),
            Insn::MonitorExit => self.unlock(pc, env.top(), Style::Monitor),
            Insn::Call(site) => self.call(pc, *site, env),
            Insn::Lambda { site, interface, method, captured } => {
                self.lambda(pc, *site, *interface, *method, &env.arguments(captured));
            }
            Insn::PutField(field, slots) => {
                self.put_field(
                    *field,
                    env.peek(usize::from(*slots)),
                    env.peek(usize::from(*slots) - 1),
                );
                let object = env.peek(usize::from(*slots)).place;
                let value = env.peek(usize::from(*slots) - 1);
                self.set_field(pc, *field, object.then(Selector::Field(*field)), value);
                self.escape(pc, env.top());
            }
            Insn::PutStatic(field, slots) => {
                let stored = self.stored_class(*field, env.top());
                self.flow.stores.extend(stored);
                self.store(env.top());
                let value = env.peek(usize::from(*slots).saturating_sub(1));
                self.set_field(pc, *field, LockExpr::root_only(Root::Static(*field)), value);
                self.escape(pc, env.top());
            }
            Insn::PutElement => {
                self.store(env.top());
                let place = self.field(env.peek(2).place, env.top());
                self.event(pc, Op::SetElement { place });
                self.escape(pc, env.top());
            }
            Insn::New(class) => {
                self.flow.made.push(*class);
                self.define(pc, Root::New(pc));
            }
            Insn::Compute(_, pushes) if *pushes > 0 => self.define(pc, Root::Value(pc)),
            Insn::GetField(field, ..) => {
                self.define(pc, Root::Value(pc));
                self.get_field(pc, *field, env.top().place.then(Selector::Field(*field)));
            }
            Insn::GetStatic(field, ..) => {
                self.get_field(pc, *field, LockExpr::root_only(Root::Static(*field)));
            }
            Insn::GetElement | Insn::Store(..) | Insn::Increment(_) => {
                self.define(pc, Root::Value(pc));
            }
            Insn::Return(1) => self.give_back(env.top()),
            Insn::Throw => self.store(env.top()),
            Insn::Load(..)
            | Insn::Int(_)
            | Insn::Text(_)
            | Insn::ClassObject(_)
            | Insn::Null
            | Insn::Compute(..)
            | Insn::Shuffle(_)
            | Insn::Cast(_)
            | Insn::Jump(_)
            | Insn::Branch(..)
            | Insn::Switch(_)
            | Insn::Subroutine(_)
            | Insn::SubroutineReturn
            | Insn::Return(_) => {}
        }
    }

    /// Which values an instruction computes its own from, and what a branch depends on.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others compute nothing")]
    fn value_flow(&mut self, block: u32, pc: u32, insn: &Insn, env: &Env) {
        let own = Origin::new(Root::Value(pc));
        match insn {
            Insn::Compute(pops, 1..) => self.computed(own, env, *pops),
            Insn::GetField(..) => self.computed(own, env, 1),
            Insn::GetElement => self.computed(own, env, 2),
            Insn::Increment(local) => self.sources.push((own, env.local(*local).origin)),
            Insn::Branch(pops, _) => self.decided(block, env, *pops),
            Insn::Switch(_) => self.decided(block, env, 1),
            Insn::Return(slots @ 1..) => {
                self.returned_values.push(env.peek(usize::from(*slots) - 1).origin);
            }
            _other => {}
        }
    }

    fn computed(&mut self, own: Origin, env: &Env, pops: u8) {
        let popped = (0..usize::from(pops)).map(|below| (own, env.peek(below).origin));
        self.sources.extend(popped.filter(|s| is_followed(s.1)));
    }

    fn decided(&mut self, block: u32, env: &Env, pops: u8) {
        let popped = (0..usize::from(pops)).map(|below| (block, env.peek(below).origin));
        self.decisions.extend(popped.filter(|d| is_followed(d.1)));
    }

    fn line(&self, pc: u32) -> u16 {
        let lines = self.head.lines;
        let after = lines.partition_point(|&(start, _)| start <= pc);
        after.checked_sub(1).map_or(0, |i| lines[i].1)
    }

    fn event(&mut self, pc: u32, op: Op) {
        let line = self.line(pc);
        self.events.push(Event { pc: pc as u16, line, reach: self.reach, op });
    }

    fn entry(&mut self, value: Value) -> u32 {
        self.entries.push(value);
        self.entries.len() as u32 - 1
    }

    fn field(&mut self, place: LockExpr, value: Value) -> u32 {
        self.fields.push(Value { place, ..value });
        self.fields.len() as u32 - 1
    }

    fn get_field(&mut self, pc: u32, field: FieldId, place: LockExpr) {
        if !place.is_unknown() && !self.machine.tables.finals.contains(&field) {
            let place = self.field(place, Value::of(Root::Value(pc)));
            self.event(pc, Op::GetField { field, place });
        }
    }

    fn set_field(&mut self, pc: u32, field: FieldId, place: LockExpr, value: Value) {
        let place = self.field(place, value);
        self.event(pc, Op::SetField { field, place });
    }

    fn lock(&mut self, pc: u32, value: Value, style: Style) {
        let lock = self.entry(value);
        self.event(pc, Op::Enter { lock, style });
    }

    fn unlock(&mut self, pc: u32, value: Value, style: Style) {
        let lock = self.entry(value);
        self.event(pc, Op::Exit { lock, style });
    }

    fn define(&mut self, pc: u32, root: Root) {
        self.event(pc, Op::Define(LockExpr::root_only(root).root_code()));
    }

    fn escape(&mut self, pc: u32, value: Value) {
        if matches!(value.place.root(), Root::New(_)) {
            let place = self.entry(value);
            self.event(pc, Op::Escape { place });
        }
    }

    fn store(&mut self, value: Value) {
        if let (Root::Param(n @ 0..32), 0) = (value.place.root(), value.place.len()) {
            self.flow.stored |= 1 << n;
        }
    }

    fn put_field(&mut self, field: FieldId, object: Value, value: Value) {
        let stored = self.stored_class(field, value);
        self.flow.stores.extend(stored);
        self.store(value);
        let fresh = value.place.len() == 0 && matches!(value.place.root(), Root::New(_));
        if fresh && object.place == LockExpr::param(0) {
            self.flow.fills.push((field, value.place));
        }
        if self.head.constructor && object.place == LockExpr::param(0) {
            // A second store makes the first one worthless.
            let known = self.flow.captures.iter().position(|c| c.0 == field);
            match known {
                Some(i) => self.flow.captures[i].1 = LockExpr::UNKNOWN,
                None => self.flow.captures.push((field, value.place)),
            }
        }
    }

    /// The class of a stored reference; null says nothing about the field.
    fn stored_class(&self, field: FieldId, value: Value) -> Option<(FieldId, Stored)> {
        let class = value.class;
        let null = value.place.is_unknown() && class.class.is_none();
        let exact = class.class.filter(|_| class.exact).map(Stored::Exact);
        let returned = || {
            let Root::Value(pc) = value.origin.get() else { return None };
            let calls = self.events.iter().rev().filter(|e| u32::from(e.pc) == pc);
            calls.into_iter().find_map(Event::call).map(|c| Stored::Returned(c.0))
        };
        let stored = exact.or_else(returned).unwrap_or(Stored::Unknown);
        (!null).then_some((field, stored))
    }

    fn give_back(&mut self, value: Value) {
        let class = value.class.class.filter(|_| value.class.exact);
        let same = self.returned_class.is_none_or(|known| known == class);
        self.returned_class = Some(class.filter(|_| same));
        let place = value.place;
        self.returned = match self.returned {
            Returned::Nothing => Returned::One(place),
            Returned::One(old) if old == place => Returned::One(place),
            Returned::One(_) | Returned::Several => Returned::Several,
        };
    }

    fn lambda(&mut self, pc: u32, site: SiteId, interface: Name, method: Name, captured: &[Value]) {
        let args = self.entries.len() as u32;
        self.entries.extend(captured);
        for &value in captured {
            self.store(value);
            self.escape(pc, value);
        }
        let count = captured.len() as u16;
        self.made_lambdas.push(Lambda { pc: pc as u16, captured: count, site, args, interface });
        let captured = captured.to_vec();
        self.lambdas.insert(pc, LambdaValue { site, method, captured });
    }

    fn call(&mut self, pc: u32, site: SiteId, env: &Env) {
        let shape = self.machine.shapes.get(site, self.machine.tables);
        let args = env.arguments(&shape.args);
        match shape.meaning {
            Meaning::Lock => self.lock(pc, args[0], Style::Explicit),
            Meaning::Unlock => self.unlock(pc, args[0], Style::Explicit),
            Meaning::TryLock => {
                let lock = self.entry(args[0]);
                self.event(pc, Op::TryEnter { lock });
            }
            Meaning::Wait => self.event(pc, Op::Wait),
            Meaning::Same => {}
            Meaning::Plain | Meaning::Synchronized(_) => self.plain_call(pc, site, &args),
        }
    }

    fn plain_call(&mut self, pc: u32, site: SiteId, args: &[Value]) {
        let key = self.machine.tables.sites[site.0 as usize];
        let (site, values) = match self.called_lambda(&key, args) {
            Some(direct) => direct,
            None => (self.refined(site, &key, args), args.to_vec()),
        };
        let first = self.entries.len() as u32;
        self.entries.extend(values);
        self.event(pc, Op::Call { site, args: first });
    }

    /// A call of a lambda that was made in this method is a call of the method behind it.
    fn called_lambda(&self, key: &SiteKey, args: &[Value]) -> Option<(SiteId, Vec<Value>)> {
        let receiver = args.first().filter(|_| key.kind == CallKind::Interface)?;
        let Root::Lambda(pc) = receiver.place.root() else { return None };
        let lambda = self.lambdas.get(&pc).filter(|l| l.method == key.name)?;
        let given = args[1..].iter();
        Some((lambda.site, lambda.captured.iter().chain(given).copied().collect()))
    }

    /// The site with the receiver's own class, when that is exactly known.
    fn refined(&mut self, site: SiteId, key: &SiteKey, args: &[Value]) -> SiteId {
        let by_class = matches!(key.kind, CallKind::Virtual | CallKind::Interface);
        match args.first().map(|v| v.class) {
            Some(class) if by_class && class.exact => {
                let class = class.class.unwrap_or(key.class);
                let exact = SiteKey { kind: CallKind::Virtual, exact: true, class, ..*key };
                self.machine.tables.site(exact)
            }
            _ => site,
        }
    }
}

/// Constants and values that nothing is known about do not carry anything along.
fn is_followed(origin: Origin) -> bool {
    !matches!(origin.get(), Root::Unknown | Root::Int(_) | Root::Text(_) | Root::Class(_))
}
