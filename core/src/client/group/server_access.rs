//! Access to a single server of a group, for mounting the servers of a group one by one.

use super::{group_changes::GroupChanges, member::Member};
use crate::client::{Client, ClientError};
use std::sync::Arc;

/// A server of a group. It may be connected or not, and may be removed from the group.
#[derive(Clone)]
pub(crate) struct GroupServerAccess {
    member: Arc<Member>,
    changes: Arc<GroupChanges>,
}

impl GroupServerAccess {
    pub(super) fn new(member: Arc<Member>, changes: &Arc<GroupChanges>) -> Self {
        Self { member, changes: Arc::clone(changes) }
    }

    /// The name by which it was added.
    pub(crate) fn name(&self) -> &str {
        &self.member.name
    }

    /// The prefix of its names in the group.
    pub(crate) fn prefix(&self) -> &str {
        &self.member.prefix
    }

    /// Returns whether both are the same server. One that was added again under the same name is
    /// different.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.member, &other.member)
    }

    /// Returns whether it is a single server rather than another group.
    pub(crate) fn has_sessions(&self) -> bool {
        self.member.connector().is_none_or(|connector| connector.has_sessions())
    }

    /// Returns whether it leads to the server with this identity in this process.
    pub(crate) fn is_of_server(&self, identity: usize) -> bool {
        self.member.connector().is_some_and(|connector| connector.is_of_server(identity))
    }

    /// The connection, if there is one.
    pub(crate) fn connected(&self) -> Option<Client> {
        self.member.connected()
    }

    /// The connection, reconnecting if it failed or ended.
    ///
    /// # Errors
    /// If connecting fails, or the server was removed from the group.
    pub(crate) async fn client(&self) -> Result<Client, ClientError> {
        self.member.client(&self.changes).await
    }
}
