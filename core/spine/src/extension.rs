//! Internal: what the crates above this one need and programs don't. There is no stability
//! guarantee: any release may change it.

#[cfg(feature = "client")]
pub use crate::client::{Observation, OtherClient, PassingHandler, readable, report_progress, requires_extension};
pub use crate::connection_state::ConnectionState;
pub use crate::runtime::{Promise, Watched, change, wait};
#[cfg(feature = "server")]
pub use crate::server::{
    ListSet, ListedSchema, Offers, RemoteDescription, RemoteServer, TaskTimes, TestSession, ToolTasks, WeakServer,
};
pub use crate::telemetry::Ambient;
#[cfg(all(feature = "client", feature = "server", feature = "tokio"))]
pub use crate::transport::in_process::MemoryConnector;
pub use trunkline_proto::engine::later;

/// Names and messages of several servers.
pub mod composition {
    pub use crate::composition::{names, rewriting};
}

/// Counts.
pub mod counts {
    pub use crate::counts::*;
}

/// Work when a value is dropped.
pub mod on_drop {
    pub use crate::on_drop::*;
}

/// Futures that race.
pub mod race {
    pub use crate::race::*;
}

/// Random values.
pub mod random {
    pub use crate::random::*;
}

/// Locks.
pub mod sync {
    pub use crate::sync::*;
}

/// The bounds of a list.
#[cfg(feature = "client")]
pub mod whole_lists {
    pub use crate::client::calls::whole_lists::{MAX_BYTES, MAX_ITEMS};
}
