//! Requests from the server to the host, and the handlers for them.

pub(super) mod answering;
mod host_task_requests;
pub(super) mod observation;
