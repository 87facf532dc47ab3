//! What calls on thread-safe objects mean: questions, changes, and both at once.
//!
//! The table knows the concurrent and synchronized classes of the JDK and Scala's TrieMap. A class
//! of the program that extends one of them counts as that one.

use rayon::prelude::*;

use crate::body::{SiteId, SiteKey};
use crate::expr::Name;
use crate::program::Program;

/// Objects of one kind have the same questions and changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// A concurrent map: no lock can be held, there are calls that do both.
    ConcurrentMap,
    /// A map that locks itself.
    LockedMap,
    /// A Hashtable, which is mostly used by one thread.
    Hashtable,
    /// A concurrent set.
    Set,
    /// A set that locks itself.
    LockedSet,
    /// A concurrent queue or deque.
    Queue,
    /// A list that copies itself on every change.
    CopyList,
    /// A list that locks itself.
    LockedList,
    /// A Vector or a Stack, which is mostly used by one thread.
    Vector,
    /// An atomic variable.
    Atomic,
}

/// What a call asks or does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Is there such a key or element?
    Has,
    /// What belongs to a key?
    Get,
    /// How many are there, what is the first one?
    State,
    /// The value of an atomic variable, or of a field.
    Value,
    /// Puts something at a key, or an element into a set.
    Put,
    /// Removes a key or an element.
    Remove,
    /// Appends an element.
    Add,
    /// Takes an element, or null.
    Poll,
    /// Takes an element, or fails.
    Take,
    /// Uses an element by its number.
    Index,
    /// Assigns an atomic variable, or a field.
    Assign,
    /// Changes an atomic variable and returns what it was or is.
    Update,
    /// Asks and changes at once, as it should be.
    Both,
    /// The same, and returns what was there before.
    PutIfAbsent,
    /// A view that changes with the map.
    View,
    /// Goes through all elements.
    Iterate,
}

/// The meaning of a call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing.
    Other,
    /// The thread sleeps.
    Sleep,
    /// A call on an interface of java.util: what it means depends on the object.
    Open,
    /// A call on an object of a family.
    Call(Family, Action),
}

/// The roles of all call sites.
pub struct Roles(Vec<Role>);

impl Roles {
    /// Of a program.
    pub fn new(program: &Program) -> Roles {
        Roles(program.sites.par_iter().map(|site| role_of(program, site)).collect())
    }

    /// The role of a site.
    pub fn of(&self, site: SiteId) -> Role {
        self.0[site.0 as usize]
    }

    /// Whether the site has any role.
    pub fn any(&self, site: SiteId) -> bool {
        self.of(site) != Role::Other
    }

    /// Whether the thread sleeps there.
    pub fn sleeps(&self, site: SiteId) -> bool {
        self.of(site) == Role::Sleep
    }
}

fn role_of(program: &Program, site: &SiteKey) -> Role {
    let text = |n: Name| program.names.name(n.0);
    let (name, desc) = (text(site.name), text(site.desc));
    if text(site.class) == b"java/lang/Thread" && name == b"sleep" {
        return Role::Sleep;
    }
    let Some(family) = family(program, site.class) else {
        return if is_open(text(site.class)) { Role::Open } else { Role::Other };
    };
    action(family, name, desc).map_or(Role::Other, |action| Role::Call(family, action))
}

/// The role of a site when the object is known to be of this class.
pub fn role_on(program: &Program, class: Name, site: &SiteKey) -> Role {
    role_of(program, &SiteKey { class, ..*site })
}

fn is_open(class: &[u8]) -> bool {
    const OPEN: [&[u8]; 12] = [
        b"Map",
        b"Collection",
        b"List",
        b"Set",
        b"Queue",
        b"Deque",
        b"SortedMap",
        b"NavigableMap",
        b"SortedSet",
        b"NavigableSet",
        b"AbstractMap",
        b"Dictionary",
    ];
    class.strip_prefix(b"java/util/").is_some_and(|c| OPEN.contains(&c))
}

/// The family of a class, or of the next class above it that has one.
pub fn family(program: &Program, class: Name) -> Option<Family> {
    let mut work = vec![class];
    // Hierarchies of collections are flat; a damaged one may have a cycle.
    for _ in 0..64 {
        let class = work.pop()?;
        if let Some(found) = known(program.names.name(class.0)) {
            return Some(found);
        }
        if let Some(id) = program.by_name.get(&class) {
            let class = &program.classes[id.0 as usize];
            work.extend(class.interfaces.iter().chain(&class.parent));
        }
    }
    None
}

