//! Where the time of a run goes: `target/reports/steps.json`, and the table of `--timings`.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

use crate::console::{self, Done};
use crate::process::own_cpu_seconds;
use crate::report;
use crate::table::Table;
use crate::workspace::Workspace;

/// Writes the report of the steps that have run since `start`, and of the parts of each.
pub(super) fn write(workspace: &Workspace, start: Instant) -> Result<()> {
    let step = |done: &Done| {
        json!({
            "step": done.name, "within": done.within, "startSeconds": (done.start - start).as_secs_f64(),
            "seconds": done.seconds, "cpuSeconds": done.cpu,
        })
    };
    let steps: Vec<Value> = console::done().iter().map(step).collect();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), own_cpu_seconds());
    report::write(workspace, "steps", json!({"steps": steps, "seconds": seconds, "cpuSeconds": cpu}))
}

/// Shows them, those that use the processors longest first, with their parts below.
pub(super) fn show(start: Instant) {
    let mut done = console::done();
    done.sort_by(|one, other| other.cpu.total_cmp(&one.cpu));
    let seconds = |seconds: f64| format!("{seconds:.1}");
    let row = |name: String, done: &Done| {
        (name, vec![seconds((done.start - start).as_secs_f64()), seconds(done.seconds), seconds(done.cpu)])
    };
    let parts = |of: &str, indent: &str| -> Vec<_> {
        let parts = done.iter().filter(|done| done.within.as_deref() == Some(of));
        parts.map(|done| row(format!("{indent}{}", done.name), done)).collect()
    };
    let mut rows = Vec::new();
    for step in done.iter().filter(|done| done.within.is_none()) {
        rows.push(row(step.name.clone(), step));
        rows.extend(parts(&step.name, "  "));
    }
    let columns = ["begins at", "seconds", "of the processors"].map(str::to_owned).to_vec();
    console::line(&Table { title: "steps", columns, rows }.to_console());
    let (wall, cpu) = (start.elapsed().as_secs_f64(), own_cpu_seconds());
    console::line(&format!("{wall:.0} s, {cpu:.0} s of the processors"));
}
