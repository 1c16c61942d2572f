//! Swift: the package and its fixtures, which `SwiftPM` compiles in `target/swift`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::build::DEADLINE;
use crate::process::must;
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "bindings-uniffi/swift";
pub(crate) const FIXTURES: &str = "tests/fixtures/swift/programs";

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    must(swift(workspace, "build", FIXTURES, "fixtures"), DEADLINE).map(drop)
}

/// A command of `SwiftPM` for the package in a folder. Programs find the native library where cargo
/// has built it.
pub(crate) fn swift(workspace: &Workspace, command: &str, folder: &str, name: &str) -> Command {
    let library = workspace.target.join("debug");
    let mut swift = workspace.command("swift");
    swift.current_dir(workspace.path(folder)).arg(command).arg("--scratch-path").arg(scratch(workspace, name));
    swift
        .args(["-Xlinker", "-L"])
        .arg("-Xlinker")
        .arg(&library)
        .args(["-Xlinker", "-rpath"])
        .arg("-Xlinker")
        .arg(&library);
    swift
}

/// A program of the fixtures.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    scratch(workspace, "fixtures").join("debug").join(name)
}

fn scratch(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("swift").join(name)
}
