//! Which earlier events does an event conflict with? For each variable, lock, semaphore and
//! barrier, the nodes that a later event can be in conflict with are kept, and no others: the
//! last writer and the readers since, the last release and the shared releases since, and so on.
//! Frontier with what came before those are implied.
//!
//! What a node is, and what an edge does, is the business of the [`Visitor`]: the same tables
//! serve atomicity, cooperability and determinism.

mod variable;

use paceline_trace::{
    Access, BarrierId, Event, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId,
};

use crate::engine::ancestors::{Node, Renumbering};
use crate::engine::precedence::{Horizons, Precedence};
use crate::engine::rounds::{Round, Rounds};
use variable::{Place, Variable};

pub use variable::MOST_NODES;

/// Builds the graph, one event at a time.
pub trait Visitor {
    /// The event conflicts with an earlier event of this node.
    fn after(&mut self, node: Node);

    /// All conflicts have been named. Returns the node that the event belongs to.
    fn settle(&mut self) -> Node;

    /// Whether the node is known to be of no consequence any more.
    fn is_dead(&self, node: Node) -> bool;

    /// Whether `older` is of no consequence to whoever comes after `newer`, if not seen at a glance.
    fn implies(&self, newer: Node, older: Node) -> bool {
        newer == older
    }

    /// Whether it is all the same which of two nodes somebody comes after.
    fn are_alike(&self, one: Node, other: Node) -> bool {
        one == other
    }

    /// What is older than this is of no consequence to whoever comes after `newer`.
    fn horizon(&self, newer: Node) -> Node;

    /// Whether `older` is known to be of no consequence to whoever comes after `newer`.
    #[inline(always)]
    fn covers(&self, newer: Node, older: Node) -> bool {
        older < self.horizon(newer)
    }

    /// Whether an edge from the node may say something new. This is no branch.
    #[inline(always)]
    fn matters(&self, node: Node) -> bool {
        !self.is_dead(node)
    }
}

/// Where a thread is: what an access of it at a glance needs to know.
#[derive(Clone, Copy)]
pub struct Standing {
    /// The node that its next access belongs to.
    pub node: Node,
    /// Whether that is certain.
    pub settled: bool,
}

/// The number of no thread: whose reader it was is not known. It was not that of somebody who has
/// another one.
const NOBODY: ThreadId = ThreadId(u32::MAX);

/// The latest node of each thread that did something to an object.
#[derive(Clone, Default)]
struct PerThread(Vec<(ThreadId, Node)>);

impl PerThread {
    fn set(&mut self, thread: ThreadId, node: Node, visitor: &impl Visitor) {
        if visitor.is_dead(node) {
            return;
        }
        let place = self.0.iter().position(|&(t, n)| t == thread || visitor.covers(node, n));
        match place {
            Some(i) => self.0[i] = (thread, node),
            None => self.0.push((thread, node)),
        }
    }

    fn visit(&self, but: ThreadId, visitor: &mut impl Visitor) {
        for &(thread, node) in &self.0 {
            if thread != but {
                visitor.after(node);
            }
        }
    }

    fn renumber(&mut self, new: &Renumbering) {
        self.0.iter_mut().for_each(|(_, node)| *node = new.of(*node));
        self.0.retain(|&(_, node)| node != Node::DEAD);
    }
}

#[derive(Clone)]
struct Lock {
    released: Node,
    released_shared: PerThread,
}

/// The tables.
#[derive(Default)]
pub struct Frontier {
    variables: Vec<Variable>,
    lists: Vec<PerThread>,
    free_lists: Vec<u32>,
    locks: Vec<Lock>,
    posts: Vec<PerThread>,
    rounds: Rounds,
    /// The arrivals of each barrier round that is not over.
    arrivals: Vec<PerThread>,
}

impl Frontier {
    /// Makes room for the ids that are in use.
    pub fn reserve(&mut self, counts: &IdCounts) {
        let lock = Lock { released: Node::DEAD, released_shared: PerThread::default() };
        grow(&mut self.variables, counts.vars, &Variable::UNTOUCHED);
        grow(&mut self.locks, counts.locks, &lock);
        grow(&mut self.posts, counts.semaphores, &PerThread::default());
    }

