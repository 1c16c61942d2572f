//! The W3C trace context of a request, in its `_meta` (SEP-414) or in HTTP headers.

use super::{
    RawJson, RequestId,
    members::{MembersFound, members, members_of_member},
    meta,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// A trace context in the formats of W3C Trace Context and W3C Baggage, as sent in the `_meta` of a
/// request and in HTTP headers of the same names. The values come from the program's propagator and
/// are not validated here.
///
/// ```
/// use trunkline_proto::protocol::TraceContext;
///
/// let mut context = TraceContext::default();
/// context.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
/// context.set("x-request-id", "7");
/// assert_eq!(context.members().count(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TraceContext {
    /// The trace id, span id and flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Vendor-specific trace data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// Application-defined properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baggage: Option<String>,
}

impl TraceContext {
    /// The keys in `_meta`, which are also the names of the HTTP headers.
    pub const KEYS: [&str; 3] = [meta::TRACEPARENT, meta::TRACESTATE, meta::BAGGAGE];

    /// Builds a context from the values of its keys.
    pub fn of(mut value: impl FnMut(&'static str) -> Option<String>) -> Self {
        let [traceparent, tracestate, baggage] = Self::KEYS.map(&mut value);
        Self { traceparent, tracestate, baggage }
    }

    /// The context in a `_meta` object. Values that are not strings count as absent.
    pub fn of_meta(meta: &RawJson) -> Self {
        Self::from_members(members(meta.as_bytes(), Self::KEYS))
    }

    /// The context in the `_meta` of the parameters of a request.
    pub fn of_params(params: Option<&RawJson>) -> Self {
        match params.map(|params| members_of_member(params.as_bytes(), "_meta", Self::KEYS)) {
            Some(Ok(Some((_, found)))) => Self::from_members(found),
            _ => Self::default(),
        }
    }

    fn from_members(found: MembersFound<'_, 3>) -> Self {
        let text = |value: Cow<'_, str>| (value.len() <= MAX_VALUE).then(|| value.into_owned());
        let [traceparent, tracestate, baggage] = found.unwrap_or_default().map(|value| value?.as_str().and_then(text));
        Self { traceparent, tracestate, baggage }
    }

    /// The value of a key, or `None` if it is unset or unknown.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Sets the value of a key. Other keys are ignored, because `_meta` does not allow them without
    /// a prefix.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        let field = match key {
            meta::TRACEPARENT => &mut self.traceparent,
            meta::TRACESTATE => &mut self.tracestate,
            meta::BAGGAGE => &mut self.baggage,
            _ => return,
        };
        *field = Some(value.into());
    }

    /// The keys and values that are set.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values = [&self.traceparent, &self.tracestate, &self.baggage];
        Self::KEYS.into_iter().zip(values).filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }

    /// Returns whether no value is set.
    pub fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }

    /// The parameters with this context in their `_meta`, replacing any other.
    ///
    /// # Errors
    /// If the parameters, or their `_meta`, are not an object.
    pub fn put_into(&self, params: Option<&RawJson>) -> serde_json::Result<RawJson> {
        type Members<'a> = IndexMap<String, &'a RawValue>;
        let mut members: Members<'_> = params.map_or_else(|| Ok(Members::new()), RawJson::parse)?;
        let given = members.get("_meta").map(|given| serde_json::from_str::<Members<'_>>(given.get()));
        let mut meta = given.transpose()?.unwrap_or_default();
        let ours = self.members().map(|(key, value)| Ok((key, to_raw_value(value)?)));
        let ours: Vec<_> = ours.collect::<serde_json::Result<_>>()?;
        meta.retain(|key, _| !Self::KEYS.contains(&key.as_str()));
        meta.extend(ours.iter().map(|(key, value)| ((*key).to_owned(), &**value)));
        let meta = to_raw_value(&meta)?;
        members.insert("_meta".to_owned(), &meta);
        RawJson::from_value(&members)
    }
}

/// Maximum length of a value from a peer, in bytes: W3C Baggage requires that this much be
/// propagated. Longer values are ignored.
const MAX_VALUE: usize = 8192;
/// Maximum number of requests recorded per operation.
const MAX_NOTED: usize = 64;

