//! Which earlier events does an event conflict with? For each variable, lock, semaphore and
//! barrier, the tables keep the nodes that a later event can conflict with *directly*: the last
//! writer and the readers since, the last release and the shared releases since, and so on.
//! Conflicts with anything earlier are implied by these.
//!
//! What a node is, and what an edge does, is up to the [`Visitor`]: the same tables serve
//! atomicity, cooperability and determinism.

mod variable;

use paceline_trace::{
    Access, BarrierId, Event, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId, ops,
};

use super::precedence::{Horizons, Node, Precedence, Relevance, Renumbering, covers, horizon};
use super::rounds::{Round, Rounds};
use variable::{ReaderSlot, Variable};

pub use variable::MOST_NODES;

/// Builds the graph, one event at a time.
///
/// For every event the tables call [`after`](Visitor::after) with each node that it conflicts
/// with directly, then [`finish`](Visitor::finish) once; the node that this returns is recorded as
/// the event's own. For variables, `after` is only called with nodes that
/// [matter](Visitor::matters). Nodes that are dead, or that [`Relevance`] shows to be redundant,
/// may be left out or named; it makes no difference.
pub trait Visitor {
    /// Knows which nodes still matter.
    type Graph: Relevance;

    /// The graph that is being built.
    fn graph(&self) -> &Self::Graph;

    /// Whether an edge from the node may add to what is known. Compiles to code without branches.
    fn matters(&self, node: Node) -> bool;

    /// The event conflicts with an earlier event of this node.
    fn after(&mut self, node: Node);

    /// All conflicts have been named. Returns the node that the event belongs to.
    fn finish(&mut self) -> Node;
}

/// The state of a thread, as far as the fast path of an access needs it.
#[derive(Clone, Copy)]
pub struct Standing {
    /// The node that its next access belongs to.
    pub node: Node,
    /// Whether that is certain; if not, the access must take the slow path.
    pub is_certain: bool,
}

/// Stands for a thread that is not known, in a list of readers. It is none of those that have an
/// entry of their own.
const UNKNOWN_THREAD: ThreadId = ThreadId(u32::MAX);

/// The latest node of each thread that did something to an object.
#[derive(Clone, Default)]
struct PerThread(Vec<(ThreadId, Node)>);

