//! `cargo xtask test`: builds, then runs all checks and suites, each with a deadline. A failing
//! step does not stop the others.

mod beginnings;
mod binding_modules;
pub(crate) mod bridge_peers;
mod checkout;
pub(crate) mod circles;
mod count;
mod coverage;
pub(crate) mod dependencies;
mod deployment;
mod examples;
pub(crate) mod features;
mod figure;
mod fixed_bounds;
pub(crate) mod host_readers;
pub(crate) mod inspect_page;
pub(crate) mod lint;
mod methods;
mod option_figures;
mod printed_calls;
mod programs;
mod promises;
mod prose;
pub(crate) mod reads;
pub(crate) mod results;
pub(crate) mod rust_docs;
pub(crate) mod sanitized;
mod schedule;
mod selection;
pub(crate) mod sizes;
mod snippets;
mod steps;
pub(crate) mod suites;
mod timings;
pub(crate) mod wire;
mod workflows;

use std::net::TcpListener;
use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use crate::console::{self, paint};
use crate::process::tail;
use crate::report;
use crate::workspace::Workspace;

pub(crate) use count::Count;
pub(crate) use selection::Selection;
pub(crate) use steps::{Step, Turn};

/// The whole output of a failed step is in `target/reports/logs`.
const MAX_SHOWN_LINES: usize = 60;
/// Where servers over HTTP listen by default.
const DEFAULT_PORT: u16 = 8000;

pub(crate) fn run(workspace: Workspace, options: &[String]) -> Result<bool> {
    let start = Instant::now();
    let selection = Selection::parse(&workspace, options)?;
    let steps = selection.steps()?;
    // A test that used the default port would fail if another one did at the same time, so each
    // that does always fails.
    let _default_port = TcpListener::bind(("127.0.0.1", DEFAULT_PORT));
    // Messages are only recorded if they will be checked. If nothing else is selected, the records
    // of the last run are checked.
    let records = steps.iter().any(|step| step.name == steps::WIRE).then(|| wire::records(&workspace));
    if records.is_some() && steps.len() > 1 {
        wire::forget(&workspace, "")?;
    }
    let results = schedule::run(&workspace, &selection, &steps, |name, work| {
        let workspace =
            Workspace { records: records.as_ref().map(|folder| folder.join(file_name(name))), ..workspace.clone() };
        let start = Instant::now();
        let task = console::begin(name);
        let outcome = work(&workspace);
        drop(task);
        finish(&workspace, name, start, outcome)
    });
    let results = results.into_iter().collect::<Result<Vec<Done>>>()?;

    let (passed, failed) =
        results.iter().fold((0, 0), |(passed, failed), result| (passed + result.passed, failed + result.failed));
    let steps: Vec<_> = results.iter().map(Done::to_json).collect();
    report::write(
        &workspace,
        "test",
        json!({"steps": steps, "passed": passed, "failed": failed, "seconds": start.elapsed().as_secs_f64()}),
    )?;
    // Again at the end, because CI may keep no more than that.
    for Done { name, faults, .. } in results.iter().filter(|result| result.failed > 0) {
        console::line(&format!("{} {name} (target/reports/logs/{})", paint(console::RED, "failed:"), log_name(name)));
        console::line(&faults.join("\n"));
    }
    timings::write(&workspace, start)?;
    if selection.shows_timings() {
        timings::show(start);
    }
    if let Some(left) = left_to_the_long_form(&selection, &results) {
        console::line(&left);
    }
    console::line(&format!("{passed} passed, {failed} failed"));
    Ok(failed == 0)
}

/// The checks that the short form has left out, by step, and its missing steps.
fn left_to_the_long_form(selection: &Selection, results: &[Done]) -> Option<String> {
    let of_step = |done: &Done| (done.left > 0).then(|| format!("{} of {}", done.left, done.name));
    let mut left: Vec<String> = results.iter().filter_map(of_step).collect();
    let steps = selection.left_steps();
    if !steps.is_empty() {
        left.push(format!("the steps {}", steps.join(", ")));
    }
    (!left.is_empty()).then(|| format!("left to `cargo xtask test --long`: {}", left.join("; ")))
}

struct Done {
    name: &'static str,
    passed: usize,
    failed: usize,
    left: usize,
    seconds: f64,
    note: String,
    /// The failed tests with their errors, or else the end of the output.
    faults: Vec<String>,
}

/// Shows the results of a step and stores its output.
fn finish(workspace: &Workspace, name: &'static str, start: Instant, outcome: Result<Count>) -> Result<Done> {
    let count = outcome.unwrap_or_else(|error| Count { failed: 1, said: format!("{error:#}"), ..Count::default() });
    let seconds = start.elapsed().as_secs_f64();
    let logs = workspace.target.join("reports").join("logs");
    std::fs::create_dir_all(&logs)?;
    std::fs::write(logs.join(log_name(name)), &count.said)?;

    let verdict = if count.failed == 0 { paint(console::GREEN, "ok    ") } else { paint(console::RED, "FAILED") };
    let sums = if count.passed + count.failed == 1 {
        String::new()
    } else {
        format!(": {} passed, {} failed", count.passed, count.failed)
    };
    let note = if count.note.is_empty() { String::new() } else { format!(", {}", count.note) };
    let mut shown = format!("{verdict} {name}{sums}{note} {}", paint(console::DIM, &format!("{seconds:.1} s")));
    let mut faults = Vec::new();
    if count.failed > 0 {
        let indented = |line: &str| format!("       {line}");
        let end: Vec<_> = tail(&count.said, MAX_SHOWN_LINES).lines().map(indented).collect();
        faults.extend(results::failed_tests(&count.said).into_iter().take(MAX_SHOWN_LINES).map(indented));
        shown.extend(faults.iter().chain(&end).flat_map(|line| ["\n", line]));
        if faults.is_empty() {
            faults = end;
        }
    }
    console::line(&shown);
    let Count { passed, failed, left, note, .. } = count;
    Ok(Done { name, passed, failed, left, seconds, note, faults })
}

fn log_name(step: &str) -> String {
    format!("{}.txt", file_name(step))
}

fn file_name(step: &str) -> String {
    step.replace(' ', "-")
}

impl Done {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "step": self.name, "passed": self.passed, "failed": self.failed, "left": self.left,
            "seconds": self.seconds, "note": self.note,
        })
    }
}
