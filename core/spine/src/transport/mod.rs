//! Transports: tokio drivers for each of them, and the entry points that need one.

#![allow(clippy::disallowed_types)]

#[cfg(any(feature = "stdio", feature = "http-server"))]
pub(crate) mod blocked;
pub(crate) mod bound_address;
mod browser;
#[cfg(feature = "client")]
mod channel;
#[cfg(feature = "child-process")]
mod child;
#[cfg(feature = "child-process")]
pub(crate) mod child_link;
#[cfg(feature = "client")]
mod client_entry_points;
pub(crate) mod closing;
#[cfg(feature = "client")]
mod config_file;
#[cfg(any(feature = "stdio", feature = "http-server"))]
mod entry_points;
#[cfg(feature = "http-client")]
mod http_client;
#[cfg(any(feature = "auth", feature = "http-client"))]
mod http_defaults;
#[cfg(feature = "auth")]
mod http_fetch;
#[cfg(feature = "http-server")]
pub(crate) mod http_server;
#[cfg(all(feature = "server", feature = "client"))]
pub(crate) mod in_process;
#[cfg(feature = "http-server")]
mod listen_address;
#[cfg(any(feature = "stdio", feature = "http-server"))]
mod listener;
#[cfg(all(feature = "auth", feature = "http-client"))]
mod oauth;
#[cfg(any(feature = "auth", feature = "http-client", feature = "http-server"))]
mod observed_exchange;
pub(crate) mod observer;
mod private_file;
mod queued;
mod redaction;
#[cfg(any(feature = "stdio", feature = "http-server"))]
pub(crate) mod signals;
#[cfg(feature = "skills")]
mod skill_folder;
#[cfg(any(feature = "stdio", feature = "child-process"))]
pub(crate) mod stdio;
mod store;
#[cfg(feature = "client")]
mod target;
#[cfg(feature = "terminal")]
mod terminal;
mod tokio_runtime;
mod wire_file;

#[cfg(feature = "client")]
pub use channel::{Channel, ChannelConnector};
#[cfg(feature = "child-process")]
pub use child::{ChildCommand, ChildStderr};
#[cfg(feature = "http-client")]
#[doc(hidden)]
pub use http_client::headers_of_request;
#[cfg(feature = "http-client")]
pub use http_client::{HttpConnector, HttpEndpoint};
#[cfg(feature = "auth")]
pub use http_fetch::HttpFetch;
#[cfg(feature = "http-server")]
pub use http_server::{HttpBody, HttpOptions, HttpService, InvalidProxy, TrustedProxy};
#[cfg(feature = "http-server")]
pub use listen_address::ListenAddress;
#[cfg(any(feature = "stdio", feature = "http-server"))]
pub use listener::Listener;
#[cfg(all(feature = "auth", feature = "http-client"))]
pub use oauth::HttpNetwork;
#[cfg(feature = "keychain")]
pub use oauth::KeychainStore;
#[cfg(feature = "login")]
pub use oauth::{FileStore, LoopbackHandler};
pub use store::open_store;
#[cfg(feature = "client")]
pub use target::Target;
pub use tokio_runtime::TokioRuntime;

#[cfg(feature = "child-process")]
pub(crate) use child_link::ChildConnector;
#[cfg(all(feature = "server", feature = "client"))]
pub(crate) use in_process::MemoryConnector;
