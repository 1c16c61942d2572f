//! The contract between a server and its handlers: the call that a handler gets, and the outcome
//! that it returns.

mod arrival;
mod call;
mod cancellation;
mod client_request;
#[cfg(feature = "http-server")]
mod http_request;
mod input;
mod outcome;
mod tool_error;
mod vars;

pub use arrival::Arrival;
#[cfg(all(feature = "auth", feature = "http-server"))]
pub(crate) use arrival::VerifiedSender;
pub(crate) use arrival::{RestartedTask, TaskRun};
pub use call::{Call, CallInfo, Handler, TaskTimes};
pub use client_request::{ClientRequest, ClientRequestError, PendingClientRequest};
#[cfg(feature = "http-server")]
pub(crate) use http_request::SessionSource;
#[cfg(feature = "http-server")]
pub use http_request::{HttpRequest, RemoteAddress};
pub use input::{InputRequest, InputRequired};
pub use outcome::Outcome;
pub use tool_error::{CallError, ToolError};
pub use vars::Vars;

pub(super) use call::{CallBackend, HandlerRounds, ResultCallback};
pub(super) use cancellation::{Cancellation, HookId};
pub(super) use client_request::{CancelSent, ResponseCallback};
pub(super) use input::{Answer, InputKind, SealedInputRequest, both, check, lacking, read_answer};
