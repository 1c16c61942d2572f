//! `skills/list`, `skills/get` and `resources/directory/read`.

use super::{
    merging, mount_routes,
    pages::{self, Position},
    parameters,
};
use crate::{
    protocol::{RawJson, RpcError},
    server::{
        registry::{Listed, ListedPage},
        request::{ActiveRequest, Routed},
    },
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The member of the result that holds the list.
const MEMBER: &str = "skills";

/// `skills/list` (SKL-38, SKL-39).
pub(super) fn list(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_offered(context.snapshot.offers().skills)?;
    let (server, revision) = (context.server(), context.info.revision);
    let mounts = context.snapshot.mounts.iter().filter(|mount| mount.offers().skills).cloned();
    let after = match pages::read_position(context.method, MEMBER, params)? {
        Position::Registered(after) => after,
        Position::Source(number, cursor) => {
            return merging::route(MEMBER, ListedPage::default(), mounts, Some((number, cursor)));
        }
    };
    let page = context.snapshot.skills.page(after, server.options().page_size, revision);
    if page.next.is_none() && !context.snapshot.mounts.is_empty() {
        return merging::route(MEMBER, page, mounts, None);
    }
    let next = page.next.map(Position::Registered);
    Ok(Routed::Answer(pages::page_result(context, MEMBER, &page.items, next, false)))
}

/// `skills/get` (SKL-44 to SKL-46).
pub(super) fn get(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_offered(context.snapshot.offers().skills)?;
    let uri = parameters::text(context, params, "uri")?;
    let Some(skill) = context.snapshot.skills.get(&uri) else {
        let unknown = RpcError::invalid_params(format!("Unknown skill: {uri}")).with_data(json!({"uri": uri}));
        return of_mount(context, &uri, params).unwrap_or(Err(unknown));
    };
    let result = json!({
        "skill": skill.descriptor().value(),
        "ttlMs": skill.cache.ttl_ms(),
        "cacheScope": skill.cache.scope.as_str(),
    });
    Ok(Routed::Answer(context.results().seal_object(result, context.info.revision)))
}

/// `resources/directory/read` (SKL-59 to SKL-62).
pub(super) fn read_directory(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_offered(context.snapshot.offers().skills)?;
    let uri = parameters::text(context, params, "uri")?;
    let children = children(context, &uri);
    if children.is_empty() {
        if let Some(routed) = of_mount(context, &uri, params) {
            return routed;
        }
        let error = RpcError::invalid_params(format!("Not a folder of skills: {uri}"));
        return Err(error.with_data(json!({"uri": uri})));
    }
    let Position::Registered(after) = pages::read_position(context.method, "directory", params)? else {
        return Err(RpcError::invalid_cursor());
    };
    let (start, size) = (usize::try_from(after).unwrap_or(usize::MAX), context.server().options().page_size);
    let page: Vec<_> = children.values().skip(start).take(size).collect();
    let end = start.saturating_add(page.len());
    let mut result = json!({"resources": page});
    if end < children.len() {
        result["nextCursor"] = pages::cursor("directory", &Position::Registered(end as u64)).into();
    }
    Ok(Routed::Answer(context.results().seal_object(result, context.info.revision)))
}

/// The entries of a folder by URI: its files, and its subfolders as `inode/directory`.
fn children(context: &ActiveRequest, uri: &str) -> BTreeMap<String, Value> {
    let folder = format!("{uri}/");
    // SKL-62: folder URIs have no trailing slash.
    let is_folder = |name: &str| !name.is_empty() && !uri.ends_with('/');
    let mut children = BTreeMap::new();
    for skill in
        context.snapshot.skills.iter().filter(|skill| skill.root.starts_with(uri) || uri.starts_with(&skill.root))
    {
        for (path, file) in skill.files.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder)) {
            match path[folder.len()..].split_once('/') {
                None => children.insert(path.clone(), file.resource()),
                Some((name, _)) if !is_folder(name) => continue,
                Some((name, _)) => {
                    let inner = format!("{folder}{name}");
                    children.insert(inner.clone(), json!({"uri": inner, "name": name, "mimeType": "inode/directory"}))
                }
            };
        }
    }
    children
}

/// Routes a request for a URI to a mounted server with skills, if it may have it.
fn of_mount(context: &ActiveRequest, uri: &str, params: Option<&RawJson>) -> Option<Result<Routed, RpcError>> {
    let (mount, _) = context.snapshot.mount_of_uri(uri)?;
    if mount.offers().skills { mount_routes::by_uri(&context.snapshot, uri, params?) } else { None }
}
