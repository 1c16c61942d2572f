//! Transports: tokio drivers for each of them, and the entry points that need one.

mod child;
pub(crate) mod child_link;
pub(crate) mod closing;
mod entry;
mod http_client;
mod http_fetch;
pub(crate) mod http_server;
mod listener;
pub(crate) mod memory;
mod skill_folder;
pub(crate) mod stdio;
mod tokio_runtime;
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
