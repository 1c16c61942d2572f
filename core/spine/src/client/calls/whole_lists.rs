//! Fetches all pages of a list (PAG-04).

use crate::{
    client::{
        Client, ClientCall, ClientError, ProgressHook, RequestOptions,
        reading::distinct_items::DistinctItems,
        state::reply_to::{CallReceiver, ReplyTo},
    },
    engine::{OnBehalf, later},
    protocol::{
        RawJson, RevisionFeature,
        error::code,
        method::{self, Method},
    },
    race::unless,
};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::{collections::HashSet, sync::Arc};

/// Limit for a server that never ends its list.
const MAX_PAGES: usize = 10_000;
/// Limit for more items than a model, a user or the host's event loop could handle.
pub const MAX_ITEMS: usize = 10_000;
/// Limit for pages that would exhaust memory.
pub const MAX_BYTES: usize = 64 << 20;
const CURSOR: &str = "cursor";
const NEXT_CURSOR: &str = "nextCursor";

type Members<'a> = IndexMap<String, &'a RawValue>;

impl Client {
    /// Fetches a whole list as one result: the items of all pages, and the other members of the
    /// first page. Each page may take [`RequestOptions::timeout`], all together
    /// [`RequestOptions::max_timeout`]. Dropping the future cancels the request in flight.
    ///
    /// # Errors
    /// As for [`Client::request`]; [`ClientError::Invalid`] if the method returns no list. An
    /// endless list (a repeated cursor on 2026-07-28, or more than 10,000 pages or items or 64 MiB)
    /// or a page without its items is treated as an invalid response.
    pub async fn list_all(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        self.list_all_on_behalf(None, method, params, options).await
    }

    /// Like [`Client::list_all`], on behalf of another client, which is what a modern server sees.
    ///
    /// # Errors
    /// As for [`Client::list_all`].
    #[doc(hidden)]
    pub async fn list_all_on_behalf(
        &self,
        other: Option<Arc<OnBehalf>>,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        self.opened().await?;
        let opaque =
            self.inner.server.get().is_none_or(|server| server.revision.supports(RevisionFeature::OpaqueCursors));
        let mut list = WholeList::of(method, opaque)?;
        let (given, mut options) = (options, options.clone());
        let deadline = later(self.inner.runtime.now(), self.inner.request_timeout(&options).max);
        let (first, mut params, mut restarted) = (params, params.cloned(), false);
        for _ in 0..MAX_PAGES {
            let page = match self.request_on_behalf(other.clone(), method, params.as_ref(), &options).await {
                // CCH-12: the cursor came from a cached page, or the list has changed.
                Err(ClientError::Protocol(error))
                    if !restarted && error.code == code::INVALID_PARAMS && list.first.is_some() =>
                {
                    restarted = true;
                    list = WholeList::of(method, opaque)?;
                    params = first.cloned();
                    continue;
                }
                page => page?,
            };
            list.items.sent_by(self.server_label());
            let Some(cursor) = list.take(&page)? else { return self.whole(list, page) };
            params = Some(with_member(params.as_ref(), CURSOR, &cursor)?);
            let left = deadline.saturating_duration_since(self.inner.runtime.now());
            if left.is_zero() {
                let all = self.inner.request_timeout(given).max;
                return Err(ClientError::Timeout(format!("The list of {method} was not complete within {all:?}")));
            }
            options.timeout = Some(self.inner.request_timeout(&options).timeout.min(left));
            options.max_timeout = Some(left);
        }
        Err(nonsense(method, &format!("has more than {MAX_PAGES} pages")))
    }

    fn whole(&self, list: WholeList<'_>, last: RawJson) -> Result<RawJson, ClientError> {
        let is_of_tools = list.method == method::TOOLS_LIST;
        let has_left_out = list.items.has_left_out;
        let whole = list.finish(last)?;
        // The tools that were left out have replaced the facts about the first ones of their names.
        let read = has_left_out && is_of_tools;
        Ok(if read { self.inner.read_tools(self.inner.revision(), whole) } else { whole })
    }

    /// Like [`Client::list_all`], but the outcome is passed to `reply`, exactly once unless this
    /// fails.
    #[doc(hidden)]
    pub fn start_all(
        &self,
        method: &str,
        params: Option<RawJson>,
        options: &RequestOptions,
        reply: Arc<dyn ReplyTo>,
    ) -> Result<Arc<ClientCall>, ClientError> {
        WholeList::of(method, true)?;
        self.inner.check_open()?;
        let (client, method, progress) = (self.clone(), method.to_owned(), Arc::clone(&reply));
        let hook: ProgressHook = Arc::new(move |params: &RawJson| progress.progress(params.clone()));
        let options = options.clone().with_on_progress(reply.wants_progress().then_some(hook));
        let (call, stop) = ClientCall::working(CallReceiver::Reply(reply));
        let walking = Arc::clone(&call);
        self.inner.runtime.spawn(Box::pin(async move {
            let outcome = unless(stop.kept(), client.list_all(&method, params.as_ref(), &options)).await;
            walking.finish(outcome.unwrap_or(Err(ClientError::Cancelled)));
        }));
        Ok(call)
    }
}

