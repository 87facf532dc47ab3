//! The intraprocedural dataflow analysis (paper, section 4.2 with the extension of 4.3): runs the
//! transfer functions of [`crate::state`] over the blocks of a method until nothing changes.

use crate::body::{Body, Event, Op, SiteId, Style};
use crate::composite::{Composite, Composites};
use crate::expr::{LockExpr, Root};
use crate::held::{At, LocksHeld, Taking, World, is_released, lambda_of, own_lock};
use crate::helpers::Helpers;
use crate::program::MethodId;
use crate::roles::Roles;
use crate::stale::{Stale, Uses};
use crate::state::{Context, Released, State, Twice};

/// What the analysis of one method found.
#[derive(Default, Debug)]
pub struct Facts {
    /// Locks taken twice, within a context or not.
    pub twice: Vec<Twice>,
    /// The locks held at each call that is made with any, by the number of the event.
    pub held_at: Vec<(u32, Box<[Context]>)>,
    /// Broken composite actions on collections.
    pub composites: Vec<Composite>,
    /// Values that are stale when they are used.
    pub stale: Vec<Stale>,
    /// Whether the method waits or sleeps while it holds a lock.
    pub pauses: bool,
    /// How many pairs of different locks were left out.
    pub cut: usize,
}

impl Facts {
    /// The locks held at a call, outermost first.
    pub fn held_at(&self, event: u32) -> &[Context] {
        let found = self.held_at.binary_search_by_key(&event, |h| h.0);
        found.map_or(&[], |i| &self.held_at[i].1)
    }
}

/// What stays the same for all methods.
pub struct Analysis<'w> {
    /// The program.
    pub world: &'w World<'w>,
    /// LOCKSHELD.
    pub held: &'w LocksHeld,
    /// What calls on collections mean.
    pub roles: &'w Roles,
    /// What helper methods do.
    pub helpers: &'w Helpers,
    /// Whether two different locks may be the witnesses.
    pub pairs: bool,
}

/// More rounds than any method needs: a guard against facts that do not settle.
const ROUNDS: usize = 20_000;

impl Analysis<'_> {
    /// Analyses a method. Most give nothing.
    pub fn run(&self, method: MethodId) -> Option<Box<Facts>> {
        let body = self.world.program.method(method).body.as_ref()?;
        if body.block_count() == 0 || !self.matters(method, body) {
            return None;
        }
        let Analysis { world, held, roles, helpers, .. } = *self;
        let composites = Composites {
            program: world.program,
            calls: world.calls,
            roles,
            helpers,
            body,
            method,
            found: Vec::new(),
        };
        let uses = Uses { world, held, body, all: Vec::new() };
        let mut run = Run { analysis: self, body, composites, uses, facts: Facts::default() };
        run.run_to_fixed_point(self.start(method));
        let mut facts = run.facts;
        facts.held_at.sort_by_key(|h| h.0);
        facts.composites = run.composites.judge();
        run.uses.connect(&mut facts.twice);
        facts.stale = run.uses.stale(&facts.twice);
        let Facts { twice, held_at, composites, .. } = &facts;
        let found = !twice.is_empty() || !held_at.is_empty() || !composites.is_empty();
        (found || facts.pauses).then(|| Box::new(facts))
    }

    /// Methods that take no lock and call none that does need no analysis.
    fn matters(&self, method: MethodId, body: &Body) -> bool {
        let relevant = |e: &Event| match e.op {
            Op::Enter { .. } | Op::TryEnter { .. } => true,
            Op::Call { site, .. } => {
                let callees = self.world.calls.of(site);
                let helps = || callees.single().is_some_and(|m| !self.helpers.of(m).is_empty());
                self.held.any_at(site) || self.roles.any(site) || callees.lambdas || helps()
            }
            Op::GetField { .. } => true,
            Op::Exit { .. }
            | Op::Wait
            | Op::Define(_)
            | Op::SetField { .. }
            | Op::SetElement { .. }
            | Op::Escape { .. } => false,
        };
        self.world.program.method(method).synchronized || body.events.iter().any(relevant)
    }

    /// A synchronized method is one block that is synchronized on its receiver or class.
    fn start(&self, method: MethodId) -> State {
        let program = self.world.program;
        let mut state = State::new();
        if program.method(method).synchronized {
            let at = At { pc: 0, line: program.method(method).line };
            state.enter(Context { lock: own_lock(program, method), style: Style::Monitor, at });
        }
        state
    }
}

