//! Ports for tests.

use std::{
    hash::{BuildHasher as _, RandomState},
    net::TcpListener,
};

/// A port that no one else uses: the local ports of connections, and those that the system chooses
/// for listeners, are above these.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 20_000 + (RandomState::new().hash_one(0) % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
