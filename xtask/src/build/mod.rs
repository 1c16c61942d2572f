//! Builds everything that the demo and the tests run, inside the tree, and only what has changed.

pub(crate) mod c;
pub(crate) mod jvm;
pub(crate) mod jvm_peers;
pub(crate) mod launchers;
pub(crate) mod node;
pub(crate) mod peers;
pub(crate) mod python;
pub(crate) mod rust;
pub(crate) mod swift;
pub(crate) mod system;
pub(crate) mod web;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::console;
use crate::language::Language;
use crate::workspace::Workspace;

/// One build step may take this long on a slow machine with a slow network.
pub(crate) const BUILD_TIMEOUT: Duration = Duration::from_secs(1800);

/// Builds what the fixtures of these languages need. What needs no native library is built while
/// cargo compiles, which leaves processors idle where crates wait for one.
pub(crate) fn languages(workspace: &Workspace, languages: &[Language]) -> Result<()> {
    std::thread::scope(|scope| {
        let sources = scope.spawn(|| {
            languages.iter().try_for_each(|language| {
                step(&format!("{}: sources", language.title), || (language.build_sources)(workspace))
            })
        });
        // The program has the page in it.
        let crates = step("page of inspect", || web::build(workspace))
            .and_then(|()| step("crates: core, bindings, fixtures", || rust::build(workspace)));
        crates.and(sources.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    for language in languages {
        step(&format!("{}: package and fixtures", language.title), || (language.build)(workspace))?;
    }
    launchers::write(workspace, languages)
}

/// Held during each installation, because two of them must not write to the same directory.
fn installing() -> MutexGuard<'static, ()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    INSTALLING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one step and shows its time.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let _task = console::begin(name);
    let start = Instant::now();
    work()?;
    let seconds = format!("{:.1} s", start.elapsed().as_secs_f64());
    console::line(&format!(
        "{} {name} {}",
        console::paint(console::GREEN, "built"),
        console::paint(console::DIM, &seconds)
    ));
    Ok(())
}
