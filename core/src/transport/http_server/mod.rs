//! Streamable HTTP, served by hyper: every revision on one endpoint.

mod body;
mod exchange;
mod fed_body;
mod listener;
mod mailbox;
mod mounted;
mod options;
mod post;
mod queue;
mod reply;
mod service;
mod session;

pub use body::HttpBody;
pub use options::HttpOptions;
pub use service::HttpService;

pub(crate) use fed_body::{BodyFeed, FedBody};
pub(crate) use listener::HttpListener;
pub(crate) use mounted::{Exchange, MountedListener};
