//! Streamable HTTP, used by reqwest: each message is a POST of its own. Servers that have HTTP+SSE
//! only (2024-11-05) are found by the fallback of the specification.

mod authorized;
mod connector;
mod get_stream;
mod heads;
mod http_endpoint;
mod http_failure;
mod http_link;
mod http_sse;
mod post;
mod redirects;
mod renewal;
mod stream_pauses;
mod tls;

pub use connector::HttpConnector;
pub use http_endpoint::HttpEndpoint;
