//! Every message that crossed in the tests goes through the closed-world checker (tests/wire).

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::house::House;
use crate::process::run;
use crate::test::{Choice, Count, counts};

const DEADLINE: Duration = Duration::from_secs(600);

/// The folder in which all test processes record what crosses, emptied.
pub(crate) fn fresh_records(house: &House) -> Result<PathBuf> {
    let records = house.target.join("wire");
    if records.exists() {
        std::fs::remove_dir_all(&records)
            .with_context(|| format!("cannot empty {}", records.display()))?;
    }
    std::fs::create_dir_all(&records)?;
    Ok(records)
}

pub(crate) fn check(house: &House, _: &Choice) -> Result<Count> {
    let records = house.records.as_ref().context("nothing was recorded")?;
    let mut command = house.command(house.built("wire-check"));
    // A peer's faults are told, but not ours: what we send is recorded where it is sent.
    command
        .arg("--tolerate-peers")
        .arg("--report")
        .arg(house.target.join("reports").join("wire.json"));
    command.arg(records).env_remove("TRUNKLINE_WIRE_LOG");
    let output = run(command, DEADLINE)?;
    let mut count = counts::of_one(&output);
    count.note = output
        .stdout
        .lines()
        .find(|line| line.contains("messages checked"))
        .unwrap_or_default()
        .to_owned();
    Ok(count)
}
