//! Which variable a VarHandle, an updater of `java.util.concurrent.atomic` or a `Field` reaches: a
//! field, as code names it, or elements of arrays.
//!
//! A `Field` is known to JNI. Of the others, the platform's own objects say so: a class and the
//! offset of the field in its objects. That works for handles from wherever they come. How they say
//! it is known for the versions that were tried; what is not recognised is noted as not modelled.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jlong, jobject};
use paceline_wire::NoteKind;

use super::agent::Agent;
use super::jvm::Jni;
use super::natives::{Handles, buffer_at, class_name, guarded, readable_class};
use super::statics;
use crate::classfile::access;
use crate::rewrite::model::Model;
use crate::rewrite::names::is_platform;
use crate::rewrite::site::{Name, Target};
use crate::sender::lock;

/// The fields that are reached through handles, and the sites for them.
#[derive(Default)]
pub struct Variables {
    /// Class and name by number, less [`FIRST`].
    fields: Vec<(Name, Name)>,
    numbers: HashMap<(Name, Name), u64>,
    /// By the site of a call and a variable.
    sites: HashMap<(u32, u64), u32>,
}

/// Numbers below mean something else: see `PacelineVariables`.
const FIRST: u64 = 16;
const ELEMENTS: u64 = 1;
const UNKNOWN: u64 = 2;
const NOTHING: u64 = 3;
const STATIC: u64 = 1 << 62;

impl Variables {
    fn number(&mut self, class: &[u8], field: &[u8]) -> u64 {
        let key = (Name::from(class), Name::from(field));
        let fields = &mut self.fields;
        *self.numbers.entry(key.clone()).or_insert_with(|| {
            fields.push(key);
            FIRST + fields.len() as u64 - 1
        })
    }

    fn field(&self, variable: u64) -> Option<&(Name, Name)> {
        self.fields.get(variable.checked_sub(FIRST)? as usize)
    }
}

/// Where a field is.
struct Place {
    class: jclass,
    offset: u64,
    is_static: bool,
}

