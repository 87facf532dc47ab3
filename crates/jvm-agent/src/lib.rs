//! The agent that observes Java programs: it rewrites classes as they are loaded, so that they
//! record what their threads do, and sends that as a recorded stream (`paceline_wire`).
//!
//! - `classfile`: class files, and a patcher that only inserts.
//! - `rewrite`: what is inserted into which class.
//! - `hook`: the classes that inserted code calls; most are Java (`hook/java`).
//! - `options`, `program`, `holds`, `sender`: what was chosen, what is known, what is sent.
//! - `tools`: the processes and classes that are none of the application's.
//! - `runtime`: the part inside the virtual machine, with all `unsafe` code.
//!
//! `docs/jvm.md` says what is observed and what is not.

pub mod classfile;
pub mod holds;
pub mod hook;
pub mod options;
pub mod program;
pub mod rewrite;
#[allow(unsafe_code)]
pub mod runtime;
pub mod sender;
pub mod tools;
