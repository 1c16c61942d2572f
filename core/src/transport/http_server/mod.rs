//! Streamable HTTP, served by hyper: every revision on one endpoint, and HTTP+SSE beside it.

mod authorization;
mod body;
mod cors;
mod endpoint;
mod fed_body;
mod gate;
mod history;
mod http_sse;
mod listener;
mod mounted;
mod options;
mod post;
mod queue;
mod reply;
mod service;
mod session;
mod socket;
mod stream;

pub use body::HttpBody;
pub use options::HttpOptions;
pub use service::HttpService;

pub(crate) use fed_body::{BodyFeed, FedBody};
pub(crate) use listener::HttpListener;
pub(crate) use mounted::{Exchange, MountedListener};
