//! Streamable HTTP, used by reqwest: each message is a POST of its own.

mod authorized;
mod connector;
mod failure;
mod heads;
mod link;
mod post;
mod renewal;
mod stream;

pub use connector::HttpConnector;
