//! The intraprocedural dataflow analysis (paper, section 4.2 with the extension of 4.3): runs the
//! transfer functions of [`crate::state`] over the blocks of a method until nothing changes.

use crate::body::{Body, Event, Op, Style};
use crate::composite::{self, Composite, Roles};
use crate::held::{At, LocksHeld, Taking, World, is_released, lambda_of, own_lock};
use crate::place::{Place, Root};
use crate::program::MethodId;
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
    /// Whether the method waits or sleeps while it holds a lock.
    pub pauses: bool,
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
    /// Whether two different locks may be the witnesses.
    pub pairs: bool,
}

/// More rounds than any method needs: a guard against facts that do not settle.
const ROUNDS: usize = 20_000;

impl Analysis<'_> {
    /// Analyses a method. Most have nothing to tell.
    pub fn run(&self, method: MethodId) -> Option<Box<Facts>> {
        let body = self.world.program.method(method).body.as_ref()?;
        if body.block_count() == 0 || !self.matters(method, body) {
            return None;
        }
        let mut run = Run { analysis: self, body, facts: Facts::default() };
        run.run_to_fixed_point(self.start(method));
        let mut facts = run.facts;
        facts.held_at.sort_by_key(|h| h.0);
        let tells =
            !facts.twice.is_empty() || !facts.held_at.is_empty() || !facts.composites.is_empty();
        (tells || facts.pauses).then(|| Box::new(facts))
    }

    /// Methods that take no lock and call none that does need no analysis.
    fn matters(&self, method: MethodId, body: &Body) -> bool {
        let relevant = |e: &Event| match e.op {
            Op::Enter { .. } | Op::TryEnter { .. } => true,
            Op::Call { site, .. } => {
                self.held.any_at(site) || self.roles.any(site) || self.world.calls.of(site).lambdas
            }
            Op::Exit { .. }
            | Op::Wait
            | Op::Define(_)
            | Op::SetField(_)
            | Op::SetElement
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
                state.define(Place::root_only(Root::Phi(phi)).root_code());
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

    fn exit(&mut self, state: &mut State, lock: Place, style: Style) {
        let twice = &mut self.facts.twice;
        state.exit(lock, style, self.analysis.pairs, &mut |t| note(twice, t));
    }

    fn event(&mut self, number: u32, event: &Event, state: &mut State) {
        match event.op {
            Op::Enter { lock, style } => {
                let context = Context { lock: self.body.place(lock), style, at: At::from(event) };
                state.enter(context);
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
                let passed = self.analysis.world.calls.args(self.body, site, args);
                self.call(number, event, site, passed, state);
            }
            Op::Wait => {
                self.facts.pauses |= state.frames.len() > 1;
                state.wait();
            }
            Op::Define(root) => state.define(root),
            Op::SetField(field) => state.set_field(field),
            Op::SetElement => state.forget(Place::goes_through_array),
            Op::Escape { place } => state.escape(self.body.place(place)),
            Op::TryEnter { .. } => {}
        }
    }

    /// An explicit lock that was taken by `tryLock` has no frame, but it was taken.
    fn exit_tried(&mut self, state: &mut State, lock: Place, event: &Event) {
        let is_try = |e: &Event| matches!(e.op, Op::TryEnter { lock: tried } if self.body.place(tried) == lock);
        if self.body.events.iter().any(is_try) && is_released(self.body, lock) {
            let at = At::from(event);
            let taking = Taking { share: crate::held::ALL, always: false, hops: 0, at, via: None };
            self.release(state, &[Released { lock, taking }]);
        }
    }

    fn release(&mut self, state: &mut State, locks: &[Released]) {
        let twice = &mut self.facts.twice;
        let frame = state.frames.len() - 1;
        state.release(frame, locks, self.analysis.pairs, &mut |t| note(twice, t));
    }

    fn call(
        &mut self,
        number: u32,
        event: &Event,
        site: crate::body::SiteId,
        args: &[Place],
        state: &mut State,
    ) {
        let Analysis { world, held, roles, .. } = *self.analysis;
        if state.frames.len() > 1 {
            self.facts.held_at.retain(|h| h.0 != number);
            self.facts.held_at.push((number, state.contexts().collect()));
            self.facts.pauses |= roles.sleeps(site);
        }
        for (i, place) in args.iter().enumerate() {
            if place.len() == 0 && world.summaries.escapes(site, i) {
                state.escape(*place);
            }
        }
        let mut locks = Vec::new();
        held.by_call(world, self.body, site, args, At::from(event), |lock, taking| {
            locks.push(Released { lock, taking });
        });
        locks.extend(self.callback(site, args, event));
        self.release(state, &locks);
        composite::call(roles, site, args, event, state, &mut self.facts.composites);
        for root in [Root::Value(event.pc.into()), Root::New(event.pc.into())] {
            state.define(Place::root_only(root).root_code());
        }
    }

    /// A call of a parameter that may be a lambda takes the pseudo-lock that stands for its locks.
    fn callback(
        &self,
        site: crate::body::SiteId,
        args: &[Place],
        event: &Event,
    ) -> Option<Released> {
        let callees = self.analysis.world.calls.of(site);
        let held = crate::held::callback(callees, args, event)?;
        // What is certain is that the lambda is called here; its locks are looked at later.
        let taking = Taking { always: true, share: crate::held::ALL, ..held.taking };
        lambda_of(self.body, held.lock).is_none().then_some(Released { lock: held.lock, taking })
    }
}

/// Keeps one finding for each pair of places, context and second position: the likeliest.
fn note(twice: &mut Vec<Twice>, new: Twice) {
    let key = |t: &Twice| {
        (t.first.lock, t.second.lock, t.second.taking.at.pc, t.context.map(|c| c.at.pc))
    };
    let rank = |t: &Twice| t.first.taking.share.min(t.second.taking.share);
    match twice.iter_mut().find(|t| key(t) == key(&new)) {
        Some(old) if rank(&new) > rank(old) => *old = new,
        Some(_) => {}
        None => twice.push(new),
    }
}
