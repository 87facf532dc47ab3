//! The abstract stack machine: what every local and stack slot denotes at every point.
//!
//! Class files often have no table of local variables, and need none here: what counts is which
//! value a slot holds, not what it was called. Copies are followed (`v = this.f` makes `v` denote
//! `this.f`), casts are transparent, and where two paths bring different values together a phi
//! stands for either. Blocks are visited in reverse postorder until their entry states no longer
//! change; a slot changes at most twice, from its first value to the phi. Code with loops runs
//! twice: the second time the phis at the heads of the loops are known from the start, so that no
//! value from before the loop is joined with its own phi further down.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::body::SiteId;
use crate::bytecode::{Insn, Shuffle};
use crate::cfg::Cfg;
use crate::expr::{LockExpr, Origin, Root, Selector};
use crate::tables::Tables;
use crate::values::{Meaning, Shape, Type, Value};

/// The state of the machine.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Env {
    /// The locals.
    pub locals: Vec<Value>,
    /// The stack, top last.
    pub stack: Vec<Value>,
}

impl Env {
    fn pop(&mut self) -> Value {
        // A stack that is too short is damaged code; unknown values make no lock of it.
        self.stack.pop().unwrap_or(Value::UNKNOWN)
    }

    fn pop_slots(&mut self, slots: u8) -> Value {
        (0..slots).fold(Value::UNKNOWN, |_, _| self.pop())
    }

    fn push_slots(&mut self, value: Value, slots: u8) {
        if slots > 0 {
            self.stack.push(value);
        }
        if slots > 1 {
            self.stack.push(Value::UNKNOWN);
        }
    }

    fn set(&mut self, local: u16, value: Value) {
        if let Some(slot) = self.locals.get_mut(usize::from(local)) {
            *slot = value;
        }
    }

    /// What a local holds.
    pub fn local(&self, local: u16) -> Value {
        self.locals.get(usize::from(local)).copied().unwrap_or(Value::UNKNOWN)
    }

    /// The top of the stack, left there.
    pub fn top(&self) -> Value {
        self.stack.last().copied().unwrap_or(Value::UNKNOWN)
    }

    /// The value `below` slots under the top, left there.
    pub fn peek(&self, below: usize) -> Value {
        let at = self.stack.len().checked_sub(below + 1);
        at.map_or(Value::UNKNOWN, |i| self.stack[i])
    }

    /// The arguments on the stack, one for each, left there.
    pub fn arguments(&self, slots: &[u8]) -> Vec<Value> {
        let total: usize = slots.iter().map(|&s| usize::from(s)).sum();
        let mut at = self.stack.len().saturating_sub(total);
        let mut arguments = Vec::with_capacity(slots.len());
        for &width in slots {
            arguments.push(self.stack.get(at).copied().unwrap_or(Value::UNKNOWN));
            at += usize::from(width);
        }
        arguments
    }
}

/// Phis are numbered by block and slot; stack slots are counted from here.
const STACK_SLOT: u32 = 1 << 16;

/// The shapes of a class's call sites, made when first needed.
#[derive(Default)]
pub struct Shapes(Vec<Option<Shape>>);

impl Shapes {
    /// The shape of a site.
    pub fn get(&mut self, site: SiteId, tables: &mut Tables<'_>) -> &Shape {
        let index = site.0 as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index].get_or_insert_with(|| {
            let key = tables.sites[index];
            let text = |n: crate::expr::Name| tables.names.name(n.0).to_vec();
            let (class, name, desc) = (text(key.class), text(key.name), text(key.desc));
            let receiver = key.kind != crate::body::CallKind::Static;
            Shape::new(&class, &name, &desc, receiver, tables)
        })
    }
}

/// The machine for one method.
pub struct Machine<'m, 'a> {
    /// The blocks.
    pub cfg: &'m Cfg,
    /// The numbering of the class.
    pub tables: &'m mut Tables<'a>,
    /// The shapes of its sites.
    pub shapes: &'m mut Shapes,
    /// The state at the start of each block that can be reached.
    pub entry: Vec<Option<Env>>,
    phis: HashMap<(u32, u32), u32>,
    /// The position of each block in reverse postorder.
    ranks: Vec<u32>,
    /// Entry states of the first run, at the heads of loops.
    heads: Vec<Option<Env>>,
}

/// Blocks that are to be visited, in reverse postorder.
#[derive(Default)]
struct Work(BinaryHeap<Reverse<(u32, u32)>>);

impl Work {
    fn push(&mut self, rank: u32, block: u32) {
        self.0.push(Reverse((rank, block)));
    }

