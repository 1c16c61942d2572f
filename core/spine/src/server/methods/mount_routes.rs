//! Routes requests to mounted servers, with parameters rewritten to the names used there.

use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RpcError},
    server::{
        registry::{Category, RegisteredMount, Snapshot},
        request::Routed,
    },
};
use std::sync::Arc;

/// Routes a request for a tool or prompt to a mounted server, if one may have it.
pub(super) fn by_name(
    snapshot: &Snapshot,
    category: Category,
    name: &str,
    params: &RawJson,
) -> Option<Result<Routed, RpcError>> {
    let (mount, own) = snapshot.mount_of_name(category, name)?;
    Some(with(mount, params, "name", &own))
}

/// Routes a request for a URI to a mounted server, if one may have it.
pub(super) fn by_uri(snapshot: &Snapshot, uri: &str, params: &RawJson) -> Option<Result<Routed, RpcError>> {
    let (mount, own) = snapshot.mount_of_uri(uri)?;
    Some(with(mount, params, "uri", &own))
}

/// Routes a completion. `member` of its reference is replaced with `own`, the name used by the
/// mounted server.
pub(super) fn completion(
    mount: &Arc<RegisteredMount>,
    params: &RawJson,
    member: &str,
    own: &str,
) -> Result<Routed, RpcError> {
    let rewritten = || -> Option<RawJson> {
        let mut params: ObjectMembers = params.parse().ok()?;
        let rename = |reference: &mut ObjectMembers| {
            rewriting::set(reference, member, &own);
            Some(())
        };
        rewriting::in_member(&mut params, "ref", rename)?;
        RawJson::from_value(&params).ok()
    };
    Ok(Routed::Mounted(Arc::clone(mount), rewritten().ok_or_else(RpcError::internal)?))
}

fn with(mount: &Arc<RegisteredMount>, params: &RawJson, member: &str, own: &str) -> Result<Routed, RpcError> {
    let rewritten = || -> Option<RawJson> {
        let mut params: ObjectMembers = params.parse().ok()?;
        rewriting::set(&mut params, member, &own);
        RawJson::from_value(&params).ok()
    };
    Ok(Routed::Mounted(Arc::clone(mount), rewritten().ok_or_else(RpcError::internal)?))
}