fn known(class: &[u8]) -> Option<Family> {
    if let Some(kind) = class.strip_prefix(b"java/util/Collections$Synchronized") {
        return Some(match kind {
            _ if kind.ends_with(b"Map") => Family::LockedMap,
            _ if kind.ends_with(b"Set") => Family::LockedSet,
            _ => Family::LockedList,
        });
    }
    if let Some(atomic) = class.strip_prefix(b"java/util/concurrent/atomic/") {
        let kinds: [&[u8]; 4] =
            [b"AtomicInteger", b"AtomicLong", b"AtomicBoolean", b"AtomicReference"];
        return kinds.contains(&atomic).then_some(Family::Atomic);
    }
    match class {
        b"java/util/Hashtable" | b"java/util/Properties" => return Some(Family::Hashtable),
        b"java/util/Vector" | b"java/util/Stack" => return Some(Family::Vector),
        b"scala/collection/concurrent/TrieMap" | b"scala/collection/concurrent/Map" => {
            return Some(Family::ConcurrentMap);
        }
        _ => {}
    }
    Some(match class.strip_prefix(b"java/util/concurrent/")? {
        b"ConcurrentMap"
        | b"ConcurrentHashMap"
        | b"ConcurrentSkipListMap"
        | b"ConcurrentNavigableMap" => Family::ConcurrentMap,
        b"ConcurrentSkipListSet" | b"CopyOnWriteArraySet" | b"ConcurrentHashMap$KeySetView" => {
            Family::Set
        }
        b"CopyOnWriteArrayList" => Family::CopyList,
        b"ConcurrentLinkedQueue"
        | b"ConcurrentLinkedDeque"
        | b"LinkedBlockingQueue"
        | b"LinkedBlockingDeque"
        | b"ArrayBlockingQueue"
        | b"PriorityBlockingQueue"
        | b"LinkedTransferQueue"
        | b"DelayQueue"
        | b"BlockingQueue"
        | b"BlockingDeque"
        | b"TransferQueue" => Family::Queue,
        _ => return None,
    })
}

fn action(family: Family, name: &[u8], desc: &[u8]) -> Option<Action> {
    match family {
        Family::ConcurrentMap | Family::LockedMap | Family::Hashtable => map_action(name, desc),
        Family::Set => set_action(name),
        Family::LockedSet => set_action(name).or_else(|| iteration(name)),
        Family::Queue => queue_action(name, desc),
        Family::CopyList => list_action(name, desc),
        Family::LockedList | Family::Vector => list_action(name, desc).or_else(|| iteration(name)),
        Family::Atomic => atomic_action(name),
    }
}

fn map_action(name: &[u8], desc: &[u8]) -> Option<Action> {
    Some(match name {
        b"containsKey" => Action::Has,
        b"contains" if !desc.starts_with(b"(Ljava/lang/Object;)Z") => return None,
        // Of Scala's maps; a Hashtable is asked about a value by it, which is no key.
        b"contains" => Action::State,
        b"get" | b"getOrDefault" | b"apply" => Action::Get,
        b"put" | b"update" | b"addOne" | b"$plus$eq" => Action::Put,
        b"remove" if desc.starts_with(b"(Ljava/lang/Object;)") => Action::Remove,
        b"subtractOne" | b"$minus$eq" => Action::Remove,
        b"putIfAbsent" => Action::PutIfAbsent,
        b"computeIfAbsent" | b"computeIfPresent" | b"compute" | b"merge" | b"replace"
        | b"remove" | b"getOrElseUpdate" => Action::Both,
        b"isEmpty" | b"size" | b"mappingCount" => Action::State,
        b"firstKey" | b"lastKey" => Action::Take,
        b"keySet" | b"values" | b"entrySet" => Action::View,
        _ => return None,
    })
}

fn set_action(name: &[u8]) -> Option<Action> {
    Some(match name {
        b"contains" => Action::Has,
        b"add" => Action::Put,
        b"remove" => Action::Remove,
        b"isEmpty" | b"size" => Action::State,
        b"first" | b"last" => Action::Take,
        b"pollFirst" | b"pollLast" => Action::Poll,
        _ => return None,
    })
}

fn queue_action(name: &[u8], desc: &[u8]) -> Option<Action> {
    Some(match name {
        b"isEmpty" | b"size" | b"peek" | b"peekFirst" | b"peekLast" | b"remainingCapacity" => {
            Action::State
        }
        b"contains" => Action::Has,
        b"add" | b"addFirst" | b"addLast" | b"offer" | b"offerFirst" | b"offerLast" | b"put"
        | b"push" => Action::Add,
        b"poll" | b"pollFirst" | b"pollLast" => Action::Poll,
        b"remove" if !desc.starts_with(b"()") => Action::Remove,
        b"remove" | b"removeFirst" | b"removeLast" | b"pop" | b"take" | b"takeFirst"
        | b"takeLast" | b"element" | b"getFirst" | b"getLast" => Action::Take,
        _ => return None,
    })
}

