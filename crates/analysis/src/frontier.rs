//! Which earlier events does an event conflict with? For each variable, lock, semaphore and
//! barrier, the nodes that a later event can be in conflict with are kept, and no others: the
//! last writer and the readers since, the last release and the shared releases since, and so on.
//! Frontier with what came before those are implied.
//!
//! What a node is, and what an edge does, is the business of the [`Visitor`]: the same tables
//! serve atomicity, cooperability and determinism.

use std::hint::select_unpredictable;

use paceline_trace::{Access, BarrierId, IdCounts, LockId, Op, SemaphoreId, ThreadId, VarId};

use crate::ancestors::{Node, Renumbering};
use crate::rounds::{Round, Rounds};

/// Builds the graph, one event at a time.
pub trait Visitor {
    /// The event conflicts with an earlier event of this node.
    fn after(&mut self, node: Node);

    /// All conflicts have been named. Returns the node that the event belongs to.
    fn settle(&mut self) -> Node;

    /// Whether the node is known to be of no consequence any more.
    fn is_dead(&self, node: Node) -> bool;

    /// Whether `older` is known to be of no consequence to whoever comes after `newer`.
    fn covers(&self, newer: Node, older: Node) -> bool;
}

/// Small, because the variables are most of what has to stay in the cache. Two readers are kept
/// inline: most variables never have more that matter.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Variable {
    writer: Node,
    /// Instead of the second one there may be a [`LIST`] of further readers.
    readers: [Node; 2],
    threads: [Short; 2],
}

const _: () = assert!(size_of::<Variable>() == 16);

const UNTOUCHED: Variable =
    Variable { writer: Node::DEAD, readers: [Node::DEAD; 2], threads: [Short::NOBODY; 2] };

/// Stands for a list, with its number, where a node is expected: it looks like one that is younger
/// than all others.
const LIST: u32 = 1 << 31;

/// A thread, if its number is a short one. The others are nobody, and take what they did themselves
/// for what others did. That is only slower: it comes before what they do now anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short(u16);

impl Short {
    const NOBODY: Short = Short(u16::MAX);

    #[inline(always)]
    fn of(thread: ThreadId) -> Short {
        Short(thread.0.min(u32::from(u16::MAX)) as u16)
    }

    /// Nobody's number is that of no thread.
    fn long(self) -> ThreadId {
        ThreadId(if self == Short::NOBODY { u32::MAX } else { self.0.into() })
    }

    #[inline(always)]
    fn is(self, thread: Short) -> bool {
        (self == thread) & (thread != Short::NOBODY)
    }
}

/// Which of the two inline readers a reader may replace.
#[derive(Clone, Copy)]
struct Free {
    first: bool,
    second: bool,
    own_is_second: bool,
}

impl Free {
    /// Whether a reader takes the second place: where it was before, if it was there.
    #[inline(always)]
    fn is_second(self) -> bool {
        self.own_is_second | !self.first
    }
}

impl Variable {
    /// The list of further readers.
    fn list(&self) -> Option<usize> {
        let Node(last) = self.readers[1];
        (last >= LIST).then_some((last ^ LIST) as usize)
    }

    /// Those that are the thread itself or dead may be replaced.
    #[inline(always)]
    fn free(&self, thread: Short, is_dead: impl Fn(Node) -> bool) -> Free {
        let own_is_second = self.threads[1].is(thread);
        Free {
            first: self.threads[0].is(thread) | is_dead(self.readers[0]),
            second: own_is_second | is_dead(self.readers[1]),
            own_is_second,
        }
    }

    /// Remembers an access of `thread` in `node`, unless an earlier one may be of consequence to it:
    /// then nothing is done, and false returned. Nothing before `horizon` is of consequence.
    #[inline(always)]
    fn access(&mut self, writes: bool, thread: Short, node: Node, horizon: Node) -> bool {
        let newest = self.writer.max(self.readers[0]).max(self.readers[1]);
        if newest >= horizon {
            return self.access_among_others(writes, thread, node, horizon);
        }
        // To somebody else, the writer may still be of consequence.
        self.writer = select_unpredictable(writes, node, self.writer);
        self.readers = [select_unpredictable(writes, Node::DEAD, node), Node::DEAD];
        self.threads = [thread; 2];
        true
    }

