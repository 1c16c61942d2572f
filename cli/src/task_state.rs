//! The states of a task.

use crate::{output::Output, progress, table::one_line};
use std::time::Duration;
use trunkline::{
    ClientError,
    client::ClientTask,
    protocol::{RawJson, model::Task},
};

/// Maximum time of a task that a person waits for.
const MAX_TASK: Duration = Duration::from_secs(24 * 60 * 60);

/// A state on one line: the id, the status, and what the server says about it.
pub(crate) fn line(task: &Task) -> String {
    let message = task.status_message.as_deref().map(|message| format!("  {}", one_line(message)));
    format!("{}  {}{}", one_line(&task.task_id), task.status.as_str(), message.unwrap_or_default())
}

/// A state as JSON.
pub(crate) fn json(task: &Task) -> RawJson {
    let value = serde_json::to_value(task).unwrap_or_default();
    RawJson::from_value(&value).unwrap_or_else(|_| RawJson::empty_object())
}

/// Follows a task to its end. With `cancels`, Ctrl-C cancels it. Returns whether a second one has
/// left it.
pub(crate) async fn follow(task: &mut ClientTask, cancels: bool, output: &Output) -> Result<bool, ClientError> {
    let mut is_cancelled = false;
    loop {
        let state = tokio::select! {
            state = task.next() => state,
            _ = tokio::signal::ctrl_c(), if cancels => {
                if is_cancelled {
                    return Ok(true);
                }
                is_cancelled = true;
                output.note("cancelling the task; Ctrl-C again leaves it");
                tokio::select! {
                    cancelled = task.cancel() => cancelled?,
                    _ = tokio::signal::ctrl_c() => return Ok(true),
                }
                continue;
            }
        };
        match state {
            Some(state) => progress::show(output, &line(&state?)),
            None => break,
        }
    }
    progress::end(output);
    Ok(false)
}

/// The result of a task that has ended, or ends soon.
pub(crate) async fn outcome(task: &ClientTask) -> Result<RawJson, ClientError> {
    task.outcome_within(MAX_TASK).await
}
