//! Streamable HTTP on reqwest: each message is a separate POST. For servers with HTTP+SSE only
//! (2024-11-05), it falls back as specified.

mod authorized;
mod connector;
mod cookies;
mod get_stream;
mod heads;
mod http_endpoint;
mod http_failure;
mod http_link;
mod http_sse;
mod post;
mod redirects;
mod session_renewal;
mod tls;

pub use connector::HttpConnector;
#[doc(hidden)]
pub use heads::headers_of_request;
pub use http_endpoint::HttpEndpoint;
