//! Calls to the server: requests from their start to their outcome, and notifications.

mod checked_reply;
pub(super) mod client_call;
mod client_operations;
pub(super) mod continuing;
pub(super) mod input_required;
pub(super) mod input_rounds;
pub(super) mod known_tools;
#[cfg(feature = "skills")]
pub(super) mod loaded_skills;
mod notifying;
pub(super) mod odd_params;
pub(super) mod odd_results;
pub(super) mod odd_value;
mod prompt_calls;
mod raw_requests;
pub(super) mod read_result;
mod reading_input;
pub(crate) mod reply_to;
pub(crate) mod result_schema;
mod sending;
pub(super) mod tool_calls;
pub(crate) mod whole_lists;