    /// The next block. One that was put on the list several times is visited once.
    fn pop(&mut self) -> Option<u32> {
        let Reverse(next) = self.0.pop()?;
        while self.0.peek() == Some(&Reverse(next)) {
            self.0.pop();
        }
        Some(next.1)
    }
}

impl<'m, 'a> Machine<'m, 'a> {
    /// Runs the machine to its fixed point.
    pub fn run(
        cfg: &'m Cfg,
        start: Env,
        tables: &'m mut Tables<'a>,
        shapes: &'m mut Shapes,
    ) -> Machine<'m, 'a> {
        let entry = vec![None; cfg.len()];
        let (ranks, heads) = cfg.ranks();
        let none = vec![None; cfg.len()];
        let phis = HashMap::new();
        let mut machine = Machine { cfg, tables, shapes, entry, phis, ranks, heads: none };
        if heads.is_empty() {
            machine.run_from(start);
            return machine;
        }
        machine.run_from(start.clone());
        let mut first = std::mem::replace(&mut machine.entry, vec![None; cfg.len()]);
        for head in heads {
            machine.heads[head as usize] = first[head as usize].take();
        }
        machine.run_from(start);
        machine
    }

    fn run_from(&mut self, start: Env) {
        self.entry[0] = Some(start);
        let mut work = Work::default();
        work.push(0, 0);
        while let Some(block) = work.pop() {
            self.visit(block, &mut work);
        }
    }

    fn visit(&mut self, block: u32, work: &mut Work) {
        let index = block as usize;
        let Some(mut env) = self.entry[index].clone() else { return };
        let cfg = self.cfg;
        let covered = !cfg.handlers[index].is_empty();
        if covered {
            self.flow_to_handlers(index, &env, work);
        }
        for (pc, insn) in cfg.insns_of(index) {
            self.step(*pc, insn, &mut env);
            if covered && stores(insn) {
                self.flow_to_handlers(index, &env, work);
            }
        }
        for &next in &cfg.next[index] {
            self.merge(next, &env, work);
        }
    }

    fn flow_to_handlers(&mut self, block: usize, env: &Env, work: &mut Work) {
        let cfg = self.cfg;
        for &handler in &cfg.handlers[block] {
            let caught = Value::of(Root::Value(cfg.pc_of(handler as usize)));
            let at_handler = Env { locals: env.locals.clone(), stack: vec![caught] };
            self.merge(handler, &at_handler, work);
        }
    }

    /// Joins a state into the entry of a block; a change puts the block on the list.
    fn merge(&mut self, block: u32, env: &Env, work: &mut Work) {
        let rank = self.ranks[block as usize];
        let Some(mut old) = self.entry[block as usize].take() else {
            self.entry[block as usize] = Some(self.first_entry(block, env));
            work.push(rank, block);
            return;
        };
        let mut changed = old.stack.len() > env.stack.len();
        old.stack.truncate(env.stack.len());
        for (slot, (a, b)) in old.locals.iter_mut().zip(&env.locals).enumerate() {
            changed |= self.join(block, slot as u32, a, b);
        }
        for (slot, (a, b)) in old.stack.iter_mut().zip(&env.stack).enumerate() {
            changed |= self.join(block, STACK_SLOT + slot as u32, a, b);
        }
        self.entry[block as usize] = Some(old);
        if changed {
            work.push(rank, block);
        }
    }

    /// The state that a block is entered with for the first time: the phis of a loop that the
    /// first run found are there already.
    fn first_entry(&self, block: u32, env: &Env) -> Env {
        let mut entry = env.clone();
        let Some(head) = &self.heads[block as usize] else { return entry };
        let slots = |env: &Env| env.locals.len();
        let locals = slots(&entry).min(slots(head)) as u32;
        for slot in 0..locals {
            let known = head.locals[slot as usize];
            self.put_phi(block, slot, &mut entry.locals[slot as usize], known);
        }
        for (slot, (value, known)) in entry.stack.iter_mut().zip(&head.stack).enumerate() {
            self.put_phi(block, STACK_SLOT + slot as u32, value, *known);
        }
        entry
    }

    fn put_phi(&self, block: u32, slot: u32, value: &mut Value, known: Value) {
        let Some(&phi) = self.phis.get(&(block, slot)) else { return };
        let phi = Root::Phi(phi);
        if known.place == LockExpr::root_only(phi) {
            value.place = known.place;
        }
        if known.origin == Origin::new(phi) {
            value.origin = known.origin;
        }
        if known.class != value.class {
            value.class = Type::default();
        }
    }

