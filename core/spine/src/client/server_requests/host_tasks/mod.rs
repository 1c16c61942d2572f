//! Host tasks (2025-11-25): server requests that a handler of the program answers asynchronously.

pub(in crate::client) mod host_task_table;
mod serving;
