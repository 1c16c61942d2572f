//! Determines which era a request belongs to (docs/versions.md, 2.2). Nothing else does.

use crate::protocol::{Era, envelope::Request, meta::RequestMeta, method};

/// The era that a request belongs to by its own contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// `initialize`, which opens a session of the legacy era.
    Handshake,
    /// Carries its version in `_meta`.
    Modern,
    /// Belongs to a session.
    Legacy,
}

impl Claim {
    /// Determines the claim of a request. `header` is `MCP-Protocol-Version`, if it arrived over
    /// HTTP. `meta` is read only if it matters.
    pub fn of<'a>(request: &Request, meta: impl FnOnce() -> RequestMeta<'a>, header: Option<&str>) -> Self {
        // DISC-27: `initialize` is legacy whatever the header contains, unless its own `_meta`
        // names a newer revision.
        if &*request.method == method::INITIALIZE {
            let names_modern = meta().version().is_some_and(|version| Era::named(&version) == Era::Modern);
            return if names_modern { Self::Modern } else { Self::Handshake };
        }
        let modern = &*request.method == method::DISCOVER
            || header.is_some_and(|version| Era::named(version) == Era::Modern)
            || meta().protocol_version.is_some();
        if modern { Self::Modern } else { Self::Legacy }
    }
}
