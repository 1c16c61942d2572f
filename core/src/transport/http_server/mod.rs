//! Streamable HTTP on hyper: every revision on one endpoint, plus HTTP+SSE.

mod access_log;
#[cfg(feature = "auth")]
mod authorization;
#[cfg(not(feature = "auth"))]
#[path = "no_authorization.rs"]
mod authorization;
mod body;
mod connection_limits;
mod cors;
mod endpoint;
mod endpoint_state;
pub(crate) mod fed_body;
mod forwarded;
mod gate;
mod health;
mod history;
mod http_listener;
mod http_options;
mod http_sse;
mod large_messages;
pub(crate) mod mounted_listener;
#[cfg(feature = "auth")]
mod pending_tokens;
mod post_body;
mod queue;
mod rate;
mod readers;
mod reply;
mod response_stream;
mod service;
mod session_table;
#[cfg(feature = "auth")]
mod shared_proofs;
mod socket;
#[cfg(not(feature = "auth"))]
mod uninhabited;
mod unread;
mod workers;
mod write_deadline;

pub use body::HttpBody;
pub use forwarded::{InvalidProxy, TrustedProxy};
pub use http_options::HttpOptions;
pub use service::HttpService;

pub(crate) use http_listener::HttpListener;
pub(crate) use mounted_listener::MountedListener;
