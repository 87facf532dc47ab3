//! The end of a method: what is kept of it becomes its [`Body`].

use hashbrown::HashSet;

use super::{Flow, Graph, Returned, Variable, Writer, is_followed};
use crate::body::{Body, Event, NOT_KEPT, Op};
use crate::bytecode::Insn;
use crate::expr::{FieldId, LockExpr, Name, Origin, Root};

impl Writer<'_, '_> {
    /// Makes the result of the analysis.
    pub(super) fn finish(mut self, graph: Graph, parameters: &[(u16, Origin)]) -> Flow {
        if let Returned::One(place) = self.returned {
            self.flow.returns = Some(place);
        }
        self.flow.returns_class = self.returned_class.flatten();
        self.flow.captures.retain(|c| c.1.is_visible_outside());
        self.keep_fields();
        let matters = |e: &Event| {
            !matches!(
                e.op,
                Op::Define(_) | Op::SetField { .. } | Op::SetElement { .. } | Op::Escape { .. }
            )
        };
        let sets = self.head.synchronized && self.events.iter().any(is_set);
        if sets || self.events.iter().any(matters) || !self.made_lambdas.is_empty() {
            self.flow.body = Some(Box::new(self.body(graph, parameters)));
        } else if !self.head.constructor {
            let set = |e: &Event| {
                if let Op::SetField { field, .. } = e.op { Some(field) } else { None }
            };
            self.flow.sets = self.events.iter().filter_map(set).collect();
        }
        self.flow
    }

    /// Decides which reads of fields are kept, and for which assignments the expression is. In code
    /// that locks all are: they are what the lock protects. Elsewhere only fields matter that are
    /// both read and assigned in the method, and that other threads are meant to see.
    fn keep_fields(&mut self) {
        let enters = |e: &Event| matches!(e.op, Op::Enter { .. } | Op::TryEnter { .. });
        let locks = self.head.synchronized || self.events.iter().any(enters);
        let (mut got, mut set) = (HashSet::new(), HashSet::new());
        for event in &self.events {
            if let Op::GetField { field, .. } = event.op {
                got.insert(field);
            } else if let Op::SetField { field, .. } = event.op {
                set.insert(field);
            }
        }
        let mut events = std::mem::take(&mut self.events);
        for event in &mut events {
            let both = |field: &FieldId| got.contains(field) && set.contains(field);
            let wanted = |field: FieldId, place: u32| {
                locks || (both(&field) && self.is_shared(field, place))
            };
            if let Op::GetField { field, place } = event.op {
                // What is not wanted becomes a definition of nothing, which is dropped later.
                event.op = match wanted(field, place) {
                    true => Op::GetField { field, place: self.kept(place) },
                    false => Op::Define(0),
                };
            } else if let Op::SetField { field, place } = event.op {
                let place = if wanted(field, place) { self.kept(place) } else { NOT_KEPT };
                event.op = Op::SetField { field, place };
            } else if let Op::SetElement { place } = event.op {
                let place = if locks { self.kept(place) } else { NOT_KEPT };
                event.op = Op::SetElement { place };
            }
        }
        self.events = events;
    }

    /// Whether other threads are meant to see a field. Of fields of other classes nothing is known.
    fn is_shared(&self, field: FieldId, place: u32) -> bool {
        let tables = &*self.machine.tables;
        tables.volatile.contains(&field)
            || self.fields[place as usize].place.root() == Root::Static(field)
            || !tables.own.contains(&field)
    }

    fn kept(&mut self, field: u32) -> u32 {
        self.entry(self.fields[field as usize])
    }