    fn join(&mut self, block: u32, slot: u32, old: &mut Value, new: &Value) -> bool {
        if old == new {
            return false;
        }
        let before = *old;
        if old.class != new.class {
            old.class = Type::default();
        }
        if old.place != new.place || old.origin != new.origin {
            let next = self.phis.len() as u32;
            let phi = Root::Phi(*self.phis.entry((block, slot)).or_insert(next));
            if old.place != new.place {
                old.place = LockExpr::root_only(phi);
            }
            if old.origin != new.origin {
                old.origin = Origin::new(phi);
            }
        }
        before != *old
    }

    /// The phis of a block that get a new value when control comes from a state like `env`.
    pub fn assigned_phis(&self, block: u32, env: &Env, stack: bool) -> Vec<u32> {
        let Some(entry) = &self.entry[block as usize] else { return Vec::new() };
        let locals = entry.locals.iter().zip(&env.locals).enumerate().map(|(i, p)| (i as u32, p));
        let slots = entry.stack.iter().zip(&env.stack).enumerate();
        let slots = slots.map(|(i, p)| (STACK_SLOT + i as u32, p)).filter(|_| stack);
        let changed = locals.chain(slots).filter(|(_, (a, b))| a.place != b.place);
        changed.filter_map(|(slot, _)| self.phis.get(&(block, slot)).copied()).collect()
    }

    /// The origins that come together in the phis of a block, from a state like `env`.
    pub fn phi_sources(&self, block: u32, env: &Env, stack: bool) -> Vec<(Origin, Origin)> {
        let Some(entry) = &self.entry[block as usize] else { return Vec::new() };
        let slots = entry.stack.iter().zip(&env.stack).filter(|_| stack);
        let pairs = entry.locals.iter().zip(&env.locals).chain(slots);
        let changed = pairs.filter(|(to, from)| to.origin != from.origin);
        changed.map(|(to, from)| (to.origin, from.origin)).collect()
    }

    /// The local variable that a phi stands for, and the block where it starts.
    pub fn phi_locals(&self) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        let locals = self.phis.iter().filter(|((_, slot), _)| *slot < STACK_SLOT);
        locals.map(|(&(block, slot), &phi)| (phi, block, slot as u16))
    }

    /// The effect of one instruction.
    pub fn step(&mut self, pc: u32, insn: &Insn, env: &mut Env) {
        let fresh = Value::of(Root::Value(pc));
        match insn {
            Insn::Load(n, slots) => env.push_slots(env.local(*n), *slots),
            Insn::Store(n, slots) => store(env, *n, *slots, fresh),
            Insn::Increment(n) => env.set(*n, fresh),
            Insn::Int(n) => env.stack.push(known(Root::Int(*n), fresh)),
            Insn::Text(n) => env.stack.push(Value::of(Root::Text(*n))),
            Insn::ClassObject(n) => env.stack.push(Value::of(Root::Class(*n))),
            Insn::Null => env.stack.push(Value::UNKNOWN),
            Insn::Compute(pops, pushes) => {
                env.pop_slots(*pops);
                env.push_slots(fresh, *pushes);
            }
            Insn::Shuffle(shuffle) => shuffle_stack(&mut env.stack, *shuffle),
            Insn::Cast(class) => {
                let value = env.pop();
                env.stack.push(if value.class.exact { value } else { value.typed(Some(*class)) });
            }
            Insn::GetField(field, class, slots) => {
                let place = env.pop().place.then(Selector::Field(*field));
                env.push_slots(placed(place, fresh).typed(*class), *slots);
            }
            Insn::GetStatic(field, class, slots) => {
                let place = LockExpr::root_only(Root::Static(*field));
                env.push_slots(placed(place, fresh).typed(*class), *slots);
            }
            Insn::PutField(_, slots) => {
                env.pop_slots(slots + 1);
            }
            Insn::PutStatic(_, slots) => {
                env.pop_slots(*slots);
            }
            Insn::GetElement => get_element(env, fresh),
            Insn::PutElement => {
                env.pop_slots(3);
            }
            Insn::New(class) => env.stack.push(Value::of(Root::New(pc)).exactly(*class)),
            Insn::Call(site) => self.call(pc, *site, env),
            Insn::Lambda { interface, captured, .. } => {
                env.pop_slots(captured.iter().sum());
                env.stack.push(Value::of(Root::Lambda(pc)).typed(Some(*interface)));
            }
            Insn::MonitorEnter | Insn::MonitorExit | Insn::Switch(_) => {
                env.pop();
            }
            Insn::Branch(pops, _) => {
                env.pop_slots(*pops);
            }
            Insn::Subroutine(_) => env.stack.push(Value::UNKNOWN),
            Insn::Jump(_) | Insn::SubroutineReturn | Insn::Return(_) | Insn::Throw => {}
        }
    }

    fn call(&mut self, pc: u32, site: SiteId, env: &mut Env) {
        let fresh = Value::of(Root::Value(pc));
        let shape = self.shapes.get(site, self.tables);
        let first = env.arguments(&shape.args).first().copied();
        env.pop_slots(shape.args.iter().sum());
        let result = match shape.meaning {
            Meaning::Same => Value { class: Type::default(), ..first.unwrap_or(Value::UNKNOWN) },
            Meaning::Synchronized(class) => Value::of(Root::New(pc)).exactly(class),
            Meaning::Plain | Meaning::Lock | Meaning::TryLock | Meaning::Unlock | Meaning::Wait => {
                fresh
            }
        };
        let result = if result.class.exact { result } else { result.typed(shape.class) };
        let origin = if result.origin == Origin::UNKNOWN { fresh.origin } else { result.origin };
        let result = Value { origin, ..placed(result.place, fresh).with_class(result.class) };
        env.push_slots(result, shape.result);
    }
}

