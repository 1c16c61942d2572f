//! Tasks: calls of tools that outlast their requests. One API for both forms, the core one of
//! 2025-11-25 and the extension of 2026-07-28.

pub(super) mod calling;
mod following;
pub(super) mod form;
mod input;
mod other_client;
mod starting;
mod state;
pub(super) mod support;
pub(super) mod table;
mod task;
pub(super) mod task_wish;

pub(crate) use other_client::OtherClient;
pub use task::ClientTask;
