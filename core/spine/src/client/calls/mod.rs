//! Requests to the server from their start to their first response, and notifications.

mod checked_reply;
mod client_operations;
pub(super) mod input_rounds;
#[cfg(feature = "skills")]
pub(super) mod loaded_skills;
mod notifying;
mod prompt_calls;
mod raw_requests;
pub(super) mod sending;
pub(super) mod tool_calls;
pub(crate) mod whole_lists;
