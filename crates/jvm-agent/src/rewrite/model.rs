//! What calls of the platform mean for the order of threads: java.util.concurrent and its like, at
//! the public methods that the application calls.
//!
//! The calls are modelled where the application makes them, and not inside the platform's classes:
//! what these do to each other inside (locks of a queue, parked threads of a pool) is no
//! business of the application, and would make its atomic methods look interrupted.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::calls::table;
use super::names::{dotted, parameters};
use super::site::Target;
use super::variables::{self, Known};
use crate::classfile::pool::Reference;
use paceline_wire::Kind;

/// When the events of a call happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Before the call.
    Before,
    /// After it, if it returns.
    After,
    /// After it, if it returns true or an object.
    AfterSuccess,
    /// One before, one after if it returns.
    Around,
    /// One before, one after in any case.
    Wait,
    /// With the call: no other thread comes between. Only for calls that neither block nor run code
    /// of the application.
    Inside,
    /// Of an entry of a map, with the call, which runs no code of the application but that of keys.
    /// With two kinds, the second is for a call that returns false or null.
    Entry,
    /// The same, but the second is for a call that returns an object.
    EntryIfNull,
    /// After a call that may run code of the application; another thread may have come between,
    /// which is found out. Kinds as with `Entry`.
    Loose,
    /// The same for an entry that is only computed if it is not there: the second kind, with a call
    /// of `get`, if it is.
    Absent,
    /// With the call: the first kind if it returns true, else the second.
    InsideEither,
    /// With the call: the first kind if it returns what it expected, which is its last parameter
    /// but one; else the second.
    Exchange,
    /// The monitor of the object is taken around the call, which takes it anyway.
    Locked,
    /// After it, about the object that it returns, if any.
    Gets,
    /// If it returns false, the thread called has ended.
    EndSeen,
    /// No event: the result belongs to the lock.
    Belongs,
    /// No event, but a note that this is not modelled.
    Noted,
    /// A stamp becomes one for writing, after the call: the first kind gives up a shared hold, the
    /// second takes the lock.
    ToWrite,
    /// A stamp becomes one for reading: the first kind gives up an exclusive hold before the call,
    /// the second takes the lock shared.
    ToRead,
    /// A hold ends before the call: the first kind is for an exclusive one, the second for a shared
    /// one.
    ToOptimistic,
}

impl Shape {
    /// All of them.
    pub const ALL: &[Shape] = &[
        Shape::Before,
        Shape::After,
        Shape::AfterSuccess,
        Shape::Around,
        Shape::Wait,
        Shape::Inside,
        Shape::InsideEither,
        Shape::Exchange,
        Shape::Entry,
        Shape::EntryIfNull,
        Shape::Loose,
        Shape::Absent,
        Shape::Locked,
        Shape::Gets,
        Shape::EndSeen,
        Shape::Belongs,
        Shape::Noted,
        Shape::ToWrite,
        Shape::ToRead,
        Shape::ToOptimistic,
    ];
}

/// What the events are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The object called, or the first parameter of a static method.
    Receiver,
    /// The entry of a map for the first parameter. A view of the map's keys means the map.
    Keyed,
    /// The element at the first parameter.
    Indexed,
    /// The thread that calls.
    CurrentThread,
    /// The field that an updater reaches in the first parameter.
    Reached,
}

/// How the agent finds out what is to be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Model {
    /// The event is the one of the site.
    Plain = 0,
    /// A lock was taken: shared or not, again or not, the agent knows.
    Taken = 1,
    /// A lock is given up.
    Given = 2,
    /// A condition of a lock is waited for.
    Awaited = 3,
    /// A half of a wait for a monitor.
    Waited = 5,
    /// A notify.
    Notified = 6,
    /// A barrier.
    Barrier = 8,
    /// A stamped lock was taken or is given up; the kind is that of the site.
    Stamped = 4,
    /// A stamped lock is given up, in whichever mode it is held.
    Unstamped = 7,
    /// A variable that a handle reaches: the real site is made for it when it is known.
    Reached = 32,
    /// The same, with a second site for a call that does not succeed.
    ReachedEither = 33,
}

impl Model {
    /// All of them.
    pub const ALL: &[Model] = &[
        Model::Plain,
        Model::Taken,
        Model::Given,
        Model::Awaited,
        Model::Stamped,
        Model::Waited,
        Model::Notified,
        Model::Unstamped,
        Model::Barrier,
        Model::Reached,
        Model::ReachedEither,
    ];

    /// The method of the hook (`PacelinePlatform`) that records the event.
    pub fn recorder(self) -> &'static str {
        match self {
            Model::Plain | Model::Reached | Model::ReachedEither => "record",
            Model::Taken | Model::Given | Model::Stamped | Model::Unstamped => "recordLock",
            Model::Awaited => "recordCondition",
            Model::Waited => "recordWait",
            Model::Notified => "recordNotify",
            Model::Barrier => "recordBarrier",
        }
    }
}

