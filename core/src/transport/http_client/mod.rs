//! Streamable HTTP, used by reqwest: each message is a POST of its own.

mod authorized;
mod connector;
mod endpoint;
mod failure;
mod heads;
mod link;
mod pauses;
mod post;
mod renewal;
mod stream;
mod tls;

pub use connector::HttpConnector;
pub use endpoint::HttpEndpoint;