struct Run<'r> {
    analysis: &'r Analysis<'r>,
    body: &'r Body,
    composites: Composites<'r>,
    uses: Uses<'r>,
    facts: Facts,
}

impl Run<'_> {
    fn run_to_fixed_point(&mut self, start: State) {
        let mut entry: Vec<Option<State>> = vec![None; self.body.block_count()];
        entry[0] = Some(start);
        let mut work = vec![0u32];
        for _ in 0..ROUNDS {
            let Some(block) = work.pop() else { return };
            let Some(state) = entry[block as usize].clone() else { continue };
            self.block(block as usize, state, &mut entry, &mut work);
        }
    }

    fn block(
        &mut self,
        block: usize,
        mut state: State,
        entry: &mut [Option<State>],
        work: &mut Vec<u32>,
    ) {
        let body = self.body;
        self.flow(body.handlers_of(block), &state, entry, work);
        let first = body.blocks[block].events;
        for (i, event) in body.events_of(block).iter().enumerate() {
            self.event(first + i as u32, event, &mut state);
            // An exception leaves a call after its locks were taken and given back, but a lock
            // instruction before it did anything.
            if matches!(event.op, Op::Call { .. }) {
                self.flow(body.handlers_of(block), &state, entry, work);
            }
        }
        if body.edges_of(block).is_empty() {
            self.leave(state);
        } else {
            self.flow(body.edges_of(block), &state, entry, work);
        }
    }

    /// Carries a state along edges, without the locks whose phi changes on the way.
    fn flow(
        &self,
        edges: std::ops::Range<usize>,
        state: &State,
        entry: &mut [Option<State>],
        work: &mut Vec<u32>,
    ) {
        for edge in edges {
            let to = self.body.edges[edge].to;
            let mut state = state.clone();
            for &phi in self.body.kills_of(edge) {
                state.define(LockExpr::root_only(Root::Phi(phi)).root_code());
            }
            let changed = match &mut entry[to as usize] {
                Some(old) => old.join(&state),
                empty @ None => {
                    *empty = Some(state);
                    true
                }
            };
            if changed && !work.contains(&to) {
                work.push(to);
            }
        }
    }

    /// The end of the method: every monitor is given back.
    fn leave(&mut self, mut state: State) {
        while state.frames.len() > 1 {
            let Context { lock, style, .. } = state.frames[state.frames.len() - 1].context;
            if style == Style::Monitor {
                self.exit(&mut state, lock, style);
            } else {
                state.frames.pop();
            }
        }
    }

    fn exit(&mut self, state: &mut State, lock: LockExpr, style: Style) {
        for context in state.contexts().filter(|c| c.style == style) {
            self.uses.add(Released { lock: context.lock, taking: Taking::here(context.at) });
        }
        let twice = &mut self.facts.twice;
        let cut = &mut self.facts.cut;
        let pairs = self.analysis.pairs && *cut == 0;
        state.exit(lock, style, pairs, &mut |t| note(twice, cut, t));
    }

    fn event(&mut self, number: u32, event: &Event, state: &mut State) {
        match event.op {
            Op::Enter { lock, style } => {
                let context = Context { lock: self.body.place(lock), style, at: At::from(event) };
                state.enter(context);
                let other_names = self.other_names(context.lock);
                state
                    .also_held
                    .extend(other_names.into_iter().map(|p| (state.frames.len() - 1, p)));
            }
            Op::Exit { lock, style } => {
                let lock = self.body.place(lock);
                let before = state.frames.len();
                self.exit(state, lock, style);
                if before == state.frames.len() && style == Style::Explicit {
                    self.exit_tried(state, lock, event);
                }
            }
            Op::Call { site, args } => {
                self.call(number, event, site, args, state);
            }
            Op::Wait => {
                self.facts.pauses |= state.frames.len() > 1;
                state.wait();
            }
            Op::Define(root) => state.define(root),
            Op::GetField { field, place } => {
                let place = self.body.place(place);
                self.composites.read(number, event, field, place, state);
            }
            Op::SetField { field, place } => {
                if let Some(&place) = self.body.places.get(place as usize) {
                    self.composites.write(number, event, field, place, state);
                }
                state.set_field(field);
            }
            Op::SetElement { .. } => state.forget(LockExpr::goes_through_array),
            Op::Escape { place } => state.escape(self.body.place(place)),
            Op::TryEnter { .. } => {}
        }
    }

    /// An explicit lock that was taken by `tryLock` has no frame, but it was taken.
    fn exit_tried(&mut self, state: &mut State, lock: LockExpr, event: &Event) {
        let is_try = |e: &Event| matches!(e.op, Op::TryEnter { lock: tried } if self.body.place(tried) == lock);
        if self.body.events.iter().any(is_try) && is_released(self.body, lock) {
            let at = At::from(event);
            let taking = Taking { always: false, ..Taking::here(at) };
            self.release(state, &[Released { lock, taking }]);
        }
    }

    fn release(&mut self, state: &mut State, locks: &[Released]) {
        locks.iter().for_each(|&l| self.uses.add(l));
        let twice = &mut self.facts.twice;
        let frame = state.frames.len() - 1;
        let cut = &mut self.facts.cut;
        let pairs = self.analysis.pairs && *cut == 0;
        state.release(frame, locks, pairs, &mut |t| note(twice, cut, t));
    }

    fn call(&mut self, number: u32, event: &Event, site: SiteId, first: u32, state: &mut State) {
        let Analysis { world, held, roles, .. } = *self.analysis;
        let args = world.calls.args(self.body, site, first);
        if state.frames.len() > 1 {
            let style = Style::Monitor;
            let other_names =
                state.also_held.iter().map(|a| Context { lock: a.1, style, at: At::default() });
            let contexts = other_names.chain(state.contexts()).collect();
            self.facts.held_at.retain(|h| h.0 != number);
            self.facts.held_at.push((number, contexts));
            self.facts.pauses |= roles.sleeps(site);
        }
        for (i, place) in args.iter().enumerate() {
            if place.len() == 0 && world.summaries.escapes(site, i) {
                state.escape(*place);
            }
        }
        let mut locks = Vec::new();
        held.by_call(world, self.body, site, first, At::from(event), |lock, taking| {
            locks.push(Released { lock, taking });
        });
        locks.extend(self.callback(site, args, event));
        self.release(state, &locks);
        self.composites.call(number, event, site, args, state);
        for root in [Root::Value(event.pc.into()), Root::New(event.pc.into())] {
            state.define(LockExpr::root_only(root).root_code());
        }
    }

    /// What a variable that holds a lock may stand for: the two locks of a pair that are taken in an
    /// order.
    fn other_names(&self, lock: LockExpr) -> Vec<LockExpr> {
        if !matches!(lock.root(), Root::Phi(_)) {
            return Vec::new();
        }
        let phi = crate::expr::Origin::new(lock.root());
        let sources = self.body.sources.iter().filter(|s| s.0 == phi);
        sources
            .map(|s| lock.on(LockExpr::root_only(s.1.get())))
            .filter(|p| !p.is_unknown())
            .collect()
    }

    /// A call of a parameter that may be a lambda takes the pseudo-lock that stands for its locks.
    fn callback(&self, site: SiteId, args: &[LockExpr], event: &Event) -> Option<Released> {
        let callees = self.analysis.world.calls.of(site);
        let held = crate::held::callback(callees, args, event)?;
        // What is certain is that the lambda is called here; its locks are looked at later.
        let taking = Taking { always: true, share: crate::held::ALL, ..held.taking };
        lambda_of(self.body, held.lock).is_none().then_some(Released { lock: held.lock, taking })
    }
}

/// Of pairs of different locks so many are kept in one method; when there are more, no further
/// ones are looked for in it.
const PAIRS: usize = 48;

/// Keeps one finding for each pair of places, context and second position: the likeliest.
fn note(twice: &mut Vec<Twice>, cut: &mut usize, new: Twice) {
    let key = |t: &Twice| {
        (t.first.lock, t.second.lock, t.second.taking.at.pc, t.context.map(|c| c.at.pc))
    };
    let rank = |t: &Twice| t.first.taking.share.min(t.second.taking.share);
    let pair = |t: &Twice| t.first.lock != t.second.lock;
    match twice.iter().position(|t| key(t) == key(&new)) {
        Some(at) if rank(&new) > rank(&twice[at]) => twice[at] = new,
        Some(_) => {}
        None if pair(&new) && twice.iter().filter(|t| pair(t)).count() >= PAIRS => *cut += 1,
        None => twice.push(new),
    }
}
