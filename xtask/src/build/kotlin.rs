//! Kotlin: the package, its tests and its fixtures. Maven builds them in `target/kotlin`, after
//! `trunkline-bindgen` has written the functions of the native library.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::build::{DEADLINE, launchers};
use crate::process::must;
use crate::stamp::write_if_changed;
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "bindings-uniffi/kotlin";

/// The command that builds the package and runs its tests.
pub(crate) fn test(workspace: &Workspace) -> Result<Command> {
    let mut bindgen = workspace.command(workspace.built("trunkline-bindgen"));
    bindgen.arg("kotlin").arg(workspace.built_library("trunkline_uniffi")).arg(folder(workspace).join("native"));
    must(bindgen, DEADLINE)?;
    for role in ["server", "client"] {
        write_launcher(workspace, role)?;
    }
    let mut maven = workspace.command("mvn");
    maven.current_dir(workspace.path(PACKAGE)).args(["--batch-mode", "--no-transfer-progress", "test"]);
    Ok(maven)
}

/// Writes the command of a fixture. Java reads its options from a file.
fn write_launcher(workspace: &Workspace, role: &str) -> Result<()> {
    let built = folder(workspace);
    let places = ["classes", "test-classes", "dependency/*"].map(|place| built.join(place));
    let class = format!("fixture.{}Kt", if role == "server" { "Server" } else { "Client" });
    let options = format!(
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djna.library.path={:?} -cp {:?} {class}\n",
        workspace.target.join("debug"),
        std::env::join_paths(places)?,
    );
    let file = built.join(format!("{role}.options"));
    write_if_changed(&file, options.as_bytes())?;
    let program = ["java".into(), PathBuf::from(format!("@{}", file.display()))];
    let extension = if cfg!(windows) { ".cmd" } else { "" };
    launchers::write_one(workspace, &workspace.path(&format!("tests/fixtures/kotlin/{role}{extension}")), &program)
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("kotlin")
}
