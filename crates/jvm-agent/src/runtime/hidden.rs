//! Hidden classes: the virtual machine shows them to no agent before they run, so they are not
//! observed. They are counted, and named unless they are the proxies of lambdas, which only
//! pass on what they have captured.

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jthread};
use jvmti_bindings::sys::jvmti::jvmtiEnv;
use paceline_wire::NoteKind;

use super::agent::agent;
use super::natives::class_name;
use crate::rewrite::names::{dotted, is_platform};

/// What the report says of a class that has been prepared, by its descriptor.
#[derive(PartialEq, Eq, Debug)]
enum Hidden {
    No,
    Proxy,
    Other(Vec<u8>),
}

/// In the descriptor of a hidden class a dot is before what makes its name unique.
fn hidden(signature: &[u8]) -> Hidden {
    let name = class_name(signature);
    let Some(dot) = name.iter().rposition(|&b| b == b'.') else { return Hidden::No };
    let name = &name[..dot];
    if is_platform(name) || signature.starts_with(b"[") {
        return Hidden::No;
    }
    const PROXY: &[u8] = b"$$Lambda";
    if name.windows(PROXY.len()).any(|w| w == PROXY) {
        return Hidden::Proxy;
    }
    Hidden::Other(dotted(name))
}

/// A class has been prepared.
pub unsafe extern "system" fn on_prepare(
    _env: *mut jvmtiEnv,
    _jni: *mut JNIEnv,
    _thread: jthread,
    class: jclass,
) {
    let Some(agent) = agent() else { return };
    match hidden(&agent.jvmti.signature(class)) {
        Hidden::No => {}
        Hidden::Proxy => {
            agent.sender.note(NoteKind::Filter, b"proxies of lambdas (hidden classes)", 1);
        }
        Hidden::Other(name) => {
            let text = [&name[..], b": hidden classes are not observed"].concat();
            agent.sender.note(NoteKind::Failed, &text, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_hidden_is_reported() {
        assert_eq!(hidden(b"Lapp/Main;"), Hidden::No);
        assert_eq!(hidden(b"Lapp/Main$$Lambda.0x0000000800c03000;"), Hidden::Proxy);
        assert_eq!(hidden(b"Lapp/Made.0x0000000800c03000;"), Hidden::Other(b"app.Made".to_vec()));
        assert_eq!(hidden(b"Ljava/lang/invoke/LambdaForm$MH.0x0000000800c03000;"), Hidden::No);
    }
}
