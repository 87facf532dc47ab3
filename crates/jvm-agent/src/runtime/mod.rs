//! The part that runs inside the virtual machine. All `unsafe` code of the agent is here: calls of
//! JVMTI and JNI, and memory that compiled Java code writes to.

pub mod agent;
mod buffer;
mod hidden;
mod jvm;
mod keys;
mod memory;
mod natives;
mod redundant;
mod shield;
mod statics;
mod threads;
pub mod variables;
