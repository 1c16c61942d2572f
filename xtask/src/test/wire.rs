//! Checks every message recorded in the tests with a closed-world checker (tests/wire), because the
//! schemas of the protocol are open.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{Output, run};
use crate::test::{Count, Selection, results};
use crate::workspace::Workspace;

const TIMEOUT: Duration = Duration::from_secs(600);
/// The transports used in the tests.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "memory"];

const FOLDER: &str = "wire";

/// The directory of all records; each step has a subdirectory.
pub(crate) fn records(workspace: &Workspace) -> PathBuf {
    workspace.target.join(FOLDER)
}

/// Deletes the records of a step, or of all steps for an empty name, and returns their directory.
pub(crate) fn forget(workspace: &Workspace, step: &str) -> Result<PathBuf> {
    let records = records(workspace).join(step);
    if records.exists() {
        std::fs::remove_dir_all(&records).with_context(|| format!("cannot empty {}", records.display()))?;
    }
    Ok(records)
}

/// Checks the records of one step.
pub(crate) fn check_step(workspace: &Workspace, step: &str) -> Result<Count> {
    check_folder(workspace, &format!("{FOLDER}/{step}"), &format!("wire-{step}")).map(|(count, _)| count)
}

/// The checker's report on a directory of records, and its whole output.
fn check_folder(workspace: &Workspace, folder: &str, report: &str) -> Result<(Count, Output)> {
    let mut command = workspace.command(workspace.built("wire-check"));
    command.current_dir(&workspace.target).env_remove("TRUNKLINE_WIRE_LOG");
    command.arg("--tolerate").arg(workspace.path("tests/wire/tolerated.json"));
    command.arg("--report").arg(workspace.report(&format!("{report}.json"))?).arg(folder);
    let output = run(command, TIMEOUT)?;
    let mut count = results::of_one(&output);
    count.note = output.stdout.lines().filter(|line| line.contains("messages checked")).collect();
    Ok((count, output))
}

pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let (mut count, output) = check_folder(workspace, FOLDER, FOLDER)?;
    let report: Value = workspace.json(workspace.report(&format!("{FOLDER}.json"))?)?;
    let sums = TRANSPORTS.map(|transport| (transport, messages_over(&report, transport)));
    for (transport, messages) in sums {
        count.note.push_str(&format!(", {messages} of them over {transport}"));
        if messages == 0 && selection.is_everything() {
            count.failed += 1;
            count.said.push_str(&format!("\nno message over {transport} was recorded: nothing is proved for it"));
        }
    }
    for known in output.stdout.lines().filter(|line| line.contains(" tolerated in what was received in ")) {
        count.note.push_str(&format!("\n       {known}"));
    }
    Ok(count)
}

/// Number of checked messages in all revisions.
fn messages_over(report: &Value, transport: &str) -> u64 {
    let revisions = report["messages"].as_object().into_iter().flatten();
    let counts = revisions.map(|(_, transports)| &transports[transport]);
    counts.map(|count| count["sent"].as_u64().unwrap_or(0) + count["received"].as_u64().unwrap_or(0)).sum()
}
