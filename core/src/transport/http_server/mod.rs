//! Streamable HTTP, served by hyper: every revision on one endpoint, and HTTP+SSE beside it.

mod access_log;
#[cfg(feature = "auth")]
mod authorization;
#[cfg(not(feature = "auth"))]
#[path = "no_authorization.rs"]
mod authorization;
mod body;
mod connections;
mod cors;
mod endpoint;
pub(crate) mod fed_body;
mod forwarded;
mod gate;
mod health;
mod history;
mod http_sse;
mod large_messages;
mod listener;
pub(crate) mod mounted_listener;
mod options;
#[cfg(feature = "auth")]
mod pending_tokens;
mod post;
mod queue;
mod rate;
mod readers;
mod replay_budget;
mod reply;
mod service;
mod session;
#[cfg(feature = "auth")]
mod shared_proofs;
mod socket;
mod state;
mod stream;
#[cfg(not(feature = "auth"))]
mod uninhabited;
mod unread;
mod workers;
mod write_deadline;

pub use body::HttpBody;
pub use forwarded::{InvalidProxy, TrustedProxy};
pub use options::HttpOptions;
pub use service::HttpService;

pub(crate) use listener::HttpListener;
pub(crate) use mounted_listener::MountedListener;