    /// Drops the definitions and phis that no lock or argument depends on.
    fn body(&mut self, graph: Graph, parameters: &[(u16, Origin)]) -> Body {
        let (mut blocks, mut edges, kills) = graph;
        let used: HashSet<u32> = self.entries.iter().flat_map(|v| v.place.root_codes()).collect();
        let needed = |e: &Event| match e.op {
            Op::Define(root) => used.contains(&root),
            Op::Enter { .. }
            | Op::Exit { .. }
            | Op::TryEnter { .. }
            | Op::Wait
            | Op::Call { .. }
            | Op::GetField { .. }
            | Op::SetField { .. }
            | Op::SetElement { .. }
            | Op::Escape { .. } => true,
        };
        let kept: Vec<bool> = self.events.iter().map(needed).collect();
        let before: Vec<u32> = running_count(&kept);
        blocks.iter_mut().for_each(|b| b.events = before[b.events as usize]);
        let mut keep = kept.iter();
        self.events.retain(|_| keep.next().copied().unwrap_or(false));
        let phi_used: Vec<bool> = kills
            .iter()
            .map(|&k| used.contains(&LockExpr::root_only(Root::Phi(k)).root_code()))
            .collect();
        let phis_before = running_count(&phi_used);
        edges.iter_mut().for_each(|e| e.kills = phis_before[e.kills as usize]);
        let kills = kills.into_iter().zip(phi_used).filter(|k| k.1).map(|k| k.0).collect();
        let variables = self.variables(&used, parameters);
        let entries = std::mem::take(&mut self.entries);
        let sources = std::mem::take(&mut self.sources);
        Body {
            blocks: blocks.into(),
            events: std::mem::take(&mut self.events).into(),
            edges: edges.into(),
            kills,
            places: entries.iter().map(|v| v.place).collect(),
            origins: entries.iter().map(|v| v.origin).collect(),
            types: entries.iter().map(|v| v.class.class).collect(),
            sources: sorted(sources.into_iter().filter(|s| is_followed(s.1) && s.0 != s.1)),
            decisions: sorted(std::mem::take(&mut self.decisions).into_iter()),
            returned: sorted(self.returned_values.iter().copied().filter(|&v| is_followed(v))),
            variables,
            lambdas: std::mem::take(&mut self.made_lambdas).into(),
        }
    }

    /// The names of those variables that a lock or an argument starts with.
    fn variables(
        &self,
        used: &HashSet<u32>,
        parameters: &[(u16, Origin)],
    ) -> Box<[(Origin, Name)]> {
        let is_used = |root: Root| used.contains(&LockExpr::root_only(root).root_code());
        let mut named: Vec<(Origin, Name)> = Vec::new();
        if self.head.variables.is_empty() {
            return named.into();
        }
        let find = |slot: u16, pc: u32| {
            let fits = |v: &&Variable| v.slot == slot && v.start <= pc && pc < v.end;
            self.head.variables.iter().find(fits).map(|v| v.name)
        };
        let later = |slot: u16, pc: u32| {
            let after = self.head.variables.iter().filter(|v| v.slot == slot && v.start >= pc);
            after.min_by_key(|v| v.start).map(|v| v.name)
        };
        let used_parameters = parameters.iter().filter(|p| is_used(p.1.get()));
        named.extend(used_parameters.filter_map(|&(slot, value)| Some((value, find(slot, 0)?))));
        let cfg = self.machine.cfg;
        for (phi, block, slot) in self.machine.phi_locals() {
            let root = Root::Phi(phi);
            let pc = cfg.pc_of(block as usize);
            let name = find(slot, pc).or_else(|| later(slot, pc)).filter(|_| is_used(root));
            named.extend(name.map(|name| (Origin::new(root), name)));
        }
        for (i, &(at, _)) in cfg.insns.iter().enumerate() {
            let mut after = cfg.insns.iter().skip(i + 1);
            let stored = after.find(|insn| !matches!(insn.1, Insn::Cast(_)));
            let Some(&(next, Insn::Store(slot, _))) = stored else { continue };
            // A variable starts after the store, which has one to four bytes.
            let name = (1..=4).find_map(|bytes| find(slot, next + bytes));
            for root in [Root::Value(at), Root::New(at)].into_iter().filter(|&r| is_used(r)) {
                named.extend(name.map(|name| (Origin::new(root), name)));
            }
        }
        named.sort_unstable();
        named.dedup_by_key(|n| n.0);
        named.into()
    }
}
fn is_set(event: &Event) -> bool {
    matches!(event.op, Op::SetField { .. } | Op::SetElement { .. } | Op::GetField { .. })
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Box<[T]> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items.into()
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
