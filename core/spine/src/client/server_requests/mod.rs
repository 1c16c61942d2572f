//! Requests from the server to the host, and the handlers for them.

pub(super) mod answering;
pub(super) mod client_handlers;
pub(super) mod handler_error;
pub(super) mod host;
pub(super) mod host_tasks;
pub(super) mod observation;
pub(super) mod roots;
