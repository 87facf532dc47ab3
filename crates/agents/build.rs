//! Compiles the agent for JVMs as a shared library, to be embedded.
//!
//! Cargo has no stable way to depend on the shared library of another package, so this runs cargo
//! once more, in a target folder of its own: the outer cargo holds the lock of the usual one. The
//! profile is that of the outer build. Everything that is needed has been fetched for the outer
//! build already, so the network is only tried if it has not.
//!
//! `PACELINE_JVM_PREBUILT=FILE` embeds a library that was compiled before, by a packager or for a
//! quick look at something else. It must be of the same version: that is checked when it is used.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The agent's package says by this variable where its sources are (`links` in its manifest).
const SOURCES: &str = "DEP_PACELINE_JVM_SOURCES";

/// What the outer build means for its own compiler, such as Clippy in the place of rustc.
const NOT_INHERITED: [&str; 4] =
    ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];

/// Names a library that is there already.
const PREBUILT: &str = "PACELINE_JVM_PREBUILT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={PREBUILT}");
    let library = env::var_os(PREBUILT).map_or_else(compiled, PathBuf::from);
    println!("cargo::rerun-if-changed={}", library.display());
    let bytes = fs::read(&library).unwrap_or_else(|e| panic!("{}: {e}", library.display()));
    println!("cargo::rustc-env=PACELINE_JVM_LIBRARY={}", library.display());
    println!("cargo::rustc-env=PACELINE_JVM_FILE=libpaceline_jvm.{}", ending());
    println!("cargo::rustc-env=PACELINE_JVM_CHECKSUM={:08x}", crc32fast::hash(&bytes));
}

/// Libraries have another ending on each system.
fn ending() -> &'static str {
    if variable("CARGO_CFG_TARGET_OS") == "macos" { "dylib" } else { "so" }
}

/// The library, compiled now.
fn compiled() -> PathBuf {
    let sources = PathBuf::from(variable(SOURCES));
    let target = PathBuf::from(variable("OUT_DIR")).join("agent");
    if !build(&sources, &target, true) && !build(&sources, &target, false) {
        panic!("the agent for JVMs does not compile; cargo says why above");
    }
    let profile = if is_release() { "release" } else { "debug" };
    let built = target.join(variable("TARGET")).join(profile);
    watch(&sources, &built.join("libpaceline_jvm.d"));
    built.join(format!("libpaceline_jvm.{}", ending()))
}

/// Compiles the library. Returns whether that worked.
fn build(sources: &Path, target: &Path, offline: bool) -> bool {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--lib", "--manifest-path"]);
    cargo.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(target);
    cargo.args(["--target", &variable("TARGET")]);
    cargo.args(is_release().then_some("--release")).args(offline.then_some("--offline"));
    NOT_INHERITED.iter().for_each(|name| _ = cargo.env_remove(name));
    cargo.status().is_ok_and(|status| status.success())
}

/// Compiles again when a source of the agent or what it depends on has changed.
fn watch(sources: &Path, list: &Path) {
    let list = fs::read_to_string(list).unwrap_or_default();
    let files = list.split_once(": ").map_or("", |(_, files)| files).trim();
    // Blanks inside of names are escaped.
    for file in files.replace("\\ ", "\0").split(' ') {
        println!("cargo::rerun-if-changed={}", file.replace('\0', " "));
    }
    println!("cargo::rerun-if-changed={}", sources.join("Cargo.toml").display());
    for lock in sources.ancestors().take(3).map(|folder| folder.join("Cargo.lock")) {
        if lock.is_file() {
            println!("cargo::rerun-if-changed={}", lock.display());
        }
    }
}

fn is_release() -> bool {
    variable("PROFILE") == "release"
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|e| panic!("cargo sets {name}: {e}"))
}
