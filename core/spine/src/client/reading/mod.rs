//! Reads what servers send: leniently, and in the form of the newest revision.

pub(super) mod distinct_items;
pub(super) mod odd_params;
pub(super) mod odd_results;
pub(super) mod odd_value;
pub(super) mod read_result;
mod reading_input;
pub(super) mod task_form;