/// A list while its pages are being fetched.
struct WholeList<'l> {
    method: &'l str,
    member: &'static str,
    /// True if a repeated cursor is an error.
    opaque: bool,
    /// The other members of the first page, once there is more than one page.
    first: Option<RawJson>,
    /// The items, with commas between them.
    text: String,
    /// The items, which may be on several pages.
    items: DistinctItems<'l>,
    /// The cursors followed so far.
    cursors: HashSet<String>,
    /// Total size of items and cursors.
    bytes: usize,
    count: usize,
}

impl<'l> WholeList<'l> {
    fn of(method: &'l str, opaque: bool) -> Result<Self, ClientError> {
        let member = Method::list_member(method)
            .ok_or_else(|| ClientError::Invalid(format!("{method} does not return a paginated list")))?;
        Ok(Self {
            method,
            member,
            opaque,
            first: None,
            text: String::new(),
            items: DistinctItems::of(None, method),
            cursors: HashSet::new(),
            bytes: 0,
            count: 0,
        })
    }

    /// Adds a page and returns the cursor of the next one.
    fn take(&mut self, page: &RawJson) -> Result<Option<String>, ClientError> {
        let mut members: Members<'_> = page
            .parse()
            .map_err(|error| nonsense(self.method, &format!("has a page that is not an object: {error}")))?;
        let items = members.shift_remove(self.member).map(|items| items.get());
        let size = items.map_or(0, str::len);
        let items = items.and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items).ok());
        self.count += items.as_ref().map_or(0, Vec::len);
        if self.count > MAX_ITEMS {
            let what = format!("has more than {MAX_ITEMS} {}: fetch it page by page, and stop", self.member);
            return Err(nonsense(self.method, &what));
        }
        let Some(items) = items else {
            return Err(nonsense(self.method, &format!("has a page without the array {:?}", self.member)));
        };
        let cursor = members.shift_remove(NEXT_CURSOR).map_or(Ok(None), |cursor| serde_json::from_str(cursor.get()));
        let cursor: Option<String> = cursor.map_err(|_| nonsense(self.method, "has a cursor that is not a string"))?;
        self.bytes = self.bytes.saturating_add(size + cursor.as_ref().map_or(0, String::len));
        // A single page is bounded like every message.
        if self.bytes > MAX_BYTES && (self.first.is_some() || cursor.is_some()) {
            return Err(nonsense(self.method, &format!("has more than {} MiB", MAX_BYTES >> 20)));
        }
        if self.first.is_none() {
            if cursor.is_none() {
                return Ok(None);
            }
            // Also if the cursor turns out to be none: it is not part of the whole list.
            self.first = Some(as_json(&members)?);
        }
        // Some servers of earlier revisions write an empty cursor on their last page, and return
        // the first page again for it.
        let ends = !self.opaque && cursor.as_ref().is_some_and(|cursor| self.cursors.contains(cursor));
        if !(ends && self.begins_with(&items)) {
            for item in items {
                if self.items.is_new(item) {
                    self.add(item);
                }
            }
        }
        match cursor {
            Some(_) if ends => {
                let server = self.items.server();
                tracing::warn!(target: "trunkline::client::calls", server, method = self.method, "the server sent a cursor that it has sent before: the list ends there");
                Ok(None)
            }
            Some(cursor) if !self.cursors.insert(cursor.clone()) => {
                Err(nonsense(self.method, "does not end: the server sent a cursor twice"))
            }
            cursor => Ok(cursor),
        }
    }

    fn add(&mut self, item: &RawValue) {
        if !self.text.is_empty() {
            self.text.push(',');
        }
        self.text.push_str(item.get());
    }

    fn begins_with(&self, items: &[&RawValue]) -> bool {
        let mut rest = &*self.text;
        items.iter().all(|item| {
            let Some(behind) = rest.strip_prefix(item.get()) else { return false };
            rest = behind.strip_prefix(',').unwrap_or(behind);
            true
        })
    }

    /// The whole list. `last` is the last page, which is the whole list if it is the only one.
    fn finish(mut self, last: RawJson) -> Result<RawJson, ClientError> {
        let Some(first) = self.first.take() else { return Ok(last) };
        let items = RawValue::from_string(format!("[{}]", self.text));
        let items = items.map_err(|error| nonsense(self.method, &format!("cannot be assembled: {error}")))?;
        let mut members: Members<'_> = first.parse().map_err(ClientError::unwritable)?;
        members.insert(self.member.to_owned(), &items);
        as_json(&members)
    }
}

/// The parameters of a request with one more member.
pub(in crate::client) fn with_member(
    params: Option<&RawJson>,
    name: &str,
    value: &impl Serialize,
) -> Result<RawJson, ClientError> {
    let mut members: Members<'_> =
        params.map_or(Ok(Members::new()), RawJson::parse).map_err(ClientError::unwritable)?;
    let value = to_raw_value(value).map_err(ClientError::unwritable)?;
    members.insert(name.to_owned(), &value);
    as_json(&members)
}

fn as_json(members: &Members<'_>) -> Result<RawJson, ClientError> {
    RawJson::from_value(members).map_err(ClientError::unwritable)
}

