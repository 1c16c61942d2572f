//! State that outlives a request, a process or a machine.
//!
//! A [`Store`] keeps texts by key, and logs. It knows nothing of sessions and tasks: everything
//! that those mean is above it, so that a program can write a store of its own in a page of code.
//! [`StoreGuard`] gives every store deadlines and a quick failure while it is away.

pub(crate) mod contract;
mod error;
mod guard;
mod memory;
mod operations;
mod store_choice;
mod url;
mod waiting;

pub use error::{StoreError, StoreErrorKind};
pub use guard::StoreGuard;
pub use memory::ProcessStore;
pub use operations::{LogEntry, Store};
pub(crate) use store_choice::ChosenStore;
pub use store_choice::StoreChoice;
#[cfg(not(all(feature = "store-sqlite", feature = "store-redis")))]
pub(crate) use url::missing;
pub(crate) use url::{StoreUrl, redacted};
pub(crate) use waiting::Waiting;
