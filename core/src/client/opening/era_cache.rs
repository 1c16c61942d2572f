//! Eras of known servers (DISC-22). Probing a legacy server that stays silent is slow, so it is
//! done only once.

use crate::{negotiation_cache::NegotiationCache, protocol::Era};

/// The era of each recently seen server.
pub(in crate::client) static ERAS: NegotiationCache<Era> = NegotiationCache::new();