/// A field that was found.
struct Found {
    class: jclass,
    name: Vec<u8>,
    flags: u16,
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_variableOf")]
extern "system" fn variable_of(
    env: *mut JNIEnv,
    _class: jclass,
    handle: jobject,
    address: jlong,
) -> jlong {
    guarded(env, |agent, handles, jni| {
        // SAFETY: the hook passes the buffer of the current thread.
        let thread = unsafe { buffer_at(address) }.thread;
        let found = reached(agent, handles, jni, handle, thread);
        found.unwrap_or_else(|| {
            let class = readable_class(&agent.jvmti.signature(jni.class_of(handle)));
            agent.sender.note(NoteKind::Unmodelled, &class, 1);
            UNKNOWN
        }) as jlong
    })
}

fn reached(
    agent: &Agent,
    handles: &Handles,
    jni: Jni,
    handle: jobject,
    thread: u32,
) -> Option<u64> {
    let found = if agent.jvmti.signature(jni.class_of(handle)) == b"Ljava/lang/reflect/Field;" {
        of_reflection(agent, handles, jni, handle)?
    } else {
        let handle = initialised(handles, jni, handle);
        let class = jni.class_of(handle);
        let is_there = |name: &CStr| jni.field(class, name, c"I").is_some();
        if is_there(c"abase") && is_there(c"ashift") {
            return Some(ELEMENTS);
        }
        find(agent, handles, jni, &place(jni, handle)?)?
    };
    let signature = agent.jvmti.signature(found.class);
    let class = class_name(&signature);
    if is_platform(class) || found.flags & access::FINAL != 0 {
        return Some(NOTHING);
    }
    let number = lock(&agent.variables).number(class, &found.name);
    if found.flags & access::STATIC == 0 {
        return Some(number);
    }
    let id = jni.call_static_long(handles.hook, handles.id_of, found.class);
    let name = Name::from(&found.name[..]);
    let word = statics::static_word(agent, id, class, name, found.flags, thread)?;
    statics::set_variable(agent, word, number);
    Some(STATIC | word)
}

/// The field of a `Field`. Its class is initialised now if the access would do that: not while
/// something is held.
fn of_reflection(agent: &Agent, handles: &Handles, jni: Jni, field: jobject) -> Option<Found> {
    let declared = jni.field(jni.class_of(field), c"clazz", c"Ljava/lang/Class;")?;
    let class = jni.get_object(field, declared)?;
    let (name, flags) = agent.jvmti.field(class, jni.reflected_field(field)?)?;
    if flags & access::STATIC != 0 {
        jni.call_void(handles.unsafe_object, handles.ensure_initialised, class);
    }
    Some(Found { class, name, flags })
}

/// A handle of a static field may wait for the first use of its class; behind it is the real one.
/// The class is initialised now: not while something is held.
fn initialised(handles: &Handles, jni: Jni, handle: jobject) -> jobject {
    let class = jni.class_of(handle);
    let Some(refc) = jni.field(class, c"refc", c"Ljava/lang/Class;") else { return handle };
    let target = jni.field(class, c"target", c"Ljava/lang/invoke/VarHandle;");
    let Some(target) = target.and_then(|field| jni.get_object(handle, field)) else {
        return handle;
    };
    if let Some(class) = jni.get_object(handle, refc) {
        // If that fails, the access itself will fail too, and say why.
        jni.call_void(handles.unsafe_object, handles.ensure_initialised, class);
    }
    target
}

/// The place that a handle or updater has in its fields.
fn place(jni: Jni, handle: jobject) -> Option<Place> {
    const CLASS: &CStr = c"Ljava/lang/Class;";
    let class = jni.class_of(handle);
    let one = |class_field: &CStr, kind: &CStr, offset: &CStr, is_static: bool| {
        let holder = jni.field(class, class_field, kind)?;
        let offset = jni.field(class, offset, c"J")?;
        let offset = jni.get_long(handle, offset);
        Some(Place { class: jni.get_object(handle, holder)?, offset, is_static })
    };
    one(c"receiverType", CLASS, c"fieldOffset", false)
        .or_else(|| one(c"base", c"Ljava/lang/Object;", c"fieldOffset", true))
        .or_else(|| one(c"tclass", CLASS, c"offset", false))
}

/// The field at a place, in the class or one that it extends.
fn find(agent: &Agent, handles: &Handles, jni: Jni, place: &Place) -> Option<Found> {
    if !jni.is_instance(place.class, handles.class) {
        return None;
    }
    let mut next = Some(place.class);
    while let Some(class) = next {
        for field in agent.jvmti.fields(class) {
            let (name, flags) = agent.jvmti.field(class, field)?;
            if (flags & access::STATIC != 0) != place.is_static {
                continue;
            }
            let reflected = jni.reflected(class, field, place.is_static)?;
            let method =
                if place.is_static { handles.static_offset } else { handles.reflected_offset };
            let offset = jni.call_long(handles.unsafe_object, method, &[reflected]);
            jni.drop_local(reflected);
            if offset == Some(place.offset) {
                return Some(Found { class, name, flags });
            }
        }
        next = jni.super_class(class);
    }
    None
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_variableSite")]
extern "system" fn variable_site(
    env: *mut JNIEnv,
    _class: jclass,
    site: jint,
    variable: jlong,
) -> jint {
    guarded(env, |agent, _, _| {
        let (site, variable) = (site as u32, variable as u64);
        // A site that is not there makes no event.
        let found = site_for(agent, site, variable).unwrap_or_default();
        let word = variable << 32 | u64::from(found);
        agent.sites.at(site as usize).store(word, Ordering::Release);
        found as jint
    })
}

/// The site of a variable at a call: what the call says, but about the field.
fn site_for(agent: &Agent, site: u32, variable: u64) -> Option<u32> {
    let mut facts = lock(&agent.sender.facts);
    let mut variables = lock(&agent.variables);
    if let Some(&known) = variables.sites.get(&(site, variable)) {
        return Some(known);
    }
    let (owner, name) = variables.field(variable)?.clone();
    let both = facts.site(site)?.model == Model::ReachedEither as u8;
    let mut first = None;
    for i in 0..=u32::from(both) {
        let mut own = facts.site(site + i)?.clone();
        own.target = Target::Field { owner: owner.clone(), name: name.clone() };
        let number = facts.add_own(own)?;
        first = first.or(Some(number));
    }
    variables.sites.insert((site, variable), first?);
    first
}
