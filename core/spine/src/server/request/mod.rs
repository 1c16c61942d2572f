//! Requests in flight: from the middleware to the handler, and back to the client.

mod active_request;
mod input_gathering;
mod input_task;
mod mapper;
mod mirrored;
mod mounted_requests;
mod passed;
mod pending_call;
mod request_keys;
mod request_log;
mod request_state;
mod requests_to_client;
mod resumptions;
mod rounds;
mod serve;
mod stored_record;
mod tasks;
mod time_limit;

pub use request_state::StateKey;

pub(super) use active_request::{ActiveRequest, CallScope, Responder, Route, Routed, Services};
pub(super) use mapper::{NextStep, ResultMapper, Target};
pub(super) use tasks::{Mode, Task, mode, visible_tasks};
