//! One `cargo build` for the whole workspace: the same set of packages in every command, so that
//! features never differ and nothing is compiled twice. Only xtask itself stays out: a running
//! program cannot be replaced on Windows.

use std::process::Command;

use anyhow::Result;

use crate::build::DEADLINE;
use crate::process::must;
use crate::workspace::Workspace;

/// The packages of every cargo command of xtask.
pub(crate) const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "xtask"];

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let mut cargo = cargo(workspace);
    cargo.arg("build").args(PACKAGES);
    must(cargo, DEADLINE).map(drop)
}

/// Cargo with clippy as the compiler of the workspace: one pass lints and compiles. `cargo clippy`
/// would check everything, other crates too, a second time. Cargo keeps the warnings, and the step
/// "rust clippy" reads them again.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let mut cargo = workspace.cargo();
    cargo.env("RUSTC_WORKSPACE_WRAPPER", format!("clippy-driver{}", std::env::consts::EXE_SUFFIX));
    cargo
}
