//! Streamable HTTP on hyper: every revision on one endpoint, plus HTTP+SSE.

#[cfg(feature = "auth")]
mod access_control;
#[cfg(not(feature = "auth"))]
#[path = "no_access_control.rs"]
mod access_control;
mod access_log;
mod activity;
mod admission;
mod cors;
mod endpoint;
mod endpoint_state;
pub(crate) mod fed_body;
mod forwarded;
mod health;
mod history;
mod http_listener;
mod http_options;
mod http_sse;
mod large_messages;
pub(crate) mod mounted_listener;
mod post_body;
mod rate;
mod reply;
mod response_body;
mod response_stream;
mod service;
mod session_table;
mod socket;
mod stream_queue;
mod unread;
mod workers;
mod write_deadline;

pub use forwarded::{InvalidProxy, TrustedProxy};
pub use http_options::HttpOptions;
pub use response_body::HttpBody;
pub use service::HttpService;

pub(crate) use http_listener::HttpListener;
pub(crate) use mounted_listener::MountedListener;
