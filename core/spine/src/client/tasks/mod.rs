//! Tasks: tool calls that outlive their requests. One API for both forms: core tasks of 2025-11-25
//! and the extension of 2026-07-28.

mod calling;
mod client_task;
mod following;
mod start_as_task;
mod task_input;

pub use client_task::ClientTask;