fn nonsense(method: &str, what: &str) -> ClientError {
    ClientError::InvalidResponse(format!("the list of {method} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn page(value: &Value) -> RawJson {
        RawJson::from_value(value).unwrap()
    }

    /// PAG-01: pages of any size.
    #[test]
    fn pag_04_pages_become_one_list_with_the_members_of_the_first() {
        let mut list = WholeList::of("tools/list", true).unwrap();
        let first = page(&json!({"tools": [1, 2], "ttlMs": 5, "nextCursor": ""}));
        assert_eq!(list.take(&first).unwrap().as_deref(), Some(""), "PAG-03: an empty cursor is one");
        assert_eq!(list.take(&page(&json!({"tools": [], "nextCursor": "b"}))).unwrap().as_deref(), Some("b"));
        let last = page(&json!({"tools": [3], "ttlMs": 9, "nextCursor": null}));
        assert_eq!(list.take(&last).unwrap(), None);
        assert_eq!(list.finish(last).unwrap().parse::<Value>().unwrap(), json!({"tools": [1, 2, 3], "ttlMs": 5}));
    }

    /// PAG-03: only 2026-07-28 says what an empty cursor is.
    #[test]
    fn pag_03_before_2026_a_repeated_cursor_ends_the_list() {
        for cursor in ["", "a"] {
            let first = page(&json!({"tools": [1], "nextCursor": cursor}));
            for (second, whole) in [(json!([2]), json!([1, 2])), (json!([1]), json!([1]))] {
                let mut list = WholeList::of("tools/list", false).unwrap();
                assert_eq!(list.take(&first).unwrap().as_deref(), Some(cursor));
                let end = page(&json!({"tools": second, "nextCursor": cursor}));
                assert_eq!(list.take(&end).unwrap(), None);
                assert_eq!(list.finish(end).unwrap().parse::<Value>().unwrap(), json!({"tools": whole}));
            }
        }
    }

    /// PAG-02: a cursor is sent exactly as received.
    #[test]
    fn members_next_to_the_items_keep_their_order() {
        let mut list = WholeList::of("tools/list", true).unwrap();
        let first =
            RawJson::trusted(r#"{"tools":[1],"z":{"b":1,"a":2},"nextCursor":"2","_meta":{"y":1,"x":2}}"#.into());
        list.take(&first).unwrap();
        let last = RawJson::trusted(r#"{"tools":[2]}"#.into());
        list.take(&last).unwrap();
        let text = r#"{"z":{"b":1,"a":2},"_meta":{"y":1,"x":2},"tools":[1,2]}"#;
        assert_eq!(list.finish(last).unwrap().as_bytes(), text.as_bytes());
        let params = RawJson::trusted(r#"{"z":1,"_meta":{"y":1,"x":2}}"#.into());
        let text = r#"{"z":1,"_meta":{"y":1,"x":2},"cursor":"2"}"#;
        assert_eq!(with_member(Some(&params), CURSOR, &"2").unwrap().as_bytes(), text.as_bytes());
    }

    #[test]
    fn a_list_of_one_page_is_given_as_it_came() {
        let mut list = WholeList::of("resources/templates/list", true).unwrap();
        let only = RawJson::trusted(r#"{ "resourceTemplates" : [ ] }"#.into());
        assert_eq!(list.take(&only).unwrap(), None);
        assert_eq!(list.finish(only.clone()).unwrap(), only);
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (pages, text) in [
            (vec![json!({"resources": []})], "\"tools\""),
            (vec![json!({"tools": {}})], "\"tools\""),
            (vec![json!({"tools": [], "nextCursor": 5})], "not a string"),
            (vec![json!({"tools": [], "nextCursor": "a"}), json!({"tools": [], "nextCursor": "a"})], "twice"),
        ] {
            let mut list = WholeList::of("tools/list", true).unwrap();
            let outcome: Result<Vec<_>, _> = pages.iter().map(|given| list.take(&page(given))).collect();
            let error = outcome.unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
            assert_eq!(error.kind(), crate::client::ErrorKind::Transport);
        }
        assert!(matches!(WholeList::of("tools/call", true), Err(ClientError::Invalid(_))));
    }

    #[test]
    fn a_list_is_bounded_in_items() {
        let tools =
            |count: usize| page(&json!({"tools": vec![json!({"name": "t"}); count], "nextCursor": count.to_string()}));
        let mut list = WholeList::of("tools/list", true).unwrap();
        assert!(list.take(&tools(6_000)).is_ok() && list.take(&tools(4_000)).is_ok());
        let error = list.take(&tools(1)).unwrap_err().to_string();
        assert!(error.contains("more than 10000 tools"), "{error}");
    }

    #[test]
    fn a_list_is_bounded_in_bytes() {
        let mut list = WholeList::of("tools/list", true).unwrap();
        let text = "x".repeat(40 << 20);
        let big = |cursor: &str| page(&json!({"tools": [text], "nextCursor": cursor}));
        assert!(list.take(&big("a")).is_ok());
        assert!(list.take(&big("b")).unwrap_err().to_string().contains("64 MiB"));
    }
}