impl PerThread {
    fn set(&mut self, thread: ThreadId, node: Node, graph: &impl Relevance) {
        if graph.is_dead(node) {
            return;
        }
        let replaced = self.0.iter().position(|&(t, n)| t == thread || covers(graph, node, n));
        match replaced {
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
    /// Readers of variables that have more than two that matter.
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

    /// Loads what the operation will need into the cache. The misses of several such loads
    /// overlap. The result depends on what was loaded, so that the load cannot be optimised away.
    #[inline(always)]
    pub fn prefetch(&self, op: Op) -> u32 {
        op.variable().map_or(0, |x| self.variables[x.index()].writer.0)
    }

    /// The fast path: records accesses until one may conflict with an earlier one, or something
    /// other than an access follows. Returns how many it recorded.
    #[inline(always)]
    pub fn pass(
        &mut self,
        events: &[Event],
        graph: &impl Precedence,
        standing: impl Fn(ThreadId) -> Standing,
    ) -> usize {
        let Horizons { all, after_oldest } = graph.horizons();
        match after_oldest {
            None => self.pass_with(events, graph, standing, |_| all),
            Some(second) => self.pass_with(events, graph, standing, |node| {
                if graph.is_after_oldest(node) { second } else { all }
            }),
        }
    }

    #[inline(always)]
    fn pass_with(
        &mut self,
        events: &[Event],
        graph: &impl Precedence,
        standing: impl Fn(ThreadId) -> Standing,
        horizon: impl Fn(Node) -> Node,
    ) -> usize {
        let variables = &mut self.variables[..];
        let passed = events.iter().position(|event| {
            let Some(access) = event.op.access() else { return true };
            let Standing { node, is_certain } = standing(event.thread);
            let variable = &mut variables[access.variable.index()];
            let is_retired = |writer| graph.is_retired(writer);
            !(is_certain && variable.access(access.writes, node, horizon(node), is_retired))
        });
        passed.unwrap_or(events.len())
    }

    /// Names every earlier node that an access of `thread` conflicts with, and records its own.
    #[inline(always)]
    pub fn access(&mut self, thread: ThreadId, access: Access, visitor: &mut impl Visitor) -> Node {
        match access.writes {
            true => self.write(thread, access.variable, visitor),
            false => self.read(thread, access.variable, visitor),
        }
    }

    /// Names every earlier node that an event of `thread` conflicts with, and records the event's
    /// own. Conflicts with threads (program order, fork, join) are up to the caller.
    #[inline(always)]
    pub fn event(&mut self, thread: ThreadId, op: Op, visitor: &mut impl Visitor) -> Node {
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
            ops!(Thread | Block) | Op::Yield | Op::Notify(_) => visitor.finish(),
        }
    }

    #[inline(always)]
    fn read(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let writer = self.variables[x.index()].writer;
        if visitor.matters(writer) {
            visitor.after(writer);
        }
        let node = visitor.finish();
        let graph = visitor.graph();
        if !graph.is_dead(node) && !self.variables[x.index()].read(node, horizon(graph, node)) {
            self.add_reader(thread, x, node, graph);
        }
        node
    }

    /// Records a reader where two others matter: in place of one that it makes redundant, or in a
    /// list together with the second one.
    fn add_reader(&mut self, thread: ThreadId, x: VarId, node: Node, graph: &impl Relevance) {
        let var = &mut self.variables[x.index()];
        let [first, second] = ReaderSlot::BOTH.map(|slot| var.reader(slot));
        if graph.implies(node, first) {
            return var.set_reader(ReaderSlot::First, node);
        }
        let Some(list) = var.list() else {
            if graph.implies(node, second) || graph.are_interchangeable(first, second) {
                return var.set_reader(ReaderSlot::Second, node);
            }
            let list = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            grow(&mut self.lists, list as usize + 1, &PerThread::default());
            self.lists[list as usize].0.extend([(UNKNOWN_THREAD, second), (thread, node)]);
            return var.set_list(list);
        };
        let readers = &mut self.lists[list].0;
        readers.retain(|&(by, older)| by != thread && !covers(graph, node, older));
        if readers.is_empty() {
            self.free_lists.push(list as u32);
            var.set_reader(ReaderSlot::Second, node);
        } else {
            readers.push((thread, node));
        }
    }

    #[inline(always)]
    fn write(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let var = &mut self.variables[x.index()];
        let [first, mut second] = ReaderSlot::BOTH.map(|slot| var.reader(slot));
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
        let node = visitor.finish();
        var.write(node);
        node
    }

    fn acquire(&mut self, thread: ThreadId, l: LockId, visitor: &mut impl Visitor) -> Node {
        let lock = &self.locks[l.index()];
        visitor.after(lock.released);
        lock.released_shared.visit(thread, visitor);
        visitor.finish()
    }

    /// A release implies the shared releases before it: its thread has acquired the lock since.
    fn release(&mut self, l: LockId, visitor: &mut impl Visitor) -> Node {
        let lock = &mut self.locks[l.index()];
        lock.released = visitor.finish();
        lock.released_shared.0.clear();
        lock.released
    }

    fn acquire_shared(&mut self, l: LockId, visitor: &mut impl Visitor) -> Node {
        visitor.after(self.locks[l.index()].released);
        visitor.finish()
    }

    fn release_shared(&mut self, thread: ThreadId, l: LockId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.finish();
        self.locks[l.index()].released_shared.set(thread, node, visitor.graph());
        node
    }

    fn post(&mut self, thread: ThreadId, s: SemaphoreId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.finish();
        self.posts[s.index()].set(thread, node, visitor.graph());
        node
    }

    fn take(&mut self, thread: ThreadId, s: SemaphoreId, visitor: &mut impl Visitor) -> Node {
        self.posts[s.index()].visit(thread, visitor);
        visitor.finish()
    }

    fn enter(&mut self, thread: ThreadId, b: BarrierId, visitor: &mut impl Visitor) -> Node {
        let node = visitor.finish();
        let round = self.rounds.enter(b, thread);
        self.arrivals(round).set(thread, node, visitor.graph());
        node
    }

    fn exit(&mut self, thread: ThreadId, b: BarrierId, visitor: &mut impl Visitor) -> Node {
        let round = self.rounds.exit(b, thread);
        self.arrivals(round).visit(thread, visitor);
        visitor.finish()
    }

    fn arrivals(&mut self, round: Round) -> &mut PerThread {
        grow(&mut self.arrivals, round.slot + 1, &PerThread::default());
        let arrivals = &mut self.arrivals[round.slot];
        if round.fresh {
            arrivals.0.clear();
        }
        arrivals
    }

    /// Exchanges every node in the tables.
    pub fn renumber(&mut self, new: &Renumbering) {
        for var in &mut self.variables {
            var.writer = new.of(var.writer);
            var.set_reader(ReaderSlot::First, new.of(var.reader(ReaderSlot::First)));
            if var.list().is_none() {
                var.set_reader(ReaderSlot::Second, new.of(var.reader(ReaderSlot::Second)));
            }
        }
        for lock in &mut self.locks {
            lock.released = new.of(lock.released);
            lock.released_shared.renumber(new);
        }
        let lists = self.lists.iter_mut().chain(&mut self.posts).chain(&mut self.arrivals);
        lists.for_each(|list| list.renumber(new));
    }

    /// How many entries the tables have: what a renumbering costs.
    pub fn size(&self) -> usize {
        self.variables.len() + self.locks.len() + self.lists.len() + self.posts.len()
    }
}

fn grow<T: Clone>(vector: &mut Vec<T>, wanted: usize, with: &T) {
    if vector.len() < wanted {
        vector.resize(wanted, with.clone());
    }
}
