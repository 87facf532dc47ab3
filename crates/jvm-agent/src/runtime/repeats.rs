//! What the hook class needs to leave out repeated accesses: numbers of transactions, tables of what
//! was told, and what there is to know about sites.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jlong, jobject};

use super::agent::Agent;
use super::jvm::Jni;
use super::natives::{Handles, class_name, guarded, is_virtual};
use super::threads::Threads;
use crate::hook::TOLD_BYTES;
use crate::program::access_facts;
use crate::rewrite::site::Target;
use crate::sender::lock;

/// The table of all virtual threads, of which there may be many. What one of them has told counts for
/// itself only, since transactions have different numbers; entries that two of them write at the
/// same time may be mixed up, which at worst leaves out one access too many.
static COMMON: OnceLock<u64> = OnceLock::new();

/// Room for what a thread has told.
fn new_table() -> u64 {
    // SAFETY: the size is not 0.
    let table = unsafe { libc::calloc(1, TOLD_BYTES) };
    if table.is_null() {
        std::process::abort();
    }
    table as u64
}

/// The thread has ended. Should it go on, it begins anew.
pub fn forget(handles: &Handles, jni: Jni, thread: jobject) {
    for field in [handles.tx, handles.next_tx, handles.last_tx] {
        jni.set_long(thread, field, 0);
    }
    let told = jni.get_long(thread, handles.told);
    jni.set_long(thread, handles.told, 0);
    if COMMON.get() != Some(&told) {
        // SAFETY: it is null or came from `new_table`, and the thread has forgotten it.
        unsafe { libc::free(told as *mut c_void) };
    }
}

/// A thread that numbers its transactions needs the table of what it has told, too.
#[unsafe(export_name = "Java_java_lang_PacelineHook_moreNumbers")]
extern "system" fn more_numbers(env: *mut JNIEnv, _class: jclass, thread: jobject) -> jlong {
    guarded(env, |agent, handles, jni| {
        if jni.get_long(thread, handles.told) == 0 {
            let is_virtual = is_virtual(handles, jni, thread);
            let told = if is_virtual { *COMMON.get_or_init(new_table) } else { new_table() };
            jni.set_long(thread, handles.told, told);
        }
        let first = agent.threads.more_numbers();
        jni.set_long(thread, handles.next_tx, first);
        jni.set_long(thread, handles.last_tx, first + Threads::ids_at_a_time());
        jni.set_long(thread, handles.chance, first);
        first as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineHook_siteFacts")]
extern "system" fn site_facts(env: *mut JNIEnv, _class: jclass, site: jint) -> jlong {
    guarded(env, |agent, _, _| {
        let facts = lock(&agent.sender.facts).access(site as u32);
        agent.sites.at(site as usize).store(facts, Ordering::Release);
        facts as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineHook_readFacts")]
extern "system" fn read_facts(
    env: *mut JNIEnv,
    _class: jclass,
    object: jobject,
    site: jint,
    class_facts: jlong,
) -> jlong {
    guarded(env, |agent, handles, jni| {
        let word = class_facts as u64 >> 32;
        let facts = resolve_field(agent, handles, jni, object, site as u32, word)
            .unwrap_or(access_facts::NOTHING);
        agent.sites.at(site as usize).store(facts, Ordering::Release);
        facts as jlong
    })
}

/// The facts of a site that reads a field of an object, whose word is at an offset.
fn resolve_field(
    agent: &Agent,
    handles: &Handles,
    jni: Jni,
    object: jobject,
    site: u32,
    word: u64,
) -> Option<u64> {
    let (facts, declaring, name) = {
        let mut known = lock(&agent.sender.facts);
        let facts = known.access(site);
        let Target::Field { owner, name } = known.site(site)?.target.clone() else { return None };
        let declaring = known.declaring(&owner, &name).map_or(&owner[..], |it| it.0).to_vec();
        (facts, declaring, name)
    };
    let mut class = jni.class_of(object);
    while class_name(&agent.jvmti.signature(class)) != declaring {
        class = jni.super_class(class)?;
    }
    let name = jni.string(&name)?;
    let field = jni.call_long(handles.unsafe_object, handles.field_offset, &[class, name])?;
    if word == 0 || word.max(field) > access_facts::MOST {
        return None;
    }
    Some(facts | word << access_facts::WORD_OFFSET | field << access_facts::FIELD_OFFSET)
}