/// A modelled method.
#[derive(Clone, Debug)]
pub struct Call {
    /// The class or interface that declares it.
    pub class: String,
    /// Whether that is an interface.
    pub is_interface: bool,
    /// Classes that code may name in its place.
    pub also: Vec<String>,
    /// If not empty, only objects of these classes are meant.
    pub only: Vec<String>,
    /// Whether the method is static.
    pub is_static: bool,
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// When its events happen.
    pub shape: Shape,
    /// The kinds of its sites, in their order.
    pub kinds: Vec<Kind>,
    /// What they are about.
    pub kept: Kept,
    /// How they are decided.
    pub model: Model,
}

impl Call {
    /// The target of its sites.
    pub fn target(&self) -> Target {
        match self.kept {
            Kept::Receiver | Kept::CurrentThread | Kept::Reached => Target::Object,
            Kept::Keyed | Kept::Indexed => Target::Element,
        }
    }
}

/// A call that was found, with what takes its place.
pub struct Found {
    /// The modelled methods, by the classes of the objects that are meant.
    pub calls: Vec<&'static Call>,
    /// The method of the hook.
    pub wrapper: Vec<u8>,
    /// And its descriptor.
    pub descriptor: Vec<u8>,
}

/// The name of the wrapper of a call, by its place in the table.
pub fn wrapper_name(number: usize) -> String {
    format!("call{number}")
}

/// The descriptor of the wrapper: the receiver as an object, and the site after the parameters.
pub fn wrapper_descriptor(call: &Call) -> String {
    let receiver = if call.is_static { "" } else { "Ljava/lang/Object;" };
    let all = parameters(call.descriptor.as_bytes()).concat();
    let returned = call.descriptor.rsplit(')').next().unwrap_or("V");
    format!("({receiver}{}I){returned}", String::from_utf8_lossy(&all))
}

type Index = HashMap<(&'static [u8], &'static [u8]), Vec<usize>>;

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index::new();
        for (number, call) in table().calls.iter().enumerate() {
            let key = (call.name.as_bytes(), call.descriptor.as_bytes());
            index.entry(key).or_default().push(number);
        }
        index
    })
}

/// The model of a call that code makes, if it has one.
pub fn find(called: &Reference, is_static: bool) -> Option<Found> {
    let numbers = index().get(&(called.name, called.descriptor))?;
    let is_meant = |n: &usize| {
        let call = &table().calls[*n];
        call.is_static == is_static && names(call, called.owner)
    };
    let meant: Vec<usize> = numbers.iter().copied().filter(is_meant).collect();
    let first = &table().calls[*meant.first()?];
    let wrapper = match meant[..] {
        [number] => wrapper_name(number),
        _ => chain_name(&meant),
    };
    Some(Found {
        calls: meant.iter().map(|&n| &table().calls[n]).collect(),
        wrapper: wrapper.into_bytes(),
        descriptor: wrapper_descriptor(first).into_bytes(),
    })
}

/// The name of the wrapper that chooses among several calls, by their places in the table.
pub fn chain_name(numbers: &[usize]) -> String {
    numbers.iter().fold("choose".to_owned(), |name, number| format!("{name}_{number}"))
}

/// All choices that code can need: the calls that one class may mean by one name.
pub fn chains() -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for numbers in index().values().filter(|numbers| numbers.len() > 1) {
        let owners = numbers.iter().flat_map(|&n| {
            let call = &table().calls[n];
            call.also.iter().chain([&call.class])
        });
        for owner in owners {
            let meant = |n: &usize| names(&table().calls[*n], owner.as_bytes());
            let chain: Vec<usize> = numbers.iter().copied().filter(meant).collect();
            if chain.len() > 1 && !found.contains(&chain) {
                found.push(chain);
            }
        }
    }
    found
}

fn names(call: &Call, owner: &[u8]) -> bool {
    let any_object = call.class == "java/lang/Object";
    any_object
        || call.class.as_bytes() == owner
        || call.also.iter().any(|class| class.as_bytes() == owner)
}

/// The name of something that orders threads, or accesses variables, in a way that is not modelled,
/// if a call is that.
pub fn unmodelled(called: &Reference) -> Option<Vec<u8>> {
    let named = std::str::from_utf8(called.owner).ok();
    let exact = [called.name, called.descriptor].concat();
    let is_this = |method: &String| [called.name, &exact[..]].contains(&method.as_bytes());
    if let Some(methods) = named.and_then(|it| table().unmodelled.get(it)) {
        return match methods[..] {
            [] => Some(dotted(called.owner)),
            _ => methods.iter().any(is_this).then(|| method_name(called)),
        };
    }
    let known = named.and_then(|it| table().known.get(it));
    let is_known = known.is_some_and(|methods| methods.is_empty() || methods.iter().any(is_this));
    (is_watched(called.owner) && !is_known).then(|| method_name(called))
}

/// A method as notes have it.
pub fn method_name(called: &Reference) -> Vec<u8> {
    [&dotted(called.owner)[..], b".", called.name].concat()
}

