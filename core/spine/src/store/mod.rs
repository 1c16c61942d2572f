//! State that outlives a request, a process or a machine.
//!
//! A [`Store`] holds strings by key, and logs. It knows nothing about sessions and tasks, so a
//! custom store takes about a page of code. [`StoreGuard`] adds deadlines to any store and fails
//! fast while it is unavailable.

mod circuit_breaker;
mod memory;
mod messages;
mod operations;
mod store_choice;
mod store_error;
mod url;
mod waiting_reads;

pub use circuit_breaker::StoreGuard;
pub use memory::ProcessStore;
pub(crate) use messages::FollowedLog;
#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
pub(crate) use operations::MAX_READ;
pub use operations::{LogEntry, Store, StoreTask};
pub(crate) use store_choice::ChosenStore;
pub use store_choice::StoreChoice;
pub use store_error::{StoreError, StoreErrorKind};
#[cfg(not(all(feature = "store-sqlite", feature = "store-redis")))]
pub(crate) use url::missing;
pub(crate) use url::{StoreUrl, redacted};
pub(crate) use waiting_reads::Waiting;
