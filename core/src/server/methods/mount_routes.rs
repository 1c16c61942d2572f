//! Requests for what a mounted server has: the parameters as that server knows them.

use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RpcError},
    server::{
        registry::{Category, RegisteredMount, Snapshot},
        request::Routed,
    },
};
use std::sync::Arc;

/// The way of a request for a tool or prompt, if a mounted server may have it.
pub(super) fn by_name(
    snapshot: &Snapshot,
    category: Category,
    name: &str,
    params: &RawJson,
) -> Option<Result<Routed, RpcError>> {
    let (mount, own) = snapshot.mount_of_name(category, name)?;
    Some(with(mount, params, "name", &own))
}

/// The way of a request for a URI, if a mounted server may have it.
pub(super) fn by_uri(snapshot: &Snapshot, uri: &str, params: &RawJson) -> Option<Result<Routed, RpcError>> {
    let (mount, own) = snapshot.mount_of_uri(uri)?;
    Some(with(mount, params, "uri", &own))
}

/// The way of a completion. `member` of its reference is `own` at the mounted server.
pub(super) fn completion(
    mount: &Arc<RegisteredMount>,
    params: &RawJson,
    member: &str,
    own: &str,
) -> Result<Routed, RpcError> {
    const REFERENCE: &str = "ref";
    let rewritten = || -> Option<RawJson> {
        let mut params: ObjectMembers = params.parse().ok()?;
        let mut reference: ObjectMembers = serde_json::from_str(params.get(REFERENCE)?.get()).ok()?;
        rewriting::set(&mut reference, member, &own).ok()?;
        rewriting::set(&mut params, REFERENCE, &reference).ok()?;
        RawJson::from_value(&params).ok()
    };
    Ok(Routed::Mounted(Arc::clone(mount), rewritten().ok_or_else(RpcError::internal)?))
}

fn with(mount: &Arc<RegisteredMount>, params: &RawJson, member: &str, own: &str) -> Result<Routed, RpcError> {
    let rewritten = || -> Option<RawJson> {
        let mut params: ObjectMembers = params.parse().ok()?;
        rewriting::set(&mut params, member, &own).ok()?;
        RawJson::from_value(&params).ok()
    };
    Ok(Routed::Mounted(Arc::clone(mount), rewritten().ok_or_else(RpcError::internal)?))
}