    /// The same where earlier accesses are, perhaps those of the same thread. Reads and writes go the
    /// same way, and there is one branch for all reasons, because what cannot be foretold costs more
    /// as a branch than as a choice.
    #[inline(never)]
    fn access_among_others(
        &mut self,
        writes: bool,
        thread: Short,
        node: Node,
        horizon: Node,
    ) -> bool {
        let free = self.free(thread, |reader| reader < horizon);
        let enough = u8::from(free.first) + u8::from(free.second) > u8::from(writes);
        if !(((self.writer < horizon) | (self.writer == node)) & enough) {
            return false;
        }
        let Variable { writer, readers: [first, second], threads: [one, two] } = *self;
        let is_second = free.is_second();
        // A write leaves no readers.
        let mask = u32::from(writes).wrapping_sub(1);
        let masked = |Node(reader)| Node(reader & mask);
        *self = Variable {
            writer: select_unpredictable(writes, node, writer),
            readers: [
                masked(select_unpredictable(is_second, first, node)),
                masked(select_unpredictable(is_second, node, second)),
            ],
            threads: [
                select_unpredictable(is_second, one, thread),
                select_unpredictable(is_second, thread, two),
            ],
        };
        true
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

    /// Remembers an access of `thread` in `node`, if no earlier one that is not before `horizon` is
    /// in conflict with it; otherwise does nothing and returns false.
    #[inline(always)]
    pub fn access(&mut self, thread: ThreadId, access: Access, node: Node, horizon: Node) -> bool {
        let var = &mut self.variables[access.variable.index()];
        var.access(access.writes, Short::of(thread), node, horizon)
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
        visitor.after(self.variables[x.index()].writer);
        let node = visitor.settle();
        if !visitor.is_dead(node) {
            self.remember_reader(thread, x, node, visitor);
        }
        node
    }

    #[inline(always)]
    fn remember_reader(&mut self, thread: ThreadId, x: VarId, node: Node, visitor: &impl Visitor) {
        let var = &mut self.variables[x.index()];
        let short = Short::of(thread);
        let free = var.free(short, |reader| visitor.covers(node, reader));
        if free.first | free.second {
            let place = usize::from(free.is_second());
            (var.readers[place], var.threads[place]) = (node, short);
        } else {
            self.one_more_reader(thread, x, node, visitor);
        }
    }

    /// Keeps a reader in a list, together with the second one. Whoever it covers leaves the list.
    fn one_more_reader(&mut self, thread: ThreadId, x: VarId, node: Node, visitor: &impl Visitor) {
        let var = &mut self.variables[x.index()];
        let Some(list) = var.list() else {
            let list = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            grow(&mut self.lists, list as usize + 1, &PerThread::default());
            let second = (var.threads[1].long(), var.readers[1]);
            self.lists[list as usize].0.extend([second, (thread, node)]);
            (var.readers[1], var.threads[1]) = (Node(list | LIST), Short::NOBODY);
            return;
        };
        let readers = &mut self.lists[list].0;
        readers.retain(|&(by, older)| by != thread && !visitor.covers(node, older));
        if readers.is_empty() {
            self.free_lists.push(list as u32);
            (var.readers[1], var.threads[1]) = (node, Short::of(thread));
        } else {
            readers.push((thread, node));
        }
    }

    #[inline(always)]
    fn write(&mut self, thread: ThreadId, x: VarId, visitor: &mut impl Visitor) -> Node {
        let var = &mut self.variables[x.index()];
        visitor.after(var.writer);
        if let Some(list) = var.list() {
            var.readers[1] = Node::DEAD;
            self.lists[list].visit(thread, visitor);
            self.lists[list].0.clear();
            self.free_lists.push(list as u32);
        }
        for i in 0..2 {
            if !var.threads[i].is(Short::of(thread)) {
                visitor.after(var.readers[i]);
            }
        }
        let node = visitor.settle();
        var.writer = node;
        var.readers = [Node::DEAD; 2];
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
            var.readers[0] = new.of(var.readers[0]);
            if var.list().is_none() {
                var.readers[1] = new.of(var.readers[1]);
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
