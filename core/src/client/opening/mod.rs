//! Opening a connection, and reconnecting.

mod connect;
mod description_request;
mod era_cache;
pub(super) mod pauses;
mod reconnect;
pub(super) mod reconnecting;
pub(super) mod server_description;
