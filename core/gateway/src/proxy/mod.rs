//! Proxies: expose the features of a remote server, in every revision.

mod asking;
mod caller_connections;
mod callers;
mod definition;
mod failures;
mod forwarded_requests;
mod group_server;
mod mirroring_tools;
mod parked;
mod proxied_group;
mod remote;
mod shares;
mod tool_filter;
mod upstream;
mod watching;

pub use definition::{ProxyDefinition, ProxyOptions};
pub use upstream::Upstream;
