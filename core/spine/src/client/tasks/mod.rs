//! Tasks: tool calls that outlive their requests. One API for both forms: core tasks of 2025-11-25
//! and the extension of 2026-07-28.

pub(super) mod calling;
mod client_task;
pub(super) mod client_task_table;
mod following;
mod start_as_task;
pub(super) mod support;
pub(super) mod task_form;
mod task_input;
mod task_state;
pub(super) mod task_wish;

pub use client_task::ClientTask;
pub use support::requires_extension;
pub use task_wish::OtherClient;
