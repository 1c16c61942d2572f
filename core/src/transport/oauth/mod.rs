//! The ready-made parts of a client's authorization: the network, a store on disk, and the user's
//! browser.

mod file_store;
mod loopback;
mod network;

pub use file_store::FileStore;
pub use loopback::LoopbackHandler;
pub use network::HttpNetwork;

use crate::auth::{OAuth, TokenStore};

impl OAuth {
    /// Keeps credentials in this store, and lets the user log in with the browser of this machine.
    /// [`OAuth::with_handler`] takes another way to reach the user.
    pub fn new(store: impl TokenStore) -> Self {
        Self::with_parts(store, HttpNetwork::default(), LoopbackHandler::default())
    }
}
