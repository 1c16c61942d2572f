//! Swift: the package and its programs, which `SwiftPM` compiles in `target/swift`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::BUILD_TIMEOUT;
use crate::process::must;
use crate::stamp::{stem_of, write_if_changed};
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "bindings-uniffi/swift";
pub(crate) const FIXTURES: &str = "tests/fixtures/swift/programs";
/// The packages with a program in each file.
pub(crate) const PROGRAM_FILES: [&str; 3] = ["docs/snippets", "examples", BENCHES];
const BENCHES: &str = "benches";

/// Where all programs are compiled, so that the package is compiled for them once.
const PROGRAMS: &str = "programs/.build";

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    for folder in [FIXTURES].into_iter().chain(PROGRAM_FILES) {
        let mut build = swift(workspace, "build", folder, PROGRAMS);
        // Otherwise, a manifest that lists its folder is not read again.
        build.args(["--manifest-cache", "none"]);
        must(build, BUILD_TIMEOUT)?;
    }
    Ok(())
}

/// Builds the optimized benchmark programs, and returns that of a role.
pub(crate) fn bench(workspace: &Workspace, role: &str, library: &Path) -> Result<PathBuf> {
    const PROFILE: &str = "release";
    let mut build = swift_with(workspace, library, "build", BENCHES, BENCHES);
    build.args(["--configuration", PROFILE, "--manifest-cache", "none"]);
    must(build, BUILD_TIMEOUT)?;
    Ok(scratch(workspace, BENCHES).join(PROFILE).join(format!("bench-{role}")))
}

/// A command of `SwiftPM` for the package in a folder. Programs find the native library where cargo
/// has built it.
pub(crate) fn swift(workspace: &Workspace, command: &str, folder: &str, name: &str) -> Command {
    swift_with(workspace, &workspace.target.join("debug"), command, folder, name)
}

/// The same with the native library in a directory.
fn swift_with(workspace: &Workspace, library: &Path, command: &str, folder: &str, name: &str) -> Command {
    let mut swift = workspace.command("swift");
    swift.current_dir(workspace.path(folder)).arg(command).arg("--scratch-path").arg(scratch(workspace, name));
    swift
        .args(["-Xlinker", "-L"])
        .arg("-Xlinker")
        .arg(library)
        .args(["-Xlinker", "-rpath"])
        .arg("-Xlinker")
        .arg(library);
    swift
}

/// A program that has been built.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    scratch(workspace, PROGRAMS).join("debug").join(name)
}

/// The command that runs a snippet or an example. It finds others in `.build/debug`, as it does in
/// its package.
pub(crate) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut command = workspace.command(program(workspace, &stem_of(source)));
    command.current_dir(workspace.target.join("swift/programs"));
    Ok(command)
}

/// The command that runs a program that is in no package: those in its directory become one, as the
/// snippets are.
pub(crate) fn start_pasted(workspace: &Workspace, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a program lies in a folder")?;
    let manifest = workspace.text(Path::new(PROGRAM_FILES[0]).join("Package.swift"))?;
    let package = workspace.path(PACKAGE).display().to_string();
    let manifest = manifest.replace(&format!("../../{PACKAGE}"), &package);
    write_if_changed(&folder.join("Package.swift"), manifest.as_bytes())?;
    let mut build = swift(workspace, "build", &folder.to_string_lossy(), PROGRAMS);
    build.args(["--manifest-cache", "none"]);
    must(build, BUILD_TIMEOUT)?;
    start(workspace, source)
}

fn scratch(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("swift").join(name)
}
