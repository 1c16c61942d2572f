//! Requests of the server to the program around the client, and the handlers that answer them.

pub(super) mod answering;
pub(super) mod client_handlers;
pub(super) mod handler_error;
pub(super) mod host;
pub(super) mod host_tasks;
pub(super) mod observation;
mod observers;
pub(super) mod roots;