    /// Touches what an operation will need; many of these overlap their cache misses.
    #[inline(always)]
    pub fn warm(&self, op: Op) -> u32 {
        op.variable().map_or(0, |x| self.variables[x.index()].writer.0)
    }

    /// Remembers accesses as long as no earlier one is in conflict with them, and nothing else comes;
    /// says how many.
    #[inline(always)]
    pub fn pass(
        &mut self,
        events: &[Event],
        graph: &impl Precedence,
        standing: impl Fn(ThreadId) -> Standing,
    ) -> usize {
        let Horizons { all, after_elder } = graph.horizons();
        match after_elder {
            None => self.pass_beyond(events, graph, standing, |_| all),
            Some(second) => self.pass_beyond(events, graph, standing, |node| {
                if graph.is_after_elder(node) { second } else { all }
            }),
        }
    }

    #[inline(always)]
    fn pass_beyond(
        &mut self,
        events: &[Event],
        graph: &impl Precedence,
        standing: impl Fn(ThreadId) -> Standing,
        horizon: impl Fn(Node) -> Node,
    ) -> usize {
        let variables = &mut self.variables[..];
        let passed = events.iter().position(|event| {
            let Some(access) = event.op.access() else { return true };
            let Standing { node, settled } = standing(event.thread);
            let variable = &mut variables[access.variable.index()];
            let is_gone = |writer| graph.is_gone(writer);
            !(settled && variable.access(access.writes, node, horizon(node), is_gone))
        });
        passed.unwrap_or(events.len())
    }

    /// Names every earlier node that an access of `thread` conflicts with, and remembers its own.
    #[inline(always)]
    pub fn conflicts(
        &mut self,
        thread: ThreadId,
        access: Access,
        visitor: &mut impl Visitor,
    ) -> Node {
        match access.writes {
            true => self.write(thread, access.variable, visitor),
            false => self.read(thread, access.variable, visitor),
        }
    }

