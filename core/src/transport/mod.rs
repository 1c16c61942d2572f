//! What moves the bytes: tokio drivers for every transport, and the entry points that need one.

mod child;
mod child_link;
mod closing;
mod direct;
mod entry;
mod http_client;
mod http_fetch;
mod http_server;
mod intake;
mod lending;
mod lines;
mod listener;
mod memory;
mod pipe;
mod skill_folder;
mod stdio;
mod tokio_runtime;
mod turns;
mod wire_file;

pub use child::{ChildCommand, ChildStderr};
pub use entry::Target;
pub use http_client::HttpConnector;
pub use http_fetch::HttpFetch;
pub use http_server::{HttpBody, HttpOptions, HttpService};
pub use listener::Listener;
pub use tokio_runtime::TokioRuntime;

pub(crate) use child_link::ChildConnector;
pub(crate) use closing::{Closing, Deadline};
pub(crate) use http_server::{BodyFeed, Exchange, FedBody};
pub(crate) use lending::Lender;
pub(crate) use memory::MemoryConnector;
