//! The official SDKs used in tests: two virtual environments (the two release lines of the Python
//! SDK cannot share one), one npm tree, a Go module, and one build of Maven. The Rust SDK is a
//! package of the workspace.

use std::path::PathBuf;

use anyhow::Result;

use crate::build::c::Workshop;
use crate::build::{BUILD_TIMEOUT, jvm_peers, node, python, system};
use crate::process::must;
use crate::workspace::Workspace;

pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    python::make_venv(workspace, "mcp-1", Some(&workspace.path("tests/peers/python/requirements-1.txt")))?;
    python::make_venv(workspace, "mcp-2", Some(&workspace.path("tests/peers/python/requirements-2.txt")))?;
    node::install(workspace, "tests/peers/node")?;
    if system::maven().is_ok() {
        jvm_peers::install(workspace)?;
    }
    let Ok(go) = system::go() else { return Ok(()) };
    let mut build = workspace.command(go);
    build.current_dir(workspace.path("tests/peers/go")).env("CGO_ENABLED", "0").args(["build", "-o"]);
    build.arg(of_go(workspace)).arg(".");
    must(build, BUILD_TIMEOUT).map(drop)
}

/// The program of the Go SDK.
pub(crate) fn of_go(workspace: &Workspace) -> PathBuf {
    Workshop::of_tests(workspace, "go").program("peer-go")
}
