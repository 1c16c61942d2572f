//! Merges the lists of mounted servers: a page is filled from one server after another until it is
//! full. They are asked concurrently, so that all together take as long as the slowest.

use super::pages::{Position, page_result};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RpcError, error::code, method::Method},
    runtime::Promise,
    server::{
        registry::{Category, ListedPage, RegisteredMount},
        request::{ActiveRequest, CallScope, Responder, Routed},
    },
    telemetry::Ambient,
};
use bytes::Bytes;
use serde_json::{json, value::RawValue};
use std::{collections::VecDeque, sync::Arc};
use tracing::Instrument;

/// Servers asked concurrently. Beyond those, none is asked for a page that is full.
const MAX_CONCURRENCY: usize = 16;

/// A page that begins with items of this server, and is filled from mounted servers.
struct MergedPage {
    /// The member of the result that holds the list, such as `tools`.
    member: &'static str,
    begun: ListedPage,
    mounts: Vec<Arc<RegisteredMount>>,
    /// The cursor at which to start in the list of the first of them.
    cursor: Option<String>,
}

/// Routes a list to the mounted servers, or to those from the one that a cursor refers to.
pub(super) fn route(
    member: &'static str,
    begun: ListedPage,
    mounts: impl Iterator<Item = Arc<RegisteredMount>>,
    from: Option<(u64, Option<String>)>,
) -> Result<Routed, RpcError> {
    let (first, cursor) = from.unzip();
    let mounts: Vec<_> = mounts.skip_while(|mount| first.is_some_and(|number| mount.number != number)).collect();
    // The mount that the cursor refers to may have been removed.
    if first.is_some() && mounts.is_empty() {
        return Err(RpcError::invalid_cursor());
    }
    let page = MergedPage { member, begun, mounts, cursor: cursor.flatten() };
    Ok(Routed::Deferred(Box::new(move |context, responder| {
        let (context, scope) = (Arc::clone(context), responder.scope(context));
        let runtime = Arc::clone(context.connection.runtime());
        let merging = Ambient::current().around(async move {
            let result = page.fill(&context, &scope).await;
            context.deliver(responder, result);
        });
        runtime.spawn(Box::pin(merging.in_current_span()));
    })))
}

impl MergedPage {
    /// Adds the pages of the servers. If one fails, the list is built without it.
    async fn fill(self, context: &Arc<ActiveRequest>, scope: &CallScope) -> Result<RawJson, RpcError> {
        let Self { member, begun, mounts, mut cursor } = self;
        let (size, mut number, mut is_partial) = (context.server().options().page_size, begun.number, false);
        let mut items = Vec::from_iter(Some(begun.items).filter(|items| !items.is_empty()));
        let (mut mounts, mut asked) = (mounts.into_iter(), VecDeque::new());
        let others = context.snapshot.own_offers().lists;
        let has_others = Category::parse(member).is_some_and(|category| others.has(category.change()));
        let next = loop {
            while number < size
                && asked.len() < MAX_CONCURRENCY
                && let Some(mount) = mounts.next()
            {
                asked.push_back(AskedMount::ask(context, mount, cursor.take(), scope));
            }
            let Some(AskedMount { mount, from, page }) = asked.pop_front() else {
                break mounts.next().map(|mount| Position::Source(mount.number, cursor.take()));
            };
            if number >= size {
                break Some(Position::Source(mount.number, from));
            }
            let result = page.kept().await;
            // PAG-05: skipping the server would hide the rest of its list from a client that can
            // start again.
            if from.is_some() && result.as_ref().is_err_and(|error| error.code == code::INVALID_PARAMS) {
                return Err(RpcError::invalid_cursor());
            }
            let read = |result: RawJson| read_page(context, &mount, member, &result);
            if mount.is_transparent()
                && let Err(error) = result
            {
                // The server is asked for lists that it does not declare, and others have items.
                if error.code == code::METHOD_NOT_FOUND && has_others {
                    continue;
                }
                return Err(error);
            }
            let (added, theirs) = match result.map_err(|error| error.message).and_then(read) {
                Ok(page) => page,
                Err(problem) => {
                    let name = &mount.prefix;
                    tracing::warn!(target: "trunkline::server::methods", prefix = name, method = context.method, error = problem, "a mounted server is missing from a list");
                    is_partial = true;
                    continue;
                }
            };
            if number > 0 && number + added.len() > size {
                break Some(Position::Source(mount.number, from));
            }
            number += added.len();
            items.extend(added);
            if theirs.is_some() {
                break Some(Position::Source(mount.number, theirs));
            }
        };
        Ok(page_result(context, member, &items.join(&b','), next, is_partial))
    }
}

/// A mounted server that was asked for a page of its list.
struct AskedMount {
    mount: Arc<RegisteredMount>,
    from: Option<String>,
    page: Arc<Promise<Result<RawJson, RpcError>>>,
}

impl AskedMount {
    fn ask(context: &Arc<ActiveRequest>, mount: Arc<RegisteredMount>, from: Option<String>, scope: &CallScope) -> Self {
        let params = from.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = Arc::new(Promise::default());
        let kept = Arc::clone(&page);
        let responder = Responder::Inside(scope.clone(), Box::new(move |result| kept.keep(result)));
        context.enter(&mount, RawJson::object(&params), responder);
        Self { mount, from, page }
    }
}

/// The items of a mounted server's page, with names rewritten for this server, and its next cursor.
fn read_page(
    context: &ActiveRequest,
    mount: &RegisteredMount,
    member: &str,
    result: &RawJson,
) -> Result<(Vec<Bytes>, Option<String>), String> {
    let unread = |error: serde_json::Error| error.to_string();
    // Lists whose names can be shortened, or hidden by features registered here.
    let (category, key) = (Category::parse(member), Method::item_key(context.method));
    let mut page: ObjectMembers = result.parse().map_err(unread)?;
    let next = rewriting::text(&page, "nextCursor");
    let items = page.shift_remove(member);
    let items: Vec<ObjectMembers> =
        serde_json::from_str(items.as_deref().map_or("[]", RawValue::get)).map_err(unread)?;
    let mut merged = Vec::with_capacity(items.len());
    for mut item in items {
        if mount.prefix.is_empty() {
            // A feature registered here takes precedence.
            let name = key.and_then(|key| rewriting::text(&item, key)).unwrap_or_default();
            if category.is_some_and(|category| context.snapshot.has(category, &name)) {
                continue;
            }
        } else {
            let (renamed, alias) = rewriting::descriptor(context.method, &mount.prefix, item)?;
            if let (Some(category), Some((rest, own))) = (category, alias) {
                mount.remember(category, rest, own);
            }
            item = renamed;
        }
        merged.push(serde_json::to_vec(&item).map_err(unread)?.into());
    }
    Ok((merged, next))
}