impl Value {
    fn with_class(self, class: Type) -> Value {
        Value { class, ..self }
    }
}

/// A place, or the instruction's own value when the place is too long to be written down.
fn placed(place: LockExpr, fresh: Value) -> Value {
    if place.is_unknown() { fresh } else { Value { place, class: Type::default(), ..fresh } }
}

fn known(root: Root, fresh: Value) -> Value {
    let place = LockExpr::root_only(root);
    if place.is_unknown() { fresh } else { Value::of(root) }
}

fn store(env: &mut Env, local: u16, slots: u8, fresh: Value) {
    let value = env.pop_slots(slots);
    let value = if value.place.is_unknown() { fresh.with_class(value.class) } else { value };
    env.set(local, value);
    if slots > 1 {
        env.set(local + 1, Value::UNKNOWN);
    }
}

fn get_element(env: &mut Env, fresh: Value) {
    let index = env.pop().place;
    let array = env.pop().place;
    let root = if index.len() == 0 { index.root() } else { Root::Unknown };
    env.stack.push(placed(array.then(Selector::Element(root)), fresh));
}

fn stores(insn: &Insn) -> bool {
    matches!(insn, Insn::Store(..) | Insn::Increment(_))
}

fn shuffle_stack(stack: &mut Vec<Value>, shuffle: Shuffle) {
    // Which slots, counted from the top, are put back in which order.
    let (takes, puts): (usize, &[usize]) = match shuffle {
        Shuffle::Dup => (1, &[0, 0]),
        Shuffle::DupX1 => (2, &[0, 1, 0]),
        Shuffle::DupX2 => (3, &[0, 2, 1, 0]),
        Shuffle::Dup2 => (2, &[1, 0, 1, 0]),
        Shuffle::Dup2X1 => (3, &[1, 0, 2, 1, 0]),
        Shuffle::Dup2X2 => (4, &[1, 0, 3, 2, 1, 0]),
        Shuffle::Swap => (2, &[0, 1]),
    };
    let mut taken = [Value::UNKNOWN; 4];
    for slot in taken.iter_mut().take(takes) {
        *slot = stack.pop().unwrap_or(Value::UNKNOWN);
    }
    stack.extend(puts.iter().map(|&i| taken[i]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(shuffle: Shuffle) -> Vec<u32> {
        let mut stack: Vec<Value> = (1..=4).map(|n| Value::of(Root::Param(n))).collect();
        shuffle_stack(&mut stack, shuffle);
        let number = |v: &Value| (1..=4).find(|&n| v.place == LockExpr::param(n)).unwrap();
        stack.iter().map(number).collect()
    }

    #[test]
    fn the_stack_is_shuffled_as_the_machine_specification_says() {
        assert_eq!(shuffled(Shuffle::Dup), [1, 2, 3, 4, 4]);
        assert_eq!(shuffled(Shuffle::DupX1), [1, 2, 4, 3, 4]);
        assert_eq!(shuffled(Shuffle::DupX2), [1, 4, 2, 3, 4]);
        assert_eq!(shuffled(Shuffle::Dup2), [1, 2, 3, 4, 3, 4]);
        assert_eq!(shuffled(Shuffle::Dup2X1), [1, 3, 4, 2, 3, 4]);
        assert_eq!(shuffled(Shuffle::Dup2X2), [3, 4, 1, 2, 3, 4]);
        assert_eq!(shuffled(Shuffle::Swap), [1, 2, 4, 3]);
    }

    #[test]
    fn a_short_stack_gives_unknown_values() {
        let mut env = Env::default();
        assert_eq!(env.pop_slots(2), Value::UNKNOWN);
        assert_eq!(env.arguments(&[1, 2]), [Value::UNKNOWN; 2]);
    }
}