/// The trace context sent with the messages of one operation, and its requests: a call with several
/// rounds, or an opening, takes more than one.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct SentTrace {
    /// The context.
    pub context: TraceContext,
    sent: Mutex<Vec<TracedRequest>>,
}

/// A request of an operation.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct TracedRequest {
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: Box<str>,
    /// When it was created.
    pub began: Instant,
    /// When it was answered, if another request followed.
    pub answered: Option<Instant>,
}

impl SentTrace {
    /// A context for future messages.
    pub fn new(context: TraceContext) -> Self {
        Self { context, ..Self::default() }
    }

    /// Records a request, and returns its parameters with the context. `None` if there is nothing
    /// to add, or they are invalid.
    pub(crate) fn sent(&self, id: RequestId, method: &str, now: Instant, params: Option<&RawJson>) -> Option<RawJson> {
        self.note_sent(id, method, now);
        if self.context.is_empty() { None } else { self.context.put_into(params).ok() }
    }

    /// Records a request. The previous one has ended.
    fn note_sent(&self, id: RequestId, method: &str, now: Instant) {
        let mut sent = self.lock();
        if sent.len() < MAX_NOTED {
            if let Some(before) = sent.last_mut() {
                before.answered.get_or_insert(now);
            }
            sent.push(TracedRequest { id, method: method.into(), began: now, answered: None });
        }
    }

    /// Records that the last request was answered and the operation continues.
    pub fn note_answered(&self, now: Instant) {
        if let Some(last) = self.lock().last_mut() {
            last.answered.get_or_insert(now);
        }
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<TracedRequest> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TracedRequest>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Options are equal if their contexts are equal.
impl PartialEq for SentTrace {
    fn eq(&self, other: &Self) -> bool {
        self.context == other.context
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::time::Duration;

    #[test]
    fn rpc_38_a_context_is_read_from_meta_and_put_there() {
        let params =
            json!({"name": "x", "_meta": {"other": 1, "traceparent": "old", "tracestate": 7, "baggage": "a=b"}});
        let params = RawJson::from_value(&params).unwrap();
        let read = TraceContext::of_params(Some(&params));
        assert_eq!(read.members().collect::<Vec<_>>(), [("traceparent", "old"), ("baggage", "a=b")]);
        let new = TraceContext { traceparent: Some("new".into()), ..TraceContext::default() };
        let put: Value = new.put_into(Some(&params)).unwrap().parse().unwrap();
        assert_eq!(put, json!({"name": "x", "_meta": {"other": 1, "traceparent": "new"}}));
        let put: Value = new.put_into(None).unwrap().parse().unwrap();
        assert_eq!(put, json!({"_meta": {"traceparent": "new"}}));
        assert!(new.put_into(Some(&RawJson::from_value(&json!({"_meta": 1})).unwrap())).is_err());
        assert!(TraceContext::of_params(None).is_empty());
        for (length, is_read) in [(MAX_VALUE, true), (MAX_VALUE + 1, false)] {
            let meta = RawJson::from_value(&json!({"baggage": "b".repeat(length)})).unwrap();
            assert_eq!(TraceContext::of_meta(&meta).baggage.is_some(), is_read, "{length}");
        }
    }

    #[test]
    fn requests_of_an_operation_are_noted_within_bounds() {
        let (trace, began) = (SentTrace::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        trace.note_sent(RequestId::Integer(1), "tools/call", at(0));
        trace.note_answered(at(1));
        trace.note_sent(RequestId::Integer(2), "tools/call", at(3));
        trace.note_sent(RequestId::Integer(3), "tools/call", at(4));
        let times = |one: TracedRequest| (one.began, one.answered);
        let noted: Vec<_> = trace.requests().into_iter().map(times).collect();
        assert_eq!(noted, [(at(0), Some(at(1))), (at(3), Some(at(4))), (at(4), None)]);
        for _ in 0..MAX_NOTED {
            trace.note_sent(RequestId::Integer(4), "tools/call", at(5));
        }
        assert_eq!(trace.requests().len(), MAX_NOTED);
    }
}
