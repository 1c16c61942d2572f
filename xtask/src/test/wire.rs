//! Every message that crossed in the tests goes through the closed-world checker (tests/wire).

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::house::House;
use crate::process::run;
use crate::test::{Choice, Count, counts};

const DEADLINE: Duration = Duration::from_secs(600);
/// What messages travel over in the tests.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "memory"];

const FOLDER: &str = "wire";

/// The folder of all records; each step has its own in it.
pub(crate) fn records(house: &House) -> PathBuf {
    house.target.join(FOLDER)
}

/// Forgets what earlier runs recorded.
pub(crate) fn forget(house: &House) -> Result<()> {
    let records = records(house);
    if records.exists() {
        std::fs::remove_dir_all(&records).with_context(|| format!("cannot empty {}", records.display()))?;
    }
    Ok(())
}

pub(crate) fn check(house: &House, choice: &Choice) -> Result<Count> {
    let report = house.target.join("reports").join("wire.json");
    let mut command = house.command(house.built("wire-check"));
    command.current_dir(&house.target).env_remove("TRUNKLINE_WIRE_LOG");
    command.arg("--tolerate").arg(house.path("tests/wire/tolerated.json"));
    command.arg("--report").arg(&report).arg(FOLDER);
    let output = run(command, DEADLINE)?;
    let mut count = counts::of_one(&output);
    count.note = output.stdout.lines().filter(|line| line.contains("messages checked")).collect();
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).context("there is no report")?)?;
    let sums = TRANSPORTS.map(|transport| (transport, messages_over(&report, transport)));
    for (transport, messages) in sums {
        count.note.push_str(&format!(", {messages} of them over {transport}"));
        if messages == 0 && choice.is_everything() {
            count.failed += 1;
            count.said.push_str(&format!("\nno message over {transport} was recorded: nothing is proved for it"));
        }
    }
    for known in output.stdout.lines().filter(|line| line.contains(" tolerated in what was received in ")) {
        count.note.push_str(&format!("\n       {known}"));
    }
    Ok(count)
}

/// How many messages of all revisions were checked.
fn messages_over(report: &Value, transport: &str) -> u64 {
    let revisions = report["messages"].as_object().into_iter().flatten();
    let counts = revisions.map(|(_, transports)| &transports[transport]);
    counts.map(|count| count["sent"].as_u64().unwrap_or(0) + count["received"].as_u64().unwrap_or(0)).sum()
}
