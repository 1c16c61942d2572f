//! Tasks: tool calls that outlive their requests. One implementation serves both forms of the
//! protocol: core tasks of 2025-11-25 and the extension of 2026-07-28.

mod elsewhere;
mod named_task;
mod record;
mod recording;
mod restart;
mod server_task;
mod stored;
#[cfg(all(test, feature = "tokio"))]
pub(in crate::server::request) mod stored_tests;
mod task_creation;
mod task_table;
mod task_view;

pub(in crate::server) use server_task::{Task, TaskOwner};
pub(in crate::server) use stored::StoredTasks;
pub(in crate::server) use task_creation::{Mode, mode, visible_tasks};
pub(in crate::server) use task_table::Tasks;

#[cfg(test)]
mod tests;