/// The same for the class that a class of the application extends: code names the latter, so calls
/// of what it inherits are not found.
pub fn unmodelled_base(class: &[u8]) -> Option<Vec<u8>> {
    let all = std::str::from_utf8(class).ok().and_then(|it| table().known.get(it));
    // See `synchronizers` and, for locks, `platform`.
    let modelled: &[&[u8]] = &[
        b"java/util/concurrent/locks/AbstractQueuedSynchronizer",
        b"java/util/concurrent/locks/ReentrantLock",
        b"java/util/concurrent/locks/ReentrantReadWriteLock",
    ];
    let is_changed_inside =
        modelled.contains(&class) || all.is_some_and(Vec::is_empty) && !is_lock(class);
    let concurrent = is_watched(class) && !is_changed_inside;
    (concurrent || is_unmodelled_class(class))
        .then(|| [b"a class that extends ", &dotted(class)[..]].concat())
}

/// The same for a method that is referred to, to be called by the platform.
pub fn unmodelled_reference(called: &Reference) -> Option<Vec<u8>> {
    let modelled = [true, false].into_iter().any(|is_static| find(called, is_static).is_some());
    let accesses = matches!(variables::find(called), Some(Known::Access(_)));
    if modelled || accesses {
        return Some([&dotted(called.owner)[..], b"::", called.name].concat());
    }
    unmodelled(called)
}

fn is_unmodelled_class(class: &[u8]) -> bool {
    let methods = std::str::from_utf8(class).ok().and_then(|it| table().unmodelled.get(it));
    methods.is_some_and(Vec::is_empty)
}

fn is_lock(class: &[u8]) -> bool {
    class.starts_with(b"java/util/concurrent/locks/")
}

/// Whether a class has no methods that are harmless but those that are known to be.
fn is_watched(class: &[u8]) -> bool {
    const OTHERS: &[&[u8]] =
        &[b"java/lang/invoke/VarHandle", b"sun/misc/Unsafe", b"jdk/internal/misc/Unsafe"];
    let concurrent = class.starts_with(b"java/util/concurrent/") && !class.ends_with(b"Exception");
    concurrent || OTHERS.contains(&class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(text: &'static str) -> Reference<'static> {
        let (method, descriptor) = text.split_at(text.find('(').expect("a descriptor"));
        let (owner, name) = method.rsplit_once('.').expect("a class");
        let [owner, name, descriptor] = [owner, name, descriptor].map(str::as_bytes);
        Reference { owner, name, descriptor, interface: false }
    }

    #[test]
    fn what_is_not_modelled_is_noted() {
        let noted = |text| unmodelled(&called(text)).is_some();
        assert!(noted("java/util/concurrent/locks/StampedLock.validate(J)Z"));
        assert!(noted("java/util/concurrent/ConcurrentSkipListSet.first()Ljava/lang/Object;"));
        assert!(noted("java/lang/invoke/VarHandle.fullFence()V"));
        assert!(noted(
            "java/util/concurrent/ConcurrentSkipListMap.<init>(Ljava/util/Comparator;)V"
        ));
        assert!(!noted("java/util/concurrent/ConcurrentSkipListMap.<init>()V"));
        assert!(!noted("java/util/concurrent/locks/ReentrantLock.isLocked()Z"));
        assert!(!noted("java/util/concurrent/ExecutionException.<init>()V"));
        assert!(!noted("java/util/HashMap.values()Ljava/util/Collection;"));
        assert!(noted("sun/misc/Unsafe.putOrderedInt(Ljava/lang/Object;JI)V"));
        assert!(!noted("sun/misc/Unsafe.objectFieldOffset(Ljava/lang/reflect/Field;)J"));
        assert!(noted("java/lang/invoke/MethodHandles$Lookup.findGetter()V"));
        assert!(!noted("java/lang/invoke/MethodHandles$Lookup.findVirtual()V"));
    }

    #[test]
    fn a_reference_to_a_modelled_method_is_noted() {
        let noted = |text| unmodelled_reference(&called(text)).is_some();
        assert!(noted("java/util/concurrent/locks/Lock.lock()V"));
        assert!(noted("java/util/concurrent/locks/LockSupport.park()V"));
        assert!(noted("java/lang/reflect/Field.getInt(Ljava/lang/Object;)I"));
        assert!(!noted("java/lang/reflect/Field.getName()Ljava/lang/String;"));
        assert!(!noted("java/util/concurrent/TimeUnit.sleep(J)V"));
        assert!(!noted("App.lock()V"));
    }

    #[test]
    fn what_is_inherited_of_a_modelled_class_is_noted() {
        let noted = |class: &str| unmodelled_base(class.as_bytes()).is_some();
        assert!(noted("java/util/concurrent/Semaphore"));
        assert!(!noted("java/util/concurrent/locks/ReentrantLock"));
        assert!(noted("java/util/concurrent/locks/AbstractQueuedLongSynchronizer"));
        assert!(!noted("java/util/concurrent/locks/AbstractQueuedSynchronizer"));
        assert!(noted("java/util/concurrent/ConcurrentHashMap"));
        assert!(!noted("java/util/concurrent/RecursiveTask"));
        assert!(!noted("java/lang/Object"));
    }
}
