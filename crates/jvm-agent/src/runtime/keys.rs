//! Which entry of a concurrent map a key means: equal keys have one index, other keys another one.
//!
//! An index has 64 bits. Numbers, texts and objects that are equal to themselves only fit in. All
//! others are numbered by the hook, which calls `equals` (`PacelineKeys`). Where that fails there
//! is only the hash code; a note says that different entries may look like one.

use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jlong, jmethodID, jobject};
use paceline_wire::NoteKind;

use super::jvm::Jni;
use super::natives::{Handles, guarded};

/// What keys are looked at with.
pub struct KeyHandles {
    string: jclass,
    long: jclass,
    long_value: jmethodID,
    /// Classes whose objects are equal if their hash codes are.
    small: Vec<jclass>,
    /// Final classes whose objects are equal if their texts are.
    printed: Vec<jclass>,
    enumeration: jclass,
    hash_code: jmethodID,
    to_string: jmethodID,
    equals: jmethodID,
}

const EQUALS: (&CStr, &CStr) = (c"equals", c"(Ljava/lang/Object;)Z");

impl KeyHandles {
    /// Looks everything up.
    pub fn find(jni: Jni) -> Option<KeyHandles> {
        let class = |name: &CStr| jni.find_class(name).map(|c| jni.keep(c));
        let object = class(c"java/lang/Object")?;
        let long = class(c"java/lang/Long")?;
        let small = [
            c"java/lang/Integer",
            c"java/lang/Short",
            c"java/lang/Byte",
            c"java/lang/Character",
            c"java/lang/Boolean",
        ];
        let printed = [c"java/util/UUID", c"java/lang/Double", c"java/lang/Float"];
        Some(KeyHandles {
            string: class(c"java/lang/String")?,
            long,
            long_value: jni.method(long, c"longValue", c"()J")?,
            small: small.into_iter().map(class).collect::<Option<_>>()?,
            printed: printed.into_iter().map(class).collect::<Option<_>>()?,
            enumeration: class(c"java/lang/Enum")?,
            hash_code: jni.method(object, c"hashCode", c"()I")?,
            to_string: jni.method(object, c"toString", c"()Ljava/lang/String;")?,
            equals: jni.method(object, EQUALS.0, EQUALS.1)?,
        })
    }

    /// Whether an object is equal to itself only.
    fn is_identity(&self, jni: Jni, key: jobject) -> bool {
        if jni.is_instance(key, self.enumeration) {
            return true;
        }
        let class = jni.class_of(key);
        let inherited = jni.method(class, EQUALS.0, EQUALS.1) == Some(self.equals);
        jni.drop_local(class);
        inherited
    }
}

/// The index of a key, as far as the key says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    /// The object itself, by its number.
    Object(u64),
    /// Only a hash code is known.
    Hashed(u32),
    /// A small number, of one of the small classes.
    Small(usize, u32),
    Long(i64),
    /// A text, which is mixed together with its class.
    Text,
}

/// Bits for the value of a `long`; larger ones are mixed, as texts are.
const LONG_BITS: u32 = 61;

/// The two topmost bits distinguish objects, small numbers, longs and the rest, which is `mixed`.
fn index(key: Key, mixed: u64) -> u64 {
    let (tag, value) = match key {
        Key::Object(id) => (0, id),
        Key::Hashed(hash) => (0, 1 << LONG_BITS | u64::from(hash)),
        Key::Small(class, value) => (1, (class as u64) << 32 | u64::from(value)),
        Key::Long(value) if value << (64 - LONG_BITS) >> (64 - LONG_BITS) == value => {
            (2, value as u64 & ((1 << LONG_BITS) - 1))
        }
        Key::Long(_) | Key::Text => (3, mixed >> 2),
    };
    tag << 62 | value
}

/// 64 bits of a hash made to spread (SipHash): of a thousand million texts, two are taken for one
/// with a probability of one in ten.
fn mix(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_keyIndex")]
extern "system" fn key_index(env: *mut JNIEnv, _class: jclass, key: jobject) -> jlong {
    guarded(env, |_, handles, jni| {
        if key.is_null() {
            return 0;
        }
        look_at(handles, jni, key).map_or(-1, |(key, mixed)| index(key, mixed) as jlong)
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_hashedKey")]
extern "system" fn hashed_key(env: *mut JNIEnv, _class: jclass, key: jobject) -> jlong {
    guarded(env, |agent, handles, jni| {
        let text = b"keys of concurrent maps that are distinguished by their hash codes only";
        agent.sender.note(NoteKind::Inexact, text, 1);
        let hash = jni.call_int(key, handles.keys.hash_code) as u32;
        index(Key::Hashed(hash), 0) as jlong
    })
}

#[unsafe(export_name = "Java_java_lang_PacelineAgent_forgottenKey")]
extern "system" fn forgotten_key(env: *mut JNIEnv, _class: jclass) {
    guarded(env, |agent, _, _| {
        let text = b"keys of concurrent maps that were known by their hash codes after a long time";
        agent.sender.note(NoteKind::Inexact, text, 1);
    });
}

/// A key and what it is mixed to, if it has to be; none if only `equals` knows.
fn look_at(handles: &Handles, jni: Jni, key: jobject) -> Option<(Key, u64)> {
    let known = &handles.keys;
    if jni.is_instance(key, known.string) {
        return Some((Key::Text, mix((0, jni.characters(key)))));
    }
    if jni.is_instance(key, known.long) {
        let value = jni.call_long(key, known.long_value, &[]).unwrap_or(0);
        return Some((Key::Long(value as i64), mix((usize::MAX, value))));
    }
    let hash = || jni.call_int(key, known.hash_code) as u32;
    if let Some(class) = known.small.iter().position(|&class| jni.is_instance(key, class)) {
        return Some((Key::Small(class, hash()), 0));
    }
    let printed = known.printed.iter().position(|&class| jni.is_instance(key, class));
    let text = printed.and_then(|_| jni.call_object(key, known.to_string));
    if let (Some(class), Some(text)) = (printed, text) {
        let mixed = mix((class + 1, jni.characters(text)));
        jni.drop_local(text);
        return Some((Key::Text, mixed));
    }
    if known.is_identity(jni, key) {
        return Some((Key::Object(jni.call_static_long(handles.hook, handles.id_of, key)), 0));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_keys_have_different_indices() {
        let far = 1 << 40;
        let keys = [
            (Key::Object(7), 0),
            (Key::Hashed(7), 0),
            (Key::Small(0, 7), 0),
            (Key::Small(1, 7), 0),
            (Key::Long(7), 0),
            (Key::Long(-7), 0),
            (Key::Long(far + 7), 0),
            (Key::Long(i64::MIN), mix(1)),
            (Key::Long(i64::MAX), mix(2)),
            (Key::Text, mix("Aa")),
            (Key::Text, mix("BB")),
        ];
        let mut indices: Vec<_> = keys.iter().map(|&(key, mixed)| index(key, mixed)).collect();
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices.len(), keys.len());
    }
}
