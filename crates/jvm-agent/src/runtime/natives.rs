//! The native methods of the hook (`PacelineAgent`): everything that happens rarely.
//!
//! None of them stops the program. If one panics, recording ends (`shield`), and what it returns,
//! or leaves behind, is safe for the hook to go on with.

use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jfieldID, jint, jlong, jmethodID, jobject};
use paceline_wire::{Kind, NoteKind};

use super::agent::{Agent, agent};
use super::buffer::Buffer;
use super::jvm::Jni;
use super::keys::KeyHandles;
use super::memory::{Seized, seize, word_at};
use super::redundant;
use super::shield::shielded;
use super::threads::Threads;
use crate::holds::Given;
use crate::rewrite::model::Model;
use crate::rewrite::names::{HOOKS, is_platform, readable_type};
use crate::sender::lock;

/// The bytes of an entry in the table of open blocks.
const BLOCK: usize = 16;
/// Keys for the stripes of threads: far from those of objects.
const THREAD_KEYS: u64 = 1 << 50;

/// What is looked up once.
pub struct Handles {
    token: jfieldID,
    buffer: jfieldID,
    blocks: jfieldID,
    block_room: jfieldID,
    locks: jfieldID,
    lock_room: jfieldID,
    pub(super) used: jfieldID,
    pub(super) used_room: jfieldID,
    carrier: jfieldID,
    discard: jfieldID,
    next_id: jfieldID,
    last_id: jfieldID,
    pub(super) tx: jfieldID,
    pub(super) next_tx: jfieldID,
    pub(super) last_tx: jfieldID,
    pub(super) filter: jfieldID,
    pub(super) chance: jfieldID,
    get_name: jmethodID,
    is_virtual: Option<jmethodID>,
    pub(super) hook: jclass,
    pub(super) id_of: jmethodID,
    pub(super) class: jclass,
    pub(super) for_name: jmethodID,
    pub(super) unsafe_object: jobject,
    pub(super) field_offset: jmethodID,
    pub(super) reflected_offset: jmethodID,
    pub(super) static_offset: jmethodID,
    pub(super) ensure_initialised: jmethodID,
    read_locks: [jclass; 2],
    write_locks: [jclass; 3],
    pub(super) keys: KeyHandles,
}

// SAFETY: ids and global references may be used by all threads.
unsafe impl Send for Handles {}
// SAFETY: as above.
unsafe impl Sync for Handles {}

impl Handles {
    /// Looks everything up, once the hook is there.
    pub fn find(jni: Jni) -> Option<Handles> {
        let class = |name: &CStr| jni.find_class(name).map(|c| jni.keep(c));
        let thread = class(c"java/lang/Thread")?;
        let hook = class(c"java/lang/PacelineObjects")?;
        let class_class = class(c"java/lang/Class")?;
        let unsafe_class = class(c"jdk/internal/misc/Unsafe")?;
        let get_unsafe =
            jni.static_method(unsafe_class, c"getUnsafe", c"()Ljdk/internal/misc/Unsafe;")?;
        let unsafe_object = jni.call_static_object(unsafe_class, get_unsafe, &[])?;
        let int = |name: &CStr| jni.field(thread, name, c"I");
        let long = |name: &CStr| jni.field(thread, name, c"J");
        let offset_type = c"(Ljava/lang/reflect/Field;)J";
        let for_name_type = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        Some(Handles {
            token: int(c"$pacelineToken")?,
            buffer: long(c"$pacelineBuffer")?,
            blocks: long(c"$pacelineBlocks")?,
            block_room: int(c"$pacelineBlockRoom")?,
            locks: long(c"$pacelineLocks")?,
            lock_room: int(c"$pacelineLockRoom")?,
            used: long(c"$pacelineUsed")?,
            used_room: int(c"$pacelineUsedRoom")?,
            carrier: int(c"$pacelineCarrier")?,
            discard: long(c"$pacelineDiscard")?,
            next_id: long(c"$pacelineNextId")?,
            last_id: long(c"$pacelineLastId")?,
            tx: long(c"$pacelineTx")?,
            next_tx: long(c"$pacelineNextTx")?,
            last_tx: long(c"$pacelineLastTx")?,
            filter: long(c"$pacelineFilter")?,
            chance: long(c"$pacelineChance")?,
            get_name: jni.method(thread, c"getName", c"()Ljava/lang/String;")?,
            is_virtual: jni.method(thread, c"isVirtual", c"()Z"),
            hook,
            id_of: jni.static_method(hook, c"idOf", c"(Ljava/lang/Object;)J")?,
            class: class_class,
            for_name: jni.static_method(class_class, c"forName", for_name_type)?,
            unsafe_object: jni.keep(unsafe_object),
            field_offset: jni.method(
                unsafe_class,
                c"objectFieldOffset",
                c"(Ljava/lang/Class;Ljava/lang/String;)J",
            )?,
            reflected_offset: jni.method(unsafe_class, c"objectFieldOffset", offset_type)?,
            static_offset: jni.method(unsafe_class, c"staticFieldOffset", offset_type)?,
            ensure_initialised: jni.method(
                unsafe_class,
                c"ensureClassInitialized",
                c"(Ljava/lang/Class;)V",
            )?,
            read_locks: [
                class(c"java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock")?,
                class(c"java/util/concurrent/locks/StampedLock$ReadLockView")?,
            ],
            write_locks: [
                class(c"java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock")?,
                class(c"java/util/concurrent/locks/ReentrantLock")?,
                class(c"java/util/concurrent/locks/StampedLock$WriteLockView")?,
            ],
            keys: KeyHandles::find(jni)?,
        })
    }
}

