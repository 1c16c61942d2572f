//! Tasks: calls of tools that outlast their requests. One kind of task behind both forms of the
//! protocol: the core one of 2025-11-25 and the extension of 2026-07-28.

mod elsewhere;
mod record;
mod recording;
mod restart;
mod starting;
mod stored;
#[cfg(all(test, feature = "tokio"))]
pub(in crate::server::request) mod stored_tests;
mod table;
mod task;
mod task_view;

pub(in crate::server) use elsewhere::{TaskElsewhere, view_at_end};
pub(in crate::server) use starting::{Mode, mode, visible_tasks};
pub(in crate::server) use stored::StoredTasks;
pub(in crate::server::request) use stored::principal_key;
pub(in crate::server) use table::Tasks;
pub(in crate::server) use task::{Task, TaskOwner};

#[cfg(test)]
mod tests;
