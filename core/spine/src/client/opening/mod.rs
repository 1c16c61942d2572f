//! Opening a connection, and reconnecting.

mod connect;
mod reconnect;