/// Does something, unless the agent is not ready.
pub(super) fn with_handles<T>(
    env: *mut JNIEnv,
    work: impl FnOnce(&'static Agent, &'static Handles, Jni) -> T,
) -> Option<T> {
    // SAFETY: the virtual machine passes the environment of this thread.
    let jni = unsafe { Jni::new(env) };
    let agent = agent()?;
    agent.handles.get().map(|handles| work(agent, handles, jni))
}

/// Runs a native method; the default if the agent is not ready, or fails.
pub(super) fn guarded<T: Default>(
    env: *mut JNIEnv,
    work: impl FnOnce(&'static Agent, &'static Handles, Jni) -> T,
) -> T {
    guarded_or(env, T::default(), work)
}

/// The same with something else instead of the default.
pub(super) fn guarded_or<T>(
    env: *mut JNIEnv,
    otherwise: T,
    work: impl FnOnce(&'static Agent, &'static Handles, Jni) -> T,
) -> T {
    shielded(|| with_handles(env, work)).flatten().unwrap_or(otherwise)
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_constant")]
extern "system" fn constant(env: *mut JNIEnv, _class: jclass, name: jobject) -> jlong {
    // SAFETY: the virtual machine passes the environment of this thread.
    let jni = unsafe { Jni::new(env) };
    let find = || {
        let name = String::from_utf8(jni.text(name)).ok()?;
        agent()?.layout().constant(&name)
    };
    shielded(find).flatten().unwrap_or_default() as jlong
}

/// The buffer at an address that a thread has in its field.
///
/// # Safety
/// The address must be that of the current thread's own buffer.
pub(super) unsafe fn buffer_at<'b>(address: jlong) -> &'b Buffer {
    // SAFETY: only the thread itself frees its buffer, in `ended`, and then clears the field.
    unsafe { &*(address as *const Buffer) }
}

fn name_of(agent: &Agent, handles: &Handles, jni: Jni, thread: jobject) -> Vec<u8> {
    let name = jni.call_object(thread, handles.get_name).map(|s| jni.text(s)).unwrap_or_default();
    if name.is_empty() { agent.threads.virtual_name() } else { name }
}

/// Gives a thread that has none a number.
fn declare(agent: &Agent, handles: &Handles, jni: Jni, thread: jobject) -> u32 {
    let name = name_of(agent, handles, jni, thread);
    let number = agent.sender.thread(&name);
    jni.set_int(thread, handles.token, number as i32 + 1);
    number
}

pub(super) fn is_virtual(handles: &Handles, jni: Jni, thread: jobject) -> bool {
    handles.is_virtual.is_some_and(|method| jni.call_boolean(thread, method))
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_prepare")]
extern "system" fn prepare(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    guarded(env, |agent, handles, jni| give_buffer(agent, handles, jni, thread));
    with_handles(env, |agent, handles, jni| {
        if jni.get_long(thread, handles.buffer) == 0 {
            jni.set_long(thread, handles.buffer, agent.fallback.address());
        }
    });
}

/// Whether a thread carries virtual threads, which is noted.
fn is_carrier(agent: &Agent, handles: &Handles, jni: Jni, thread: jobject) -> bool {
    let class = agent.jvmti.signature(jni.class_of(thread));
    let carrier = class == b"Ljdk/internal/misc/CarrierThread;"
        || class == b"Ljdk/internal/misc/InnocuousThread;";
    if carrier {
        jni.set_int(thread, handles.carrier, 1);
    }
    carrier
}

/// Gives a thread its buffer, and its number if its start was not recorded. If there is no memory,
/// it gets none.
pub fn give_buffer(agent: &Agent, handles: &Handles, jni: Jni, thread: jobject) {
    is_carrier(agent, handles, jni, thread);
    let token = jni.get_int(thread, handles.token);
    let forked = token != 0;
    let number = if forked { token as u32 - 1 } else { declare(agent, handles, jni, thread) };
    let Some(storage) = agent.storage(is_virtual(handles, jni, thread)) else { return };
    let address = agent.threads.open(number, storage);
    jni.set_long(thread, handles.buffer, address);
    if forked {
        // SAFETY: it was just made, and is this thread's own.
        let buffer = unsafe { buffer_at(address as jlong) };
        order(agent, buffer, number);
    }
}

/// A record that orders the thread's start or end.
fn order(agent: &Agent, buffer: &Buffer, thread: u32) {
    let key = THREAD_KEYS + u64::from(thread);
    buffer.stamped(&agent.sender, agent.stripes, agent.own.order, 0, key);
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_makeDiscard")]
extern "system" fn make_discard(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    guarded(env, |agent, handles, jni| {
        let number = jni.get_int(thread, handles.token) as u32 - 1;
        let Some(storage) = agent.storage(true) else { return };
        let address = agent.threads.open_discarded(number, storage);
        jni.set_long(thread, handles.discard, address);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_drain")]
extern "system" fn drain(env: *mut JNIEnv, _class: jclass, address: jlong) {
    // SAFETY: the hook passes the buffer of the current thread.
    let buffer = unsafe { buffer_at(address) };
    let drained = guarded(env, |agent, _, _| {
        agent.before_drain();
        buffer.drain(&agent.sender);
        true
    });
    if !drained {
        buffer.restart();
    }
}

/// Makes a native table of a thread larger: the field with its address, the one with its room, the
/// size of an entry. False if there is no memory; then the hook goes on with what it has.
pub(super) fn grow(
    jni: Jni,
    thread: jobject,
    table: jfieldID,
    room: jfieldID,
    entry: usize,
) -> bool {
    let old_room = jni.get_int(thread, room).max(0) as usize;
    let new_room = (old_room * 2).max(32);
    let old = jni.get_long(thread, table) as *mut c_void;
    // SAFETY: `old` is null or came from here; only this thread uses it.
    let new = unsafe { libc::realloc(old, new_room * entry) };
    if new.is_null() {
        return false;
    }
    // SAFETY: the new part is inside of what was just allocated.
    unsafe {
        std::ptr::write_bytes(
            new.cast::<u8>().add(old_room * entry),
            0,
            (new_room - old_room) * entry,
        );
    };
    jni.set_long(thread, table, new as u64);
    jni.set_int(thread, room, new_room as i32);
    true
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_growBlocks")]
extern "system" fn grow_blocks(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    guarded(env, |_, handles, jni| {
        grow(jni, thread, handles.blocks, handles.block_room, BLOCK);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_growLocks")]
extern "system" fn grow_locks(env: *mut JNIEnv, _class: jclass, thread: jobject) {
    guarded(env, |_, handles, jni| {
        grow(jni, thread, handles.locks, handles.lock_room, size_of::<u64>());
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_moreIds")]
extern "system" fn more_ids(env: *mut JNIEnv, _class: jclass, thread: jobject) -> jlong {
    guarded(env, |agent, handles, jni| {
        let first = agent.threads.more_ids();
        jni.set_long(thread, handles.next_id, first);
        jni.set_long(thread, handles.last_id, first + Threads::ids_at_a_time());
        first as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_seize")]
extern "system" fn seize_stripe(
    env: *mut JNIEnv,
    _class: jclass,
    address: jlong,
    flags: jlong,
) -> jlong {
    // SAFETY: the hook passes the address of a stripe.
    match seize(unsafe { word_at(address as u64) }, flags as u64) {
        Seized::Held(value) => value as jlong,
        Seized::Guest(value) => {
            guarded(env, |agent, _, _| agent.sender.inexact());
            !value as jlong
        }
    }
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_classFacts")]
extern "system" fn class_facts(env: *mut JNIEnv, _class: jclass, class: jclass) -> jlong {
    guarded(env, |agent, handles, jni| {
        let signature = agent.jvmti.signature(class);
        let number = agent.sender.class(readable_class(&signature));
        let offset = word_offset(agent, handles, jni, class, &signature);
        (offset << 32 | u64::from(number)) as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_classObject")]
extern "system" fn class_object(env: *mut JNIEnv, _class: jclass, class: jclass) -> jlong {
    guarded(env, |agent, _, _| {
        let name = readable_class(&agent.jvmti.signature(class));
        agent.sender.class([&name[..], b".class"].concat()).into()
    })
}

/// What people call a class. The lock behind the two halves of a ReentrantReadWriteLock is that.
pub(super) fn readable_class(signature: &[u8]) -> Vec<u8> {
    let mut name = readable_type(signature);
    if signature.starts_with(b"Ljava/util/concurrent/") {
        for inner in [&b"$NonfairSync"[..], b"$FairSync", b"$Sync"] {
            if let Some(outer) = name.strip_suffix(inner) {
                name = outer.to_vec();
            }
        }
    }
    name
}

pub(super) fn class_name(signature: &[u8]) -> &[u8] {
    let name = signature.strip_prefix(b"L").unwrap_or(signature);
    name.strip_suffix(b";").unwrap_or(name)
}

/// Where objects of a class have their word: in its topmost class that is not the platform's.
fn word_offset(agent: &Agent, handles: &Handles, jni: Jni, class: jclass, signature: &[u8]) -> u64 {
    if !signature.starts_with(b"L") || is_platform(class_name(signature)) {
        return 0;
    }
    let mut top = class;
    while let Some(above) = jni.super_class(top) {
        if is_platform(class_name(&agent.jvmti.signature(above))) {
            break;
        }
        top = above;
    }
    let Some(name) = jni.string(b"$paceline") else { return 0 };
    jni.call_long(handles.unsafe_object, handles.field_offset, &[top, name]).unwrap_or(0)
}

/// The innermost class on the stack that is not the hook.
pub(super) fn calling(agent: &Agent) -> Option<jclass> {
    let callers = agent.jvmti.callers(8);
    callers.into_iter().find(|&class| !agent.jvmti.signature(class).starts_with(HOOKS))
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_callingClass")]
extern "system" fn calling_class(env: *mut JNIEnv, _class: jclass) -> jclass {
    guarded(env, |agent, _, _| Returned(calling(agent).unwrap_or(std::ptr::null_mut()))).0
}

struct Returned(jclass);

impl Default for Returned {
    fn default() -> Returned {
        Returned(std::ptr::null_mut())
    }
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_fork")]
extern "system" fn fork(env: *mut JNIEnv, _class: jclass, child: jobject, address: jlong) {
    guarded(env, |agent, handles, jni| {
        if jni.get_int(child, handles.token) != 0 {
            return;
        }
        if is_carrier(agent, handles, jni, child) {
            return;
        }
        agent.threads.many.store(true, Ordering::Relaxed);
        let number = declare(agent, handles, jni, child);
        // SAFETY: the hook passes the buffer of the current thread.
        let buffer = unsafe { buffer_at(address) };
        let key = THREAD_KEYS + u64::from(number);
        buffer.stamped(&agent.sender, agent.stripes, agent.own.fork, number.into(), key);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_ended")]
extern "system" fn ended(env: *mut JNIEnv, _class: jclass, thread: jobject, address: jlong) {
    guarded(env, |agent, handles, jni| {
        // SAFETY: the hook passes the buffer of the thread that ends, which is this one.
        let buffer = unsafe { buffer_at(address) };
        let number = buffer.thread;
        order(agent, buffer, number);
        buffer.drain(&agent.sender);
        jni.set_long(thread, handles.buffer, 0);
        for (table, room) in [
            (handles.blocks, handles.block_room),
            (handles.locks, handles.lock_room),
            (handles.used, handles.used_room),
        ] {
            let memory = jni.get_long(thread, table) as *mut c_void;
            jni.set_int(thread, room, 0);
            jni.set_long(thread, table, 0);
            // SAFETY: it came from `grow`, and the thread has forgotten it.
            unsafe { libc::free(memory) };
        }
        redundant::forget(handles, jni, thread);
        let discard = jni.get_long(thread, handles.discard);
        jni.set_long(thread, handles.discard, 0);
        agent.threads.close(number, [address as u64, discard]);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_joined")]
extern "system" fn joined(env: *mut JNIEnv, _class: jclass, thread: jobject, address: jlong) {
    guarded(env, |agent, handles, jni| {
        let number = jni.get_int(thread, handles.token) as u32 - 1;
        // SAFETY: the hook passes the buffer of the current thread.
        let buffer = unsafe { buffer_at(address) };
        if number == buffer.thread || !agent.threads.await_end(number) {
            return;
        }
        let key = THREAD_KEYS + u64::from(number);
        buffer.stamped(&agent.sender, agent.stripes, agent.own.join, number.into(), key);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_inexact")]
extern "system" fn inexact(env: *mut JNIEnv, _class: jclass, _site: jint) {
    guarded(env, |agent, _, _| agent.sender.inexact());
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_overflowed")]
extern "system" fn overflowed(env: *mut JNIEnv, _class: jclass) {
    guarded(env, |agent, _, _| agent.sender.overflowed());
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_unmodelled")]
extern "system" fn unmodelled(env: *mut JNIEnv, _class: jclass, object: jobject) {
    guarded(env, |agent, _, jni| {
        if object.is_null() {
            return;
        }
        let class = jni.class_of(object);
        let name = readable_class(&agent.jvmti.signature(class));
        jni.drop_local(class);
        agent.sender.note(NoteKind::Unmodelled, &[&name[..], b" as a whole"].concat(), 1);
    });
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_lockEvent")]
extern "system" fn lock_event(
    env: *mut JNIEnv,
    _class: jclass,
    object: jobject,
    id: jlong,
    site: jint,
    address: jlong,
) {
    guarded(env, |agent, handles, jni| {
        // SAFETY: the hook passes the buffer of the current thread.
        let buffer = unsafe { buffer_at(address) };
        let site = site as u32;
        let id = id as u64;
        let Some((kind, model)) = lock_site(agent, site) else { return };
        if buffer.is_discarded {
            return;
        }
        let event = |site: u32| buffer.stamped(&agent.sender, agent.stripes, site, id, id);
        let mut holds = lock(&buffer.holds);
        if model == Model::Awaited as u8 {
            if holds.awaits(id) {
                event(site);
            }
            return;
        }
        if model == Model::Stamped as u8 {
            let shared = matches!(kind, Some(Kind::AcquireShared | Kind::ReleaseShared));
            let taken = matches!(kind, Some(Kind::Acquire | Kind::AcquireShared));
            match taken {
                true if holds.taken(id, shared) => event(site),
                true => {}
                false => match holds.given(id, shared) {
                    Given::Stray => agent.sender.stray(),
                    Given::Nothing => {}
                    Given::Exclusive | Given::Shared | Given::Downgrade => event(site),
                },
            }
            return;
        }
        let is = |classes: &[jclass]| classes.iter().any(|&it| jni.is_instance(object, it));
        let unstamped = model == Model::Unstamped as u8;
        let shared = if unstamped { !holds.awaits(id) } else { is(&handles.read_locks) };
        if !unstamped && !shared && !is(&handles.write_locks) {
            return;
        }
        if model == Model::Taken as u8 {
            if holds.taken(id, shared) {
                event(site + u32::from(shared));
            }
            return;
        }
        match holds.given(id, shared) {
            Given::Nothing => {}
            Given::Stray => agent.sender.stray(),
            Given::Exclusive => event(site),
            Given::Shared => event(site + 1),
            Given::Downgrade => {
                event(site);
                event(site + 2);
            }
        }
    });
}

/// Kind and model of a site. They are kept in the site's word, since a lock is no place to wait for
/// another one.
fn lock_site(agent: &Agent, site: u32) -> Option<(Option<Kind>, u8)> {
    let word = agent.sites.at(site as usize);
    let mut known = word.load(Ordering::Relaxed);
    if known == 0 {
        let facts = lock(&agent.sender.facts);
        let found = facts.site(site)?;
        let kind = found.kind.map_or(0, |kind| kind as u64 + 1);
        known = 1 << 32 | kind << 8 | u64::from(found.model);
        word.store(known, Ordering::Relaxed);
    }
    let kind = (known >> 8 & 0xff).checked_sub(1).and_then(|i| Kind::ALL.get(i as usize).copied());
    Some((kind, known as u8))
}
