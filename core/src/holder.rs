//! Owners of shares: of the memory for tasks, and of the turns of costly checks.

use std::sync::Arc;

/// Owner of a share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Principal(String),
    /// The address of a client without a principal, as trusted proxies report it.
    Address(Arc<str>),
    /// The number of a conversation whose client has neither.
    Conversation(u64),
    /// The number of a client in this process.
    Client(u64),
}
