//! Opening a connection, and reconnecting.

mod connect;
pub(super) mod pauses;
mod reconnect;
pub(super) mod reconnecting;
pub(super) mod server_description;
