//! Says to packages that depend on this one where its sources are: `paceline-agents` compiles them
//! into the library that it carries.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=sources={}", env!("CARGO_MANIFEST_DIR"));
}
