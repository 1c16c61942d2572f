//! Opening a connection, and reconnecting.

mod connect;
mod description_request;
pub(super) mod pauses;
mod reconnect;
pub(super) mod reconnecting;
pub(super) mod server_description;
