//! The contract between a server and its handlers: the call that a handler gets, and the outcome
//! that it gives.

mod call;
mod cancellation;
mod client_request;
mod handler;
mod input;
mod outcome;

pub use call::{Call, CallInfo};
pub use client_request::{ClientRequestError, PendingClientRequest};
pub use handler::Handler;
pub use input::{InputRequest, InputRequired};
pub use outcome::Outcome;

pub(super) use call::CallBackend;
pub(super) use cancellation::{Cancellation, Cancelled, HookId};
pub(super) use client_request::{RequestState, ResponseCallback};
pub(super) use input::{Answer, InputKind, Refused, SealedInputRequest, both, check, lacking, read_answer};
