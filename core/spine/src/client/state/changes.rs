//! A bounded, deduplicated queue of changes.

use crate::{
    client::ClientError,
    protocol::model::{Change, ChangeKind},
    runtime::Watched,
};
use std::{
    collections::VecDeque,
    task::{Context, Poll},
};

/// Maximum queued changes.
const MAX_CHANGES: usize = 1_024;
/// Maximum total size of their URIs and tasks.
const MAX_BYTES: usize = 4 << 20;

/// The changes of one subscription.
#[derive(Default)]
pub(in crate::client) struct Changes(Watched<PendingChanges>);

#[derive(Default)]
struct PendingChanges {
    changes: VecDeque<(Change, usize)>,
    bytes: usize,
    /// Set when it has ended: the error, until it is returned to the program.
    end: Option<Option<ClientError>>,
}

impl Changes {
    /// Adds a change. A change that is already queued is not repeated; a task is replaced. Changes
    /// beyond the limit are replaced by one of the kind `missed`.
    pub(in crate::client) fn push(&self, change: Change) {
        self.0.change(|waiting| {
            if waiting.end.is_none() {
                waiting.add(change);
            }
        });
    }

    /// Puts back the change that was just taken.
    pub(in crate::client) fn put_back(&self, change: Change) {
        self.0.change(|waiting| {
            if !waiting.changes.iter().any(|(waiting, _)| same(waiting, &change)) {
                let size = size_of(&change);
                waiting.bytes += size;
                waiting.changes.push_front((change, size));
            }
        });
    }

    /// Stops adding changes; queued ones are still delivered. `error` is the reason, unless the
    /// subscription was closed.
    pub(in crate::client) fn end(&self, error: Option<ClientError>) {
        self.0.change(|waiting| {
            waiting.end.get_or_insert(error);
        });
    }

    pub(in crate::client) fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Result<Change, ClientError>>> {
        self.0.poll(context, |waiting| {
            if let Some((change, size)) = waiting.changes.pop_front() {
                waiting.bytes -= size;
                return Poll::Ready(Some(Ok(change)));
            }
            waiting.end.as_mut().map_or(Poll::Pending, |error| Poll::Ready(error.take().map(Err)))
        })
    }
}

impl PendingChanges {
    fn add(&mut self, change: Change) {
        let size = size_of(&change);
        if let Some(index) = self.changes.iter().position(|(waiting, _)| same(waiting, &change)) {
            self.bytes -= self.changes[index].1;
            if self.bytes + size <= MAX_BYTES {
                self.bytes += size;
                self.changes[index] = (change, size);
                return;
            }
            self.changes.remove(index);
        }
        if self.changes.len() < MAX_CHANGES && self.bytes + size <= MAX_BYTES {
            self.bytes += size;
            self.changes.push_back((change, size));
        } else if !self.changes.iter().any(|(change, _)| change.kind == ChangeKind::Missed) {
            self.changes.push_back((ChangeKind::Missed.into(), 0));
        }
    }
}

fn same(one: &Change, other: &Change) -> bool {
    let id = |change: &Change| change.task.as_ref().map(|task| task.task_id.clone());
    one.kind == other.kind && one.uri == other.uri && id(one) == id(other)
}

/// The size of the data from the server.
fn size_of(change: &Change) -> usize {
    let task = change.task.as_ref().map_or(0, |task| serde_json::to_vec(task).map_or(0, |json| json.len()));
    change.uri.as_ref().map_or(0, String::len) + task
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{Task, TaskStatus};
    use std::task::Waker;

    fn updated(uri: &str) -> Change {
        Change { uri: Some(uri.to_owned()), ..ChangeKind::Resource.into() }
    }

    fn next(changes: &Changes) -> Poll<Option<Result<Change, ClientError>>> {
        changes.poll_next(&Context::from_waker(Waker::noop()))
    }

    fn taken(changes: &Changes) -> Vec<Change> {
        std::iter::from_fn(|| match next(changes) {
            Poll::Ready(Some(change)) => change.ok(),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_change_that_waits_is_not_added_again() {
        let changes = Changes::default();
        for uri in ["a:1", "a:2", "a:1"] {
            changes.push(updated(uri));
        }
        changes.push(ChangeKind::Tools.into());
        changes.push(ChangeKind::Tools.into());
        assert_eq!(taken(&changes), [updated("a:1"), updated("a:2"), ChangeKind::Tools.into()]);
        changes.push(updated("a:1"));
        assert_eq!(taken(&changes), [updated("a:1")], "it was taken, so it is news again");
        changes.push(updated("a:2"));
        changes.put_back(updated("a:1"));
        changes.put_back(updated("a:2"));
        assert_eq!(taken(&changes), [updated("a:1"), updated("a:2")]);
    }

    #[test]
    fn the_latest_status_of_a_task_counts() {
        let changes = Changes::default();
        let task = |status| Change {
            task: Some(Task { task_id: "t".into(), status, ..Task::default() }),
            ..ChangeKind::Task.into()
        };
        changes.push(task(TaskStatus::Working));
        changes.push(task(TaskStatus::Completed));
        assert_eq!(taken(&changes), [task(TaskStatus::Completed)]);
    }

    #[test]
    fn changes_beyond_the_capacity_become_one_missed_change() {
        let changes = Changes::default();
        (0..2 * MAX_CHANGES).for_each(|number| changes.push(updated(&format!("a:{number}"))));
        let all = taken(&changes);
        assert_eq!((all.len(), all[MAX_CHANGES].kind), (MAX_CHANGES + 1, ChangeKind::Missed));
        changes.push(updated(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(taken(&changes), [ChangeKind::Missed.into()]);
        changes.push(updated("a:1"));
        assert_eq!(taken(&changes), [updated("a:1")], "there is room again");
    }

    #[test]
    fn an_end_comes_after_the_changes_and_a_failure_once() {
        let changes = Changes::default();
        changes.push(updated("a:1"));
        changes.end(Some(ClientError::Closed));
        changes.push(updated("a:2"));
        assert_eq!(next(&changes), Poll::Ready(Some(Ok(updated("a:1")))));
        assert_eq!(next(&changes), Poll::Ready(Some(Err(ClientError::Closed))));
        assert_eq!(next(&changes), Poll::Ready(None));
    }
}