fn list_action(name: &[u8], desc: &[u8]) -> Option<Action> {
    Some(match name {
        b"contains" | b"indexOf" | b"lastIndexOf" => Action::Has,
        b"isEmpty" | b"size" | b"empty" => Action::State,
        b"addIfAbsent" => Action::Both,
        b"add" | b"addElement" if desc.starts_with(b"(Ljava/lang/Object;)") => Action::Add,
        b"remove" | b"removeElement" if desc.starts_with(b"(Ljava/lang/Object;)") => Action::Remove,
        b"firstElement" | b"lastElement" | b"pop" | b"removeFirst" | b"removeLast"
        | b"getFirst" | b"getLast" => Action::Take,
        b"get" | b"set" | b"remove" | b"elementAt" | b"removeElementAt" | b"setElementAt"
        | b"insertElementAt" => Action::Index,
        _ => return None,
    })
}

fn iteration(name: &[u8]) -> Option<Action> {
    matches!(name, b"iterator" | b"listIterator" | b"stream").then_some(Action::Iterate)
}

fn atomic_action(name: &[u8]) -> Option<Action> {
    Some(match name {
        b"get" | b"intValue" | b"longValue" | b"getPlain" | b"getAcquire" => Action::Value,
        b"set" | b"lazySet" | b"setPlain" | b"setRelease" => Action::Assign,
        b"incrementAndGet" | b"getAndIncrement" | b"decrementAndGet" | b"getAndDecrement"
        | b"addAndGet" | b"getAndAdd" | b"getAndSet" => Action::Update,
        b"compareAndSet"
        | b"weakCompareAndSet"
        | b"updateAndGet"
        | b"getAndUpdate"
        | b"accumulateAndGet"
        | b"getAndAccumulate"
        | b"compareAndExchange" => Action::Both,
        _ => return None,
    })
}

impl Action {
    /// Whether it is a question.
    pub fn asks(self) -> bool {
        matches!(self, Action::Has | Action::Get | Action::State | Action::Value)
    }

    /// Whether question and act are about one key or element.
    pub fn has_key(self, family: Family) -> bool {
        match self {
            Action::Has | Action::Get | Action::Put | Action::Remove => true,
            Action::Both | Action::PutIfAbsent => family == Family::ConcurrentMap,
            Action::Add
            | Action::State
            | Action::Value
            | Action::Poll
            | Action::Take
            | Action::Index
            | Action::Assign
            | Action::Update
            | Action::View
            | Action::Iterate => false,
        }
    }

    /// Whether an act is broken if something changes after the question.
    pub fn relies_on(self, question: Action) -> bool {
        match question {
            Action::Has => matches!(self, Action::Get | Action::Put | Action::Remove | Action::Add),
            Action::Get => matches!(self, Action::Put | Action::Remove),
            Action::State => {
                matches!(self, Action::Poll | Action::Take | Action::Index | Action::Add)
            }
            Action::Value => matches!(self, Action::Assign | Action::Update),
            Action::Put
            | Action::Remove
            | Action::Add
            | Action::Poll
            | Action::Take
            | Action::Index
            | Action::Assign
            | Action::Update
            | Action::Both
            | Action::PutIfAbsent
            | Action::View
            | Action::Iterate => false,
        }
    }

    /// Whether the act's result says that the question was answered too early, so that testing it
    /// makes the act safe.
    pub fn says_so(self) -> bool {
        matches!(self, Action::Poll | Action::Get | Action::Update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(class: &str, name: &str, desc: &str) -> Role {
        let mut program = Program::default();
        let mut number = |text: &str| Name(program.names.intern(text.as_bytes()));
        let (class, name, desc) = (number(class), number(name), number(desc));
        let kind = crate::body::CallKind::Virtual;
        role_of(&program, &SiteKey { kind, exact: false, class, name, desc })
    }

    #[test]
    fn roles_follow_from_class_and_name() {
        let map = "java/util/concurrent/ConcurrentHashMap";
        let one = "(Ljava/lang/Object;)Ljava/lang/Object;";
        assert_eq!(role(map, "get", one), Role::Call(Family::ConcurrentMap, Action::Get));
        assert_eq!(role(map, "remove", one), Role::Call(Family::ConcurrentMap, Action::Remove));
        let two = "(Ljava/lang/Object;Ljava/lang/Object;)Z";
        assert_eq!(role(map, "remove", two), Role::Call(Family::ConcurrentMap, Action::Both));
        assert_eq!(role("java/util/HashMap", "get", one), Role::Other);
        assert_eq!(role("java/util/Map", "get", one), Role::Open);
        let list = "java/util/Collections$SynchronizedList";
        let iterate = Role::Call(Family::LockedList, Action::Iterate);
        assert_eq!(role(list, "iterator", "()Ljava/util/Iterator;"), iterate);
        let atomic = "java/util/concurrent/atomic/AtomicInteger";
        assert_eq!(role(atomic, "set", "(I)V"), Role::Call(Family::Atomic, Action::Assign));
    }
}
