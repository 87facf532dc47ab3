//! Which earlier events does an event conflict with? For each variable, lock, semaphore and
//! barrier, the nodes that a later event can be in conflict with are kept, and no others: the
//! last writer and the readers since, the last release and the shared releases since, and so on.
//! Frontier with what came before those are implied.
//!
//! What a node is, and what an edge does, is the business of the [`Visitor`]: the same tables
//! serve atomicity, cooperability and determinism.

use paceline_trace::{BarrierId, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId};

use crate::ancestors::{Node, Renumbering};
use crate::rounds::{Round, Rounds};

/// Builds the graph, one event at a time.
pub trait Visitor {
    /// The event conflicts with an earlier event of this node.
    fn after(&mut self, node: Node);

    /// All conflicts have been named. Returns the node that the event belongs to.
    fn settle(&mut self) -> Node;

    /// The node that the event belongs to, if that does not depend on its conflicts.
    fn node(&self) -> Option<Node>;

    /// Whether the node is known to be of no consequence any more.
    fn is_dead(&self, node: Node) -> bool;

    /// Whether `older` is known to be of no consequence to whoever comes after `newer`.
    fn covers(&self, newer: Node, older: Node) -> bool;
}

const NO_LIST: u32 = u32::MAX;

/// One reader is kept inline: most variables never have two that matter.
#[derive(Clone, Copy)]
struct Variable {
    writer: Node,
    reader: Node,
    reader_thread: ThreadId,
    /// Further readers, in a list of their own.
    more: u32,
}

const _: () = assert!(size_of::<Variable>() == 16);

const UNTOUCHED: Variable =
    Variable { writer: Node::DEAD, reader: Node::DEAD, reader_thread: ThreadId(0), more: NO_LIST };

impl Variable {
    /// Whether no other thread's access is of consequence any more. That is so nearly always, and
    /// one branch for all of it is cheaper than one for each reason.
    #[inline(always)]
    fn is_quiet(&self, thread: ThreadId, visitor: &impl Visitor) -> bool {
        visitor.is_dead(self.writer)
            & (visitor.is_dead(self.reader) | (self.reader_thread == thread))
            & (self.more == NO_LIST)
    }
}

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
        grow(&mut self.variables, counts.vars, &UNTOUCHED);
        grow(&mut self.locks, counts.locks, &lock);
        grow(&mut self.posts, counts.semaphores, &PerThread::default());
    }

    /// Touches what an operation will need; many of these overlap their cache misses.
    #[inline(always)]
    pub fn warm(&self, op: Op) -> u32 {
        op.variable().map_or(0, |x| self.variables[x.index()].writer.0)
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
        let var = &mut self.variables[x.index()];
        if let Some(node) = visitor.node()
            && var.is_quiet(thread, visitor)
        {
            (var.reader, var.reader_thread) = (node, thread);
            return node;
        }
        visitor.after(var.writer);
        let node = visitor.settle();
        if var.reader == node || visitor.is_dead(node) {
            return node;
        }
        let last = var.reader_thread == thread || visitor.covers(node, var.reader);
        if var.more == NO_LIST && last {
            var.reader = node;
            var.reader_thread = thread;
        } else {
            self.one_more_reader(thread, x, node, visitor);
        }
        node
    }

    fn one_more_reader(&mut self, thread: ThreadId, x: VarId, node: Node, visitor: &impl Visitor) {
        let var = &mut self.variables[x.index()];
        if var.reader_thread == thread || visitor.covers(node, var.reader) {
            var.reader = node;
            var.reader_thread = thread;
            return;
        }
        if var.more == NO_LIST {
            var.more = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            if var.more as usize == self.lists.len() {
                self.lists.push(PerThread::default());
            }
        }
        self.lists[var.more as usize].set(thread, node, visitor);
    }

    #[inline(always)]
    fn write(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let var = &mut self.variables[x.index()];
        if let Some(node) = visitor.node()
            && var.is_quiet(thread, visitor)
        {
            (var.writer, var.reader) = (node, Node::DEAD);
            return node;
        }
        visitor.after(var.writer);
        if var.reader_thread != thread {
            visitor.after(var.reader);
        }
        if var.more != NO_LIST {
            self.lists[var.more as usize].visit(thread, visitor);
            self.lists[var.more as usize].0.clear();
            self.free_lists.push(var.more);
            var.more = NO_LIST;
        }
        let node = visitor.settle();
        var.writer = node;
        var.reader = Node::DEAD;
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
            var.reader = new.of(var.reader);
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
