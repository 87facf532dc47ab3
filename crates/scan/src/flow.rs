//! From bytecode to a [`Body`]: runs the [`Machine`] and writes down what matters to locks, with
//! every lock and argument as a [`Place`].
//!
//! The paper's statements and what they become:
//! `SYNC e sb` is `Enter` and `Exit`; `CALL e.m(p)` is `Call`; `x := y` is `Define` (the
//! instruction that computes a root runs again), a phi killed on an edge, `SetField` or
//! `SetElement`.

use hashbrown::{HashMap, HashSet};

use crate::body::{Block, Body, CallKind, Edge, Event, Lambda, Op, Reach, SiteId, SiteKey, Style};
use crate::bytecode::Insn;
use crate::cfg::{Cfg, reach};
use crate::machine::{Env, Machine, Shapes};
use crate::place::{FieldId, Name, Place, Root};
use crate::tables::Tables;
use crate::values::{Meaning, Value};

/// What a method's code tells, besides its body.
#[derive(Default, Debug)]
pub struct Flow {
    /// The body; none when nothing in it matters.
    pub body: Option<Box<Body>>,
    /// What every return gives back, when it is always the same place.
    pub returns: Option<Place>,
    /// Parameters that are stored somewhere, by bit.
    pub stored: u32,
    /// Fields of `this` that a constructor sets to one of its parameters.
    pub captures: Vec<(FieldId, Place)>,
    /// Fields of `this` that are set to a fresh object.
    pub fills: Vec<(FieldId, Place)>,
    /// Fields that get a reference, with its class where that is exactly known.
    pub stores: Vec<(FieldId, Option<Name>)>,
    /// Classes of which objects are made.
    pub made: Vec<Name>,
}

/// Analyses a method. `constructor` says whether its stores to `this` are captures.
pub fn analyse(
    cfg: &Cfg,
    lines: &[(u32, u16)],
    start: Env,
    constructor: bool,
    tables: &mut Tables<'_>,
    shapes: &mut Shapes,
) -> Flow {
    let machine = Machine::run(cfg, start, tables, shapes);
    let reached = reach(cfg);
    let mut writer = Writer {
        machine,
        lines,
        constructor,
        reach: Reach::Always,
        flow: Flow::default(),
        events: Vec::new(),
        places: Vec::new(),
        lambdas: HashMap::new(),
        made_lambdas: Vec::new(),
        returned: Returned::Nothing,
    };
    let (blocks, edges, kills) = writer.write(&reached);
    writer.finish(blocks, edges, kills)
}

/// What the returns seen so far have in common.
enum Returned {
    Nothing,
    One(Place),
    Several,
}

struct LambdaValue {
    site: SiteId,
    method: Name,
    captured: Vec<Place>,
}

struct Writer<'m, 'a> {
    machine: Machine<'m, 'a>,
    lines: &'m [(u32, u16)],
    constructor: bool,
    /// Which runs come to the current block.
    reach: Reach,
    flow: Flow,
    events: Vec<Event>,
    places: Vec<Place>,
    lambdas: HashMap<u32, LambdaValue>,
    made_lambdas: Vec<Lambda>,
    returned: Returned,
}

