//! Identifies the callers of a proxy, and what they can be asked.

use trunkline_core::{protocol::model::ClientCapabilities, server::CallInfo};

/// A caller. Requests of the same caller may share a legacy session; those of different callers
/// never do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// The client of a session, or on a pipe.
    Conversation(u64),
    /// A verified identity.
    Principal(String),
    /// An unidentified caller: two such requests may come from different ones.
    Nobody,
}

impl Caller {
    pub(super) fn of(info: &CallInfo) -> Self {
        if let Some(number) = info.conversation() {
            return Self::Conversation(number);
        }
        match info.request_info().principal() {
            principal if principal.is_empty() => Self::Nobody,
            principal => Self::Principal(principal),
        }
    }
}

/// The part of a caller's capabilities that a server behind the proxy may use.
pub(super) fn capabilities(info: &CallInfo) -> ClientCapabilities {
    let declared: ClientCapabilities = info.request_info().client_capabilities.parse().unwrap_or_default();
    let ClientCapabilities { elicitation, sampling, roots, .. } = declared;
    // Changes of the caller's roots are not forwarded, so don't declare `listChanged`.
    let roots = roots.map(|_| Default::default());
    ClientCapabilities { elicitation, sampling, roots, ..ClientCapabilities::default() }
}
