//! Static fields: which class object they belong to, which thread owns them, and the order that
//! class initialisation makes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jlong, jobject, jvalue};
use paceline_wire::Kind;

use super::agent::Agent;
use super::buffer::Buffer;
use super::jvm::Jni;
use super::natives::{Handles, buffer_at, calling, class_name, grow, guarded, guarded_or};
use crate::classfile::access;
use crate::program::access_facts;
use crate::rewrite::names::dotted;
use crate::rewrite::site::{Name, Target};
use crate::sender::lock;

/// A static field of one class: where its word is.
#[derive(Default)]
pub struct Statics {
    /// By the number of the class object and the name of the field.
    words: HashMap<(u64, Name), usize>,
    /// Which class object has a class name for itself; others of that name are numbered.
    first: HashMap<Vec<u8>, u64>,
    used: usize,
    /// For the end of a class initialiser, the site that reads it.
    reads: HashMap<u32, u32>,
    /// Class initialisers are numbered from 1, by their site.
    numbers: HashMap<u32, u64>,
}

/// Instead of the address of a word: nothing to observe.
const NOTHING: u64 = 1;
/// How many static fields there is room for.
pub const STATICS: usize = 1 << 20;
/// How many words each of them has.
pub const WORDS: usize = 4;

#[unsafe(export_name = "Java_java_lang_PacelineAgent_resolve")]
extern "system" fn resolve(env: *mut JNIEnv, _class: jclass, site: jint, address: jlong) -> jlong {
    guarded_or(env, NOTHING as jlong, |agent, handles, jni| {
        // SAFETY: the hook passes the buffer of the current thread.
        let buffer = unsafe { buffer_at(address) };
        let word = resolve_static(agent, handles, jni, site as u32, buffer).unwrap_or(NOTHING);
        agent.sites.at(site as usize).store(word, Ordering::Release);
        word as jlong
    })
}

/// Finds the static field of a site. The class that the code names is looked up as the code would:
/// with the loader of the class that the code is in.
fn resolve_static(
    agent: &Agent,
    handles: &Handles,
    jni: Jni,
    site: u32,
    buffer: &Buffer,
) -> Option<u64> {
    let (owner, name, declaring, flags, site_facts) = {
        let mut facts = lock(&agent.sender.facts);
        let site_facts = facts.access(site);
        let Target::Field { owner, name } = facts.site(site)?.target.clone() else { return None };
        let (class, flags) = facts.declaring(&owner, &name).unwrap_or((&owner, 0));
        let class = class.to_vec();
        (owner, name, class, flags, site_facts)
    };
    if flags & access::FINAL != 0 {
        return None;
    }
    let from = calling(agent)?;
    let mut class = if class_name(&agent.jvmti.signature(from)) == &owner[..] {
        from
    } else {
        let text = jni.string(&dotted(&owner))?;
        let loader = agent.jvmti.loader(from);
        let arguments = [jvalue { l: text }, jvalue { z: 0 }, jvalue { l: loader }];
        jni.call_static_object(handles.class, handles.for_name, &arguments)?
    };
    while class_name(&agent.jvmti.signature(class)) != declaring {
        class = jni.super_class(class)?;
    }
    let class_id = jni.call_static_long(handles.hook, handles.id_of, class);
    let word = static_word(agent, class_id, &declaring, name, flags, buffer.thread)?;
    Some(word | site_facts & (access_facts::WRITE | access_facts::VOLATILE))
}

