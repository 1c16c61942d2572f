//! Schedules the steps: those that need no build run concurrently with it, those with cargo run one
//! after the other, and those that measure time run alone at the end.

use std::sync::OnceLock;

use anyhow::Result;

use super::steps::{Step, Turn};
use super::{Count, Selection, examples};
use crate::build;
use crate::pages;
use crate::workers;
use crate::workspace::Workspace;

/// One more thread runs cargo. Suites mostly wait for the processes that they start, so there can
/// be more threads than processors.
const EXTRA_THREADS: usize = 2;

/// Steps that run the Rust examples.
const OF_EXAMPLES: [&str; 4] = ["authorization server", "deployment", "examples", "programs of snippets"];

/// Steps that run servers of the official SDKs.
const OF_PEERS: [&str; 2] = ["inspect states at all widths", "matrix"];

/// Runs the steps with `run`, which treats errors as results, and returns its results.
pub(super) fn run<R: Send>(
    workspace: &Workspace,
    selection: &Selection,
    steps: &[&Step],
    run: impl Fn(&'static str, &dyn Fn(&Workspace) -> Result<Count>) -> R + Sync,
) -> Vec<R> {
    let of = |turn: Turn| steps.iter().copied().filter(move |step| step.turn == turn);
    let one = |step: &Step| run(step.name, &|workspace| (step.work)(workspace, &selection.of(step)));
    let (installed, built) = (OnceLock::new(), OnceLock::new());
    let install = || run("tools", &|_| install(workspace, selection, steps).map(|()| Count::one_passed(String::new())));
    let build = || run("build", &|_| build_all(workspace, selection, steps).map(|()| Count::one_passed(String::new())));
    let needs_build = steps.iter().any(|step| step.turn != Turn::Early);

    let mut lanes: Vec<Box<dyn Fn() -> Vec<R> + Sync + '_>> = vec![
        Box::new(|| opening(&installed, || vec![install()])),
        Box::new(|| {
            let built = opening(&built, || needs_build.then(build));
            installed.wait();
            built.into_iter().chain(of(Turn::Cargo).map(one)).collect()
        }),
    ];
    for step in of(Turn::Early).chain(of(Turn::Beside)) {
        let (installed, built) = (&installed, &built);
        lanes.push(Box::new(move || {
            installed.wait();
            if step.turn == Turn::Beside {
                built.wait();
            }
            vec![one(step)]
        }));
    }
    let mut done = Vec::new();
    workers::run(1 + EXTRA_THREADS, &lanes, |lane| lane(), |_, results| done.extend(results));
    done.extend(of(Turn::Last).map(one));
    done
}

/// Builds what the steps need.
fn build_all(workspace: &Workspace, selection: &Selection, steps: &[&Step]) -> Result<()> {
    build::languages(workspace, &selection.built_languages(steps))?;
    if steps.iter().any(|step| OF_EXAMPLES.contains(&step.name) && selection.has(step, "rust")) {
        build::step("examples in Rust", || examples::build(workspace))?;
    }
    Ok(())
}

/// Installs linters, test tools and the official SDKs.
fn install(workspace: &Workspace, selection: &Selection, steps: &[&Step]) -> Result<()> {
    for language in &selection.languages {
        (language.install_tools)(workspace)?;
    }
    pages::install(workspace)?;
    if steps.iter().any(|step| OF_PEERS.contains(&step.name)) {
        build::peers::install(workspace)?;
    }
    Ok(())
}

/// Opens a gate after the work, even if that fails or panics.
fn opening<T>(gate: &OnceLock<()>, work: impl FnOnce() -> T) -> T {
    struct Opens<'a>(&'a OnceLock<()>);
    impl Drop for Opens<'_> {
        fn drop(&mut self) {
            let _ = self.0.set(());
        }
    }
    let _opens = Opens(gate);
    work()
}