impl Writer<'_, '_> {
    fn write(&mut self, reached: &[Reach]) -> (Vec<Block>, Vec<Edge>, Vec<u32>) {
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
                edges.push(Edge { to: next, kills: kills.len() as u32 });
            }
            blocks[block].handlers = edges.len() as u32;
            for &handler in &cfg.handlers[block] {
                let mut phis = HashSet::new();
                for env in &caught {
                    phis.extend(self.machine.assigned_phis(handler, env, false));
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
                self.event(pc, Op::SetField(*field));
                self.escape(pc, env.top());
            }
            Insn::PutStatic(field, _) => {
                self.flow.stores.extend(stored_class(*field, env.top()));
                self.store(env.top());
                self.event(pc, Op::SetField(*field));
                self.escape(pc, env.top());
            }
            Insn::PutElement => {
                self.store(env.top());
                self.event(pc, Op::SetElement);
                self.escape(pc, env.top());
            }
            Insn::New(class) => {
                self.flow.made.push(*class);
                self.define(pc, Root::New(pc));
            }
            Insn::Compute(_, pushes) if *pushes > 0 => self.define(pc, Root::Value(pc)),
            Insn::GetElement | Insn::GetField(..) | Insn::Store(..) | Insn::Increment(_) => {
                self.define(pc, Root::Value(pc));
            }
            Insn::Return(1) => self.give_back(env.top().place),
            Insn::Throw => self.store(env.top()),
            Insn::Load(..)
            | Insn::Int(_)
            | Insn::Text(_)
            | Insn::ClassObject(_)
            | Insn::Null
            | Insn::Compute(..)
            | Insn::Shuffle(_)
            | Insn::Cast(_)
            | Insn::GetStatic(..)
            | Insn::Jump(_)
            | Insn::Branch(..)
            | Insn::Switch(_)
            | Insn::Subroutine(_)
            | Insn::SubroutineReturn
            | Insn::Return(_) => {}
        }
    }

    fn line(&self, pc: u32) -> u16 {
        let after = self.lines.partition_point(|&(start, _)| start <= pc);
        after.checked_sub(1).map_or(0, |i| self.lines[i].1)
    }

    fn event(&mut self, pc: u32, op: Op) {
        let line = self.line(pc);
        self.events.push(Event { pc: pc as u16, line, reach: self.reach, op });
    }

    fn place(&mut self, place: Place) -> u32 {
        self.places.push(place);
        self.places.len() as u32 - 1
    }

    fn lock(&mut self, pc: u32, value: Value, style: Style) {
        let lock = self.place(value.place);
        self.event(pc, Op::Enter { lock, style });
    }

    fn unlock(&mut self, pc: u32, value: Value, style: Style) {
        let lock = self.place(value.place);
        self.event(pc, Op::Exit { lock, style });
    }

    fn define(&mut self, pc: u32, root: Root) {
        self.event(pc, Op::Define(Place::root_only(root).root_code()));
    }

    fn escape(&mut self, pc: u32, value: Value) {
        if matches!(value.place.root(), Root::New(_)) {
            let place = self.place(value.place);
            self.event(pc, Op::Escape { place });
        }
    }

    fn store(&mut self, value: Value) {
        if let (Root::Param(n @ 0..32), 0) = (value.place.root(), value.place.len()) {
            self.flow.stored |= 1 << n;
        }
    }

    fn put_field(&mut self, field: FieldId, object: Value, value: Value) {
        self.flow.stores.extend(stored_class(field, value));
        self.store(value);
        let fresh = value.place.len() == 0 && matches!(value.place.root(), Root::New(_));
        if fresh && object.place == Place::param(0) {
            self.flow.fills.push((field, value.place));
        }
        if self.constructor && object.place == Place::param(0) {
            // A second store makes the first one worthless.
            let known = self.flow.captures.iter().position(|c| c.0 == field);
            match known {
                Some(i) => self.flow.captures[i].1 = Place::UNKNOWN,
                None => self.flow.captures.push((field, value.place)),
            }
        }
    }

    fn give_back(&mut self, place: Place) {
        self.returned = match self.returned {
            Returned::Nothing => Returned::One(place),
            Returned::One(old) if old == place => Returned::One(place),
            Returned::One(_) | Returned::Several => Returned::Several,
        };
    }

    fn lambda(&mut self, pc: u32, site: SiteId, interface: Name, method: Name, captured: &[Value]) {
        let args = self.places.len() as u32;
        self.places.extend(captured.iter().map(|v| v.place));
        for &value in captured {
            self.store(value);
            self.escape(pc, value);
        }
        let count = captured.len() as u16;
        self.made_lambdas.push(Lambda { pc: pc as u16, captured: count, site, args, interface });
        let captured = captured.iter().map(|v| v.place).collect();
        self.lambdas.insert(pc, LambdaValue { site, method, captured });
    }

    fn call(&mut self, pc: u32, site: SiteId, env: &Env) {
        let shape = self.machine.shapes.get(site, self.machine.tables);
        let args = env.arguments(&shape.args);
        match shape.meaning {
            Meaning::Lock => self.lock(pc, args[0], Style::Explicit),
            Meaning::Unlock => self.unlock(pc, args[0], Style::Explicit),
            Meaning::TryLock => {
                let lock = self.place(args[0].place);
                self.event(pc, Op::TryEnter { lock });
            }
            Meaning::Wait => self.event(pc, Op::Wait),
            Meaning::Same => {}
            Meaning::Plain | Meaning::Synchronized(_) => self.plain_call(pc, site, &args),
        }
    }

    fn plain_call(&mut self, pc: u32, site: SiteId, args: &[Value]) {
        let key = self.machine.tables.sites[site.0 as usize];
        let (site, places) = match self.called_lambda(&key, args) {
            Some(direct) => direct,
            None => (self.refined(site, &key, args), args.iter().map(|v| v.place).collect()),
        };
        let first = self.places.len() as u32;
        self.places.extend(places);
        self.event(pc, Op::Call { site, args: first });
    }

    /// A call of a lambda that was made in this method is a call of the method behind it.
    fn called_lambda(&self, key: &SiteKey, args: &[Value]) -> Option<(SiteId, Vec<Place>)> {
        let receiver = args.first().filter(|_| key.kind == CallKind::Interface)?;
        let Root::Lambda(pc) = receiver.place.root() else { return None };
        let lambda = self.lambdas.get(&pc).filter(|l| l.method == key.name)?;
        let given = args[1..].iter().map(|v| v.place);
        Some((lambda.site, lambda.captured.iter().copied().chain(given).collect()))
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

    fn finish(mut self, blocks: Vec<Block>, edges: Vec<Edge>, kills: Vec<u32>) -> Flow {
        if let Returned::One(place) = self.returned {
            self.flow.returns = Some(place);
        }
        self.flow.captures.retain(|c| c.1.is_visible_outside());
        let matters = |e: &Event| {
            !matches!(e.op, Op::Define(_) | Op::SetField(_) | Op::SetElement | Op::Escape { .. })
        };
        if self.events.iter().any(matters) || !self.made_lambdas.is_empty() {
            self.flow.body = Some(Box::new(self.body(blocks, edges, kills)));
        }
        self.flow
    }

    /// Drops the definitions and phis that no lock or argument depends on.
    fn body(&mut self, mut blocks: Vec<Block>, mut edges: Vec<Edge>, kills: Vec<u32>) -> Body {
        let used: HashSet<u32> = self.places.iter().flat_map(Place::root_codes).collect();
        let needed = |e: &Event| match e.op {
            Op::Define(root) => used.contains(&root),
            Op::Enter { .. }
            | Op::Exit { .. }
            | Op::TryEnter { .. }
            | Op::Wait
            | Op::Call { .. }
            | Op::SetField(_)
            | Op::SetElement
            | Op::Escape { .. } => true,
        };
        let kept: Vec<bool> = self.events.iter().map(needed).collect();
        let before: Vec<u32> = running_count(&kept);
        blocks.iter_mut().for_each(|b| b.events = before[b.events as usize]);
        let mut keep = kept.iter();
        self.events.retain(|_| keep.next().copied().unwrap_or(false));
        let phi_used: Vec<bool> = kills
            .iter()
            .map(|&k| used.contains(&Place::root_only(Root::Phi(k)).root_code()))
            .collect();
        let phis_before = running_count(&phi_used);
        edges.iter_mut().for_each(|e| e.kills = phis_before[e.kills as usize]);
        let kills = kills.into_iter().zip(phi_used).filter(|k| k.1).map(|k| k.0).collect();
        Body {
            blocks: blocks.into(),
            events: std::mem::take(&mut self.events).into(),
            edges: edges.into(),
            kills,
            places: std::mem::take(&mut self.places).into(),
            lambdas: std::mem::take(&mut self.made_lambdas).into(),
        }
    }
}

/// How many are true before each position.
fn running_count(flags: &[bool]) -> Vec<u32> {
    let mut count = 0;
    let mut counts: Vec<u32> = Vec::with_capacity(flags.len() + 1);
    counts.push(0);
    counts.extend(flags.iter().map(|&flag| {
        count += u32::from(flag);
        count
    }));
    counts
}

/// The class of a stored reference; null says nothing about the field.
fn stored_class(field: FieldId, value: Value) -> Option<(FieldId, Option<Name>)> {
    let class = value.class;
    let null = value.place.is_unknown() && class.class.is_none();
    (!null).then_some((field, class.class.filter(|_| class.exact)))
}
