//! One `cargo build` for the whole workspace: the same set of packages in every command, so that
//! features never differ and nothing is compiled twice. Only xtask itself stays out: a running
//! program cannot be replaced on Windows.

use anyhow::Result;

use crate::build::DEADLINE;
use crate::process::must;
use crate::workspace::Workspace;

/// The packages of every cargo command of xtask.
pub(crate) const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "xtask"];

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.arg("build").args(PACKAGES);
    must(cargo, DEADLINE).map(drop)
}
