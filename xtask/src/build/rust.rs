//! One `cargo build` for the whole workspace: every command uses the same set of packages, so that
//! features never differ and nothing is compiled twice. Only xtask itself is excluded, because a
//! running program cannot be replaced on Windows.

use std::process::Command;

use anyhow::Result;

use crate::build::BUILD_TIMEOUT;
use crate::process::must;
use crate::workspace::Workspace;

/// The packages of every cargo command of xtask.
pub(crate) const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "xtask"];

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let mut cargo = cargo(workspace);
    // An example has the features of the tests' dependencies: without it, the tests would compile
    // what they share with the programs once more.
    cargo.args(["build", "--lib", "--bins", "--example", "weather"]).args(PACKAGES);
    must(cargo, BUILD_TIMEOUT).map(drop)
}

/// Cargo with clippy as the compiler of the workspace, so that one pass lints and compiles. `cargo
/// clippy` would check everything a second time, including other crates. Cargo caches the warnings,
/// and the step "rust clippy" reads them.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let mut cargo = workspace.cargo();
    cargo.env(WRAPPER.0, WRAPPER.1);
    cargo
}

/// The variable that makes cargo do so.
pub(crate) const WRAPPER: (&str, &str) =
    ("RUSTC_WORKSPACE_WRAPPER", if cfg!(windows) { "clippy-driver.exe" } else { "clippy-driver" });