/// Records that a thread uses a class for the first time: what its initialiser did happened before.
#[unsafe(export_name = "Java_java_lang_PacelineAgent_firstUse")]
extern "system" fn first_use(
    env: *mut JNIEnv,
    _class: jclass,
    thread: jobject,
    initialiser: jlong,
    address: jlong,
) {
    guarded(env, |agent, handles, jni| {
        // SAFETY: the hook passes the buffer of the current thread.
        let buffer = unsafe { buffer_at(address) };
        if buffer.is_discarded {
            return;
        }
        let index = initialiser as usize & INITIALISERS;
        while index >= jni.get_int(thread, handles.used_room) as usize {
            if !grow(jni, thread, handles.used, handles.used_room, size_of::<u32>()) {
                return;
            }
        }
        let used = jni.get_long(thread, handles.used) as *mut u32;
        // SAFETY: the table of this thread has room for the index.
        unsafe { *used.add(index) = 1 };
        let site = (initialiser as u64 >> 32) as u32;
        let read = lock(&agent.statics).reads.get(&site).copied();
        if let Some(read) = read {
            buffer.stamped(&agent.sender, agent.stripes, read, 0, site.into());
        }
    });
}

/// Which bits of the word for the class initialiser are its number.
const INITIALISERS: usize = 0xffff_ffff;

/// The word of a static field; after it come the object number for its records, and the initialiser
/// of its class: its site (high half) and its number (low half), or 0. Then comes its number as a
/// variable, if it has one.
pub(super) fn static_word(
    agent: &Agent,
    class_id: u64,
    class: &[u8],
    name: Name,
    flags: u16,
    thread: u32,
) -> Option<u64> {
    let initialiser = initialiser_of(agent, class);
    let mut statics = lock(&agent.statics);
    let statics = &mut *statics;
    let first = *statics.first.entry(class.to_vec()).or_insert(class_id);
    let used = &mut statics.used;
    let index = *statics.words.entry((class_id, name)).or_insert_with(|| {
        *used += 1;
        let index = WORDS * (*used - 1);
        if index + WORDS <= WORDS * STATICS {
            let word = match owner(agent, initialiser, thread) {
                Some(token) if flags & access::VOLATILE == 0 => token,
                _ => u64::from(u32::MAX),
            };
            let object = if first == class_id { 0 } else { class_id };
            for (i, value) in [word, object, initialiser].into_iter().enumerate() {
                agent.static_words.at(index + i).store(value, Ordering::Relaxed);
            }
        }
        index
    });
    (index + WORDS <= WORDS * STATICS).then(|| agent.static_words.base() + 8 * index as u64)
}

/// Numbers a static field as a variable, by the address of its word.
pub(super) fn set_variable(agent: &Agent, word: u64, variable: u64) {
    let index = (word - agent.static_words.base()) as usize / size_of::<u64>();
    agent.static_words.at(index + WORDS - 1).store(variable, Ordering::Release);
}

/// The owner of a static field at first: the thread that initialises its class. If there is no
/// initialiser, it is shared as soon as there are several threads.
fn owner(agent: &Agent, initialiser: u64, thread: u32) -> Option<u64> {
    let this = u64::from(thread) + 1;
    if initialiser == 0 {
        return (!agent.threads.many.load(Ordering::Relaxed)).then_some(this);
    }
    match agent.sites.at((initialiser >> 32) as usize).load(Ordering::Relaxed) {
        // It has not ended, so this must be the thread that runs it.
        0 => Some(this),
        token => Some(token),
    }
}

/// The initialiser of a class, with the site that reads what it did.
fn initialiser_of(agent: &Agent, class: &[u8]) -> u64 {
    let mut facts = lock(&agent.sender.facts);
    let Some(site) = facts.initialiser(class) else { return 0 };
    let mut statics = lock(&agent.statics);
    let statics = &mut *statics;
    if let Entry::Vacant(vacant) = statics.reads.entry(site) {
        let Some(mut read) = facts.site(site).cloned() else { return 0 };
        read.kind = Some(Kind::Take);
        let Some(number) = facts.add_own(read) else { return 0 };
        vacant.insert(number);
    }
    let count = statics.numbers.len() as u64 + 1;
    let number = *statics.numbers.entry(site).or_insert(count);
    u64::from(site) << 32 | number
}
