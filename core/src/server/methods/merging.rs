//! Merges the lists of mounted servers: a page is filled from one server after another until it is
//! full.

use super::pages::{Position, page_result};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RpcError, error::code, method::Method},
    server::{
        registry::{Category, RegisteredMount},
        request::{ActiveRequest, Responder, Routed},
    },
};
use serde_json::{json, value::RawValue};
use std::{collections::VecDeque, sync::Arc};

/// A page under construction.
pub(super) struct MergedPage {
    /// The member of the result that holds the list, such as `tools`.
    member: &'static str,
    /// Set for lists whose names can be shortened or hidden by features registered here.
    category: Option<Category>,
    /// The items so far, separated by commas.
    items: Vec<u8>,
    number: usize,
    /// Whether a server that failed is missing.
    is_partial: bool,
    /// The remaining servers.
    mounts: VecDeque<Arc<RegisteredMount>>,
    /// The cursor at which to start in the list of the first of them.
    cursor: Option<String>,
}

impl MergedPage {
    /// Returns the route that builds a page that begins with `items`.
    pub(super) fn route(
        member: &'static str,
        items: Vec<u8>,
        number: usize,
        mounts: VecDeque<Arc<RegisteredMount>>,
        cursor: Option<String>,
    ) -> Routed {
        let page = Self { member, category: Category::parse(member), items, number, is_partial: false, mounts, cursor };
        Routed::Deferred(Box::new(move |context, responder| page.next(context, responder)))
    }

    fn next(mut self, context: &Arc<ActiveRequest>, responder: Responder) {
        let size = context.server().options().page_size;
        let Some(mount) = self.mounts.front().cloned() else { return self.finish(context, responder, None) };
        if self.number >= size {
            let next = Position::Source(mount.number, self.cursor.take());
            return self.finish(context, responder, Some(next));
        }
        let params = self.cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let outer = Arc::clone(context);
        let taken = Responder::Inside(
            responder.scope(context),
            Box::new(move |result| {
                // Servers in this process respond synchronously; spawning keeps the stack from
                // growing with each mount.
                let runtime = Arc::clone(outer.connection.runtime());
                runtime.spawn(Box::pin(async move { self.take(&outer, responder, result) }));
            }),
        );
        context.enter(&mount, RawJson::object(&params), taken);
    }

    /// Adds the page of one server. If the server fails, the list is built without it.
    fn take(mut self, context: &Arc<ActiveRequest>, responder: Responder, result: Result<RawJson, RpcError>) {
        let Some(mount) = self.mounts.pop_front() else { return self.finish(context, responder, None) };
        let from = self.cursor.take();
        // PAG-05: skipping the server would hide the rest of its list from a client that can start
        // again.
        if from.is_some() && result.as_ref().is_err_and(|error| error.code == code::INVALID_PARAMS) {
            context.deliver(responder, Err(RpcError::invalid_cursor()));
            return;
        }
        let page = match result.map_err(|error| error.message).and_then(|result| self.read(context, &mount, &result)) {
            Ok(page) => page,
            Err(problem) => {
                let name = &mount.prefix;
                tracing::warn!(target: "trunkline::server::methods", prefix = name, method = context.method, error = problem, "a mounted server is missing from a list");
                self.is_partial = true;
                return self.next(context, responder);
            }
        };
        if self.number > 0 && self.number + page.items.len() > context.server().options().page_size {
            let next = Position::Source(mount.number, from);
            return self.finish(context, responder, Some(next));
        }
        self.number += page.items.len();
        for item in page.items {
            if !self.items.is_empty() {
                self.items.push(b',');
            }
            self.items.extend_from_slice(item.as_bytes());
        }
        match page.next {
            Some(theirs) => self.finish(context, responder, Some(Position::Source(mount.number, Some(theirs)))),
            None => self.next(context, responder),
        }
    }

    fn read(&self, context: &ActiveRequest, mount: &RegisteredMount, result: &RawJson) -> Result<MountedPage, String> {
        let unread = |error: serde_json::Error| error.to_string();
        let mut page: ObjectMembers = result.parse().map_err(unread)?;
        let next = rewriting::text(&page, "nextCursor");
        let items = page.shift_remove(self.member);
        let items: Vec<ObjectMembers> =
            serde_json::from_str(items.as_deref().map_or("[]", RawValue::get)).map_err(unread)?;
        let mut merged = Vec::with_capacity(items.len());
        for item in items {
            let item = if mount.prefix.is_empty() {
                if self.is_hidden(context, &item) {
                    continue;
                }
                item
            } else {
                let (item, alias) = rewriting::descriptor(context.method, &mount.prefix, item)?;
                if let (Some(category), Some((rest, own))) = (self.category, alias) {
                    mount.remember(category, rest, own);
                }
                item
            };
            merged.push(serde_json::to_string(&item).map_err(unread)?);
        }
        Ok(MountedPage { items: merged, next })
    }

    /// Returns whether a feature registered here has the same name and takes precedence.
    fn is_hidden(&self, context: &ActiveRequest, item: &ObjectMembers) -> bool {
        let Some(category) = self.category else { return false };
        let key = Method::item_key(context.method);
        let name = key.and_then(|key| rewriting::text(item, key)).unwrap_or_default();
        context.snapshot.has(category, &name)
    }

    fn finish(self, context: &Arc<ActiveRequest>, responder: Responder, next: Option<Position>) {
        let result = page_result(context, self.member, &self.items, next, self.is_partial);
        context.deliver(responder, Ok(result));
    }
}

/// A page of one mounted server, with names rewritten for this server.
struct MountedPage {
    items: Vec<String>,
    next: Option<String>,
}
