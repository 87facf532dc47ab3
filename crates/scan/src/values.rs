//! Abstract values, and what is known about the methods that produce them.

use crate::bytecode::{parameters, type_of};
use crate::expr::{LockExpr, Name, Origin, Root};
use crate::tables::Tables;

/// The class of a value, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Type {
    /// The class.
    pub class: Option<Name>,
    /// Whether it is this very class, not a subclass.
    pub exact: bool,
}

/// What a local or a stack slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// What it denotes.
    pub place: LockExpr,
    /// Its class.
    pub class: Type,
    /// Where it was computed. A copy has the same origin, a second read of a field another one.
    pub origin: Origin,
}

impl Value {
    /// Nothing is known.
    pub const UNKNOWN: Value = Value {
        place: LockExpr::UNKNOWN,
        class: Type { class: None, exact: false },
        origin: Origin::UNKNOWN,
    };

    /// A value without a class.
    pub fn of(root: Root) -> Value {
        Value {
            place: LockExpr::root_only(root),
            class: Type::default(),
            origin: Origin::new(root),
        }
    }

    /// The same value, of a class.
    pub fn typed(self, class: Option<Name>) -> Value {
        Value { class: Type { class, exact: false }, ..self }
    }

    /// The same value, of this very class.
    pub fn exactly(self, class: Name) -> Value {
        Value { class: Type { class: Some(class), exact: true }, ..self }
    }
}

/// Calls that mean more than what their code does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// An ordinary method.
    Plain,
    /// Takes an explicit lock, its receiver.
    Lock,
    /// Takes an explicit lock if it is free.
    TryLock,
    /// Gives an explicit lock back.
    Unlock,
    /// Returns its receiver or first argument, as far as locks go: the two views of a
    /// ReadWriteLock are taken for one lock, since what one protects the other does too.
    Same,
    /// Gives up a lock and takes it again.
    Wait,
    /// Makes a collection that locks itself, of this class.
    Synchronized(Name),
}

/// What a call does to the stack.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Slots of each argument, the receiver first.
    pub args: Vec<u8>,
    /// Slots of the result.
    pub result: u8,
    /// The class of the result.
    pub class: Option<Name>,
    /// What it means.
    pub meaning: Meaning,
}

impl Shape {
    /// The shape of a call.
    pub fn new(
        class: &[u8],
        name: &[u8],
        desc: &[u8],
        receiver: bool,
        tables: &mut Tables<'_>,
    ) -> Shape {
        let (types, result) = parameters(desc);
        let receiver = receiver.then_some(1);
        let args = receiver.into_iter().chain(types.iter().map(|t| type_of(t).0)).collect();
        let (slots, result) = type_of(result);
        let meaning = meaning(class, name, desc, tables);
        Shape { args, result: slots, class: result.map(|c| tables.name(c)), meaning }
    }
}

/// The package of the JDK's locks.
pub const LOCKS: &[u8] = b"java/util/concurrent/locks/";

fn meaning(class: &[u8], name: &[u8], desc: &[u8], tables: &mut Tables<'_>) -> Meaning {
    if let Some(lock) = class.strip_prefix(LOCKS) {
        return lock_meaning(lock, name, desc);
    }
    if tables.lock_class.is_some_and(|own| tables.names.name(own.0) == class) {
        let inherited = lock_meaning(b"", name, desc);
        if inherited != Meaning::Plain {
            return inherited;
        }
    }
    match (class, name) {
        (_, b"wait") if matches!(desc, b"()V" | b"(J)V" | b"(JI)V") => Meaning::Wait,
        (b"java/util/Objects", b"requireNonNull") => Meaning::Same,
        (
            b"java/lang/Integer" | b"java/lang/Long" | b"java/lang/Short" | b"java/lang/Character",
            b"valueOf",
        ) if !desc.starts_with(b"(Ljava/lang/String;") => Meaning::Same,
        (b"java/util/Collections", _) => wrapper_class(name, tables),
        _ => Meaning::Plain,
    }
}

fn lock_meaning(class: &[u8], name: &[u8], desc: &[u8]) -> Meaning {
    match (class, name) {
        (b"Condition", b"await" | b"awaitNanos" | b"awaitUninterruptibly" | b"awaitUntil") => {
            Meaning::Wait
        }
        (
            b"StampedLock",
            b"readLock" | b"writeLock" | b"readLockInterruptibly" | b"writeLockInterruptibly",
        ) => Meaning::Lock,
        (b"StampedLock", b"unlock" | b"unlockRead" | b"unlockWrite") => Meaning::Unlock,
        (b"ReadWriteLock" | b"ReentrantReadWriteLock", b"readLock" | b"writeLock") => Meaning::Same,
        (_, b"lock" | b"lockInterruptibly") if desc == b"()V" => Meaning::Lock,
        (_, b"unlock") if desc == b"()V" => Meaning::Unlock,
        (_, b"tryLock") => Meaning::TryLock,
        _ => Meaning::Plain,
    }
}

/// `Collections.synchronizedList` and its sisters return objects of private classes.
fn wrapper_class(name: &[u8], tables: &mut Tables<'_>) -> Meaning {
    match name.strip_prefix(b"synchronized") {
        Some(kind) => {
            let class = [b"java/util/Collections$Synchronized", kind].concat();
            Meaning::Synchronized(tables.name(&class))
        }
        None => Meaning::Plain,
    }
}