    /// Names every earlier node that an event of `thread` conflicts with, and remembers the
    /// event's own. Threads themselves (their order, fork, join) are the visitor's business.
    #[inline(always)]
    pub fn step(&mut self, thread: ThreadId, op: Op, visitor: &mut impl Visitor) -> Node {
        match op {
            Op::Read(x) | Op::AtomicRead(x) => self.read(thread, x, visitor),
            Op::Write(x) | Op::AtomicWrite(x) | Op::AtomicUpdate(x) => {
                self.write(thread, x, visitor)
            }
            Op::Acquire(l) | Op::PostWait(l) => self.acquire(thread, l, visitor),
            Op::Release(l) | Op::PreWait(l) => self.release(l, visitor),
            Op::AcquireShared(l) => self.acquire_shared(l, visitor),
            Op::ReleaseShared(l) => self.release_shared(thread, l, visitor),
            Op::Post(s) => self.post(thread, s, visitor),
            Op::Take(s) => self.take(thread, s, visitor),
            Op::BarrierEnter(b) => self.enter(thread, b, visitor),
            Op::BarrierExit(b) => self.exit(thread, b, visitor),
            Op::Fork(_) | Op::Join(_) | Op::Begin(_) | Op::End(_) | Op::Yield | Op::Notify(_) => {
                visitor.settle()
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let writer = self.variables[x.index()].writer;
        if visitor.matters(writer) {
            visitor.after(writer);
        }
        let node = visitor.settle();
        if !visitor.is_dead(node) && !self.variables[x.index()].read(node, visitor.horizon(node)) {
            self.one_more_reader(thread, x, node, visitor);
        }
        node
    }

    /// Keeps a reader in place of one that need not be kept, or in a list, together with the second one.
    fn one_more_reader(&mut self, thread: ThreadId, x: VarId, node: Node, visitor: &impl Visitor) {
        let var = &mut self.variables[x.index()];
        let [first, second] = Place::BOTH.map(|place| var.reader(place));
        if visitor.implies(node, first) {
            return var.set_reader(Place::First, node);
        }
        let Some(list) = var.list() else {
            if visitor.implies(node, second) || visitor.are_alike(first, second) {
                return var.set_reader(Place::Second, node);
            }
            let list = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            grow(&mut self.lists, list as usize + 1, &PerThread::default());
            self.lists[list as usize].0.extend([(NOBODY, second), (thread, node)]);
            return var.set_list(list);
        };
        let readers = &mut self.lists[list].0;
        readers.retain(|&(by, older)| by != thread && !visitor.covers(node, older));
        if readers.is_empty() {
            self.free_lists.push(list as u32);
            var.set_reader(Place::Second, node);
        } else {
            readers.push((thread, node));
        }
    }

    #[inline(always)]
    fn write(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let var = &mut self.variables[x.index()];
        let [first, mut second] = Place::BOTH.map(|place| var.reader(place));
        if let Some(list) = var.list() {
            second = Node::DEAD;
            self.lists[list].visit(thread, visitor);
            self.lists[list].0.clear();
            self.free_lists.push(list as u32);
        }
        let (mut sources, mut count) = ([Node::DEAD; 3], 0);
        for source in [var.writer, first, second] {
            sources[count] = source;
            count += usize::from(visitor.matters(source));
        }
        for &source in &sources[..count] {
            visitor.after(source);
        }
        let node = visitor.settle();
        var.write(node);
        node
    }

    fn acquire(&mut self, thread: ThreadId, l: LockId, visitor: &mut impl Visitor) -> Node {
        let lock = &self.locks[l.index()];
        visitor.after(lock.released);
        lock.released_shared.visit(thread, visitor);
        visitor.settle()
    }

    /// Whoever releases has acquired: the shared releases before that are implied from here on.
    fn release(&mut self, l: LockId, visitor: &mut impl Visitor) -> Node {
        let lock = &mut self.locks[l.index()];
        lock.released = visitor.settle();
        lock.released_shared.0.clear();
        lock.released
    }

    fn acquire_shared(&mut self, l: LockId, visitor: &mut impl Visitor) -> Node {
        visitor.after(self.locks[l.index()].released);
        visitor.settle()
    }

    fn release_shared(&mut self, thread: ThreadId, l: LockId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.settle();
        self.locks[l.index()].released_shared.set(thread, node, visitor);
        node
    }

    fn post(&mut self, thread: ThreadId, s: SemaphoreId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.settle();
        self.posts[s.index()].set(thread, node, visitor);
        node
    }

    fn take(&mut self, thread: ThreadId, s: SemaphoreId, visitor: &mut impl Visitor) -> Node {
        self.posts[s.index()].visit(thread, visitor);
        visitor.settle()
    }

    fn enter(&mut self, thread: ThreadId, b: BarrierId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.settle();
        let round = self.rounds.enter(b, thread);
        self.arrivals(round).set(thread, node, visitor);
        node
    }

    fn exit(&mut self, thread: ThreadId, b: BarrierId, visitor: &mut impl Visitor) -> Node {
        let round = self.rounds.exit(b, thread);
        self.arrivals(round).visit(thread, visitor);
        visitor.settle()
    }

    fn arrivals(&mut self, round: Round) -> &mut PerThread {
        grow(&mut self.arrivals, round.slot + 1, &PerThread::default());
        let arrivals = &mut self.arrivals[round.slot];
        if round.fresh {
            arrivals.0.clear();
        }
        arrivals
    }

    /// Exchanges every node that is kept here.
    pub fn renumber(&mut self, new: &Renumbering) {
        for var in &mut self.variables {
            var.writer = new.of(var.writer);
            var.set_reader(Place::First, new.of(var.reader(Place::First)));
            if var.list().is_none() {
                var.set_reader(Place::Second, new.of(var.reader(Place::Second)));
            }
        }
        for lock in &mut self.locks {
            lock.released = new.of(lock.released);
            lock.released_shared.renumber(new);
        }
        let lists = self.lists.iter_mut().chain(&mut self.posts).chain(&mut self.arrivals);
        lists.for_each(|list| list.renumber(new));
    }

    /// How many nodes are kept here: what it costs to renumber them.
    pub fn size(&self) -> usize {
        self.variables.len() + self.locks.len() + self.lists.len() + self.posts.len()
    }
}

fn grow<T: Clone>(vector: &mut Vec<T>, wanted: usize, with: &T) {
    if vector.len() < wanted {
        vector.resize(wanted, with.clone());
    }
}
