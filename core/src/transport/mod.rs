//! Transports: tokio drivers for each of them, and the entry points that need one.

mod child;
pub(crate) mod child_link;
pub(crate) mod closing;
mod direct;
mod entry;
mod http_client;
mod http_fetch;
pub(crate) mod http_server;
mod intake;
pub(crate) mod lending;
mod lines;
mod listener;
pub(crate) mod memory;
mod pipe;
mod skill_folder;
mod stdio;
mod tokio_runtime;
mod turns;
mod wire_file;

pub use child::{ChildCommand, ChildStderr};
pub use entry::{ListenAddress, Target};
pub use http_client::HttpConnector;
pub use http_fetch::HttpFetch;
pub use http_server::{HttpBody, HttpOptions, HttpService};
pub use listener::Listener;
pub use tokio_runtime::TokioRuntime;

pub(crate) use child_link::ChildConnector;
pub(crate) use memory::MemoryConnector;
