//! Commands that pass or fail by their exit status or output, such as standard linters.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::process::run;
use crate::test::{Count, results};

const TIMEOUT: Duration = Duration::from_secs(1200);

/// A command that passes or fails.
pub(crate) fn one(command: Command) -> Result<Count> {
    Ok(results::of_one(&run(command, TIMEOUT)?))
}

/// A command that fails if it prints anything, because warnings do not change its exit status.
pub(crate) fn silent(command: Command) -> Result<Count> {
    let output = run(command, TIMEOUT)?;
    let count = results::of_one(&output);
    Ok(if output.text.trim().is_empty() { count } else { Count { passed: 0, failed: 1, ..count } })
}
