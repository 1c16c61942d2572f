//! Runs the client programs in `examples/`, including those in the README, as users do. Each starts
//! its server itself and checks nothing: the test is that it exits successfully and has printed
//! something.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::build::rust::{self, PACKAGES};
use crate::build::{BUILD_TIMEOUT, system};
use crate::language::Language;
use crate::process::{must, run};
use crate::stamp::{files_under, stem_of};
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const RUN_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn run_all(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut count = Count::default();
    for source in files_under(&workspace.path("examples"))? {
        let is_client = stem_of(&source).contains("client");
        let language = Language::of_example(&source).filter(|language| selection.languages.contains(language));
        let Some(language) = language.filter(|_| is_client && is_for_this_system(&source)) else { continue };
        if let Err(missing) = of_system(&source)
            && std::env::var_os("CI").is_none()
        {
            let name = source.file_name().unwrap_or_default().to_string_lossy();
            count.note = format!("{}{name} left out: {missing:#}; ", count.note);
            continue;
        }
        let fault = match (language.start)(workspace, &source).and_then(|command| run(command, RUN_TIMEOUT)) {
            Ok(output) if output.success() && !output.stdout.trim().is_empty() => None,
            Ok(output) => Some(format!("{}\n[{}]", output.text, output.ending())),
            Err(error) => Some(format!("{error:#}")),
        };
        count.add(fault.map(|fault| format!("{}: {fault}", source.display())));
    }
    if count.passed + count.failed == 0 {
        count.add(["there is no client program in examples/".to_owned()]);
    }
    Ok(count)
}

/// Builds the Rust examples before any step that may run concurrently, because cargo would make
/// them wait.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let mut cargo = rust::cargo(workspace);
    cargo.args(["build", "--examples"]).args(PACKAGES);
    must(cargo, BUILD_TIMEOUT).map(drop)
}

/// Checks for the system interpreter or compiler that an example needs.
fn of_system(source: &Path) -> Result<()> {
    match source.extension().and_then(|ending| ending.to_str()) {
        Some("lua") => system::luajit().map(drop),
        Some("go") => system::go().map(drop),
        _ => Ok(()),
    }
}

/// Returns whether an example can be built here: the event loops are Linux libraries, and programs
/// in other languages find the library as they do on Linux.
fn is_for_this_system(source: &Path) -> bool {
    let is_of_linux = ["loops/loops_client.c", "luajit/hello_client.lua", "go/hello_client.go"];
    cfg!(target_os = "linux") || !is_of_linux.iter().any(|name| source.ends_with(name))
}
