//! What the hook needs to leave out redundant accesses (`PacelineFilter`): numbers of transactions,
//! tables of what was recorded, and the facts of sites.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jlong, jobject};

use super::agent::Agent;
use super::jvm::Jni;
use super::natives::{Handles, class_name, guarded, guarded_or, is_virtual, with_handles};
use super::threads::Threads;
use crate::hook::FILTER_BYTES;
use crate::program::access_facts;
use crate::rewrite::site::Target;
use crate::sender::lock;

/// The table of all virtual threads, of which there may be many, and of threads for which there is
/// no memory. What a thread has recorded counts for itself only, since transactions have different
/// numbers; entries that two of them write at the same time may be mixed up, which at worst leaves
/// out one access too many.
static COMMON: [AtomicU64; FILTER_BYTES / 8] = [const { AtomicU64::new(0) }; FILTER_BYTES / 8];

fn common() -> u64 {
    COMMON.as_ptr() as u64
}

/// Room for what a thread has recorded.
fn new_table() -> u64 {
    // SAFETY: the size is not 0.
    let table = unsafe { libc::calloc(1, FILTER_BYTES) };
    if table.is_null() { common() } else { table as u64 }
}

/// The thread has ended. Should it go on, it begins anew.
pub fn forget(handles: &Handles, jni: Jni, thread: jobject) {
    for field in [handles.tx, handles.next_tx, handles.last_tx] {
        jni.set_long(thread, field, 0);
    }
    let filter = jni.get_long(thread, handles.filter);
    jni.set_long(thread, handles.filter, 0);
    if filter != common() {
        // SAFETY: it is null or came from `new_table`, and the thread has forgotten it.
        unsafe { libc::free(filter as *mut c_void) };
    }
}

/// A thread that numbers its transactions needs the table of what it has recorded, too.
#[unsafe(export_name = "Java_java_lang_PacelineAgent_moreTransactions")]
extern "system" fn more_transactions(env: *mut JNIEnv, _class: jclass, thread: jobject) -> jlong {
    let first = guarded(env, |agent, handles, jni| {
        if jni.get_long(thread, handles.filter) == 0 {
            let is_virtual = is_virtual(handles, jni, thread);
            let filter = if is_virtual { common() } else { new_table() };
            jni.set_long(thread, handles.filter, filter);
        }
        let first = agent.threads.more_transactions();
        jni.set_long(thread, handles.next_tx, first);
        jni.set_long(thread, handles.last_tx, first + Threads::ids_at_a_time());
        jni.set_long(thread, handles.chance, first);
        first as jlong
    });
    with_handles(env, |_, handles, jni| {
        if jni.get_long(thread, handles.filter) == 0 {
            jni.set_long(thread, handles.filter, common());
        }
    });
    first
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_siteFacts")]
extern "system" fn site_facts(env: *mut JNIEnv, _class: jclass, site: jint) -> jlong {
    guarded(env, |agent, _, _| {
        let facts = lock(&agent.sender.facts).access(site as u32);
        agent.sites.at(site as usize).store(facts, Ordering::Release);
        facts as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_fieldFacts")]
extern "system" fn field_facts(
    env: *mut JNIEnv,
    _class: jclass,
    object: jobject,
    site: jint,
    class_facts: jlong,
) -> jlong {
    guarded_or(env, access_facts::NOTHING as jlong, |agent, handles, jni| {
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
