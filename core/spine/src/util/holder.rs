//! The account that resource usage is charged to: memory for tasks, and turns for costly work.

use std::sync::Arc;

/// The account that resource usage is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Principal(String),
    /// The address of a client without a principal, as trusted proxies report it.
    Address(Arc<str>),
    /// The number of a conversation, if its client has neither.
    Conversation(u64),
    /// The number of a client in this process.
    Client(u64),
}
