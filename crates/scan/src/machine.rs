//! The abstract stack machine: what every local and stack slot denotes at every point.
//!
//! Class files often have no table of local variables, and need none here: what counts is which
//! value a slot holds, not what it was called. Copies are followed (`v = this.f` makes `v` denote
//! `this.f`), casts are transparent, and where two paths bring different values together a phi
//! stands for either. Blocks are visited until their entry states no longer change; a slot
//! changes at most twice, from its first value to the phi.

use hashbrown::HashMap;

use crate::body::SiteId;
use crate::bytecode::{Insn, Shuffle};
use crate::cfg::Cfg;
use crate::place::{Place, Root, Step};
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

    fn local(&self, local: u16) -> Value {
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
            let text = |n: crate::place::Name| tables.names.name(n.0).to_vec();
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
        let mut machine = Machine { cfg, tables, shapes, entry, phis: HashMap::new() };
        machine.entry[0] = Some(start);
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            machine.visit(block, &mut work);
        }
        machine
    }

    fn visit(&mut self, block: u32, work: &mut Vec<u32>) {
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

    fn flow_to_handlers(&mut self, block: usize, env: &Env, work: &mut Vec<u32>) {
        let cfg = self.cfg;
        for &handler in &cfg.handlers[block] {
            let caught = Value::of(Root::Value(cfg.pc_of(handler as usize)));
            let at_handler = Env { locals: env.locals.clone(), stack: vec![caught] };
            self.merge(handler, &at_handler, work);
        }
    }

    /// Joins a state into the entry of a block; a change puts the block on the list.
    fn merge(&mut self, block: u32, env: &Env, work: &mut Vec<u32>) {
        let Some(mut old) = self.entry[block as usize].take() else {
            self.entry[block as usize] = Some(env.clone());
            work.push(block);
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
        if changed && !work.contains(&block) {
            work.push(block);
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
        if old.place != new.place {
            let next = self.phis.len() as u32;
            let phi = *self.phis.entry((block, slot)).or_insert(next);
            old.place = Place::root_only(Root::Phi(phi));
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
                let place = env.pop().place.then(Step::Field(*field));
                env.push_slots(placed(place, fresh).typed(*class), *slots);
            }
            Insn::GetStatic(field, class, slots) => {
                env.push_slots(Value::of(Root::Static(*field)).typed(*class), *slots);
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
            Meaning::Same => Value { place: first.map_or(Place::UNKNOWN, |v| v.place), ..fresh },
            Meaning::Synchronized(class) => Value::of(Root::New(pc)).exactly(class),
            Meaning::Plain | Meaning::Lock | Meaning::TryLock | Meaning::Unlock | Meaning::Wait => {
                fresh
            }
        };
        let result = if result.class.exact { result } else { result.typed(shape.class) };
        env.push_slots(placed(result.place, fresh).with_class(result.class), shape.result);
    }
}

impl Value {
    fn with_class(self, class: Type) -> Value {
        Value { class, ..self }
    }
}

/// A place, or the instruction's own value when the place is too long to be written down.
fn placed(place: Place, fresh: Value) -> Value {
    if place.is_unknown() { fresh } else { Value { place, class: Type::default() } }
}

fn known(root: Root, fresh: Value) -> Value {
    placed(Place::root_only(root), fresh)
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
    env.stack.push(placed(array.then(Step::Element(root)), fresh));
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
        let number = |v: &Value| (1..=4).find(|&n| v.place == Place::param(n)).unwrap();
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
