//! Opening a connection, and reconnecting.

mod connect;
mod first_opening;
mod reconnect;
