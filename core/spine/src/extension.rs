//! Internal: what the crates above this one need and programs don't. There is no stability
//! guarantee: any release may change it.

pub use crate::random::unguessable;
pub use crate::runtime::BoxedTask;
#[cfg(all(feature = "client", feature = "server", feature = "tokio"))]
pub use crate::server::TestSession;
pub use crate::sync::Mutex;
#[cfg(all(feature = "client", feature = "server", feature = "tokio"))]
pub use crate::transport::in_process::MemoryConnector;
pub use trunkline_proto::engine::later;

/// Futures that race.
pub mod race {
    pub use crate::race::{all, until};
}
