//! Requests whose result may come from the cache, or be kept there.

use super::{
    client::Client,
    error::ClientError,
    inner::ClientInner,
    options::RequestOptions,
    reply::ReplyTo,
    response_cache::{AskedAt, CacheKey},
};
use crate::protocol::{
    RawJson, Revision, RevisionFeature,
    envelope::Notification,
    method::{MessageKind, Method, Sender},
};
use indexmap::IndexMap;
use serde_json::value::RawValue;
use std::sync::{Arc, Weak};

/// Gets the answer of a request first, and keeps it.
struct KeepReply {
    client: Weak<ClientInner>,
    key: CacheKey,
    asked: AskedAt,
    reply: Arc<dyn ReplyTo>,
}

impl Client {
    /// The result of a request, if it is kept and fresh.
    pub(super) fn kept(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        revision: Option<Revision>,
    ) -> Result<Option<RawJson>, ClientError> {
        if options.fresh {
            return Ok(None);
        }
        let Some(key) = self.cache_key(method, params, options, revision) else { return Ok(None) };
        self.inner.check_open()?;
        Ok(self.inner.cache.get(&key, self.inner.auth_context(), self.inner.runtime.now()))
    }

    /// The receiver of the answer that keeps it, if it may be kept.
    pub(super) fn keeping(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        revision: Option<Revision>,
        reply: Arc<dyn ReplyTo>,
    ) -> Arc<dyn ReplyTo> {
        let Some(key) = self.cache_key(method, params, options, revision) else { return reply };
        let asked = self.inner.cache.asked_at(self.inner.auth_context());
        Arc::new(KeepReply { client: Arc::downgrade(&self.inner), key, asked, reply })
    }

    /// The place in the cache of a request whose result may be kept.
    fn cache_key(
        &self,
        method: &str,
        params: Option<&RawJson>,
        options: &RequestOptions,
        revision: Option<Revision>,
    ) -> Option<CacheKey> {
        let revision = revision.filter(|revision| revision.supports(RevisionFeature::CacheHints))?;
        let row = Method::find(method, MessageKind::Request, Sender::Client, revision)?;
        // CCH-08: the answers of a round are not part of the key.
        let is_round = row.takes_input && (options.input_responses.are_given() || has_round(params));
        let may_be_kept = self.inner.options.cache && row.cacheable && !is_round;
        may_be_kept.then(|| CacheKey::new(method, params))
    }
}

impl ClientInner {
    /// The authorization context of the next request, if it is known.
    fn auth_context(&self) -> Option<u64> {
        self.options.auth.as_ref().map_or(Some(0), |auth| auth.context())
    }
}

impl ReplyTo for KeepReply {
    fn answered(&self, outcome: Result<RawJson, ClientError>) {
        if let (Ok(result), Some(client)) = (&outcome, self.client.upgrade()) {
            let (context, now) = (client.auth_context(), client.runtime.now());
            let max_bytes = client.options.max_cache_bytes;
            client.cache.keep(self.key.clone(), result, self.asked, context, now, max_bytes);
        }
        self.reply.answered(outcome);
    }

    fn progress(&self, params: RawJson) {
        self.reply.progress(params);
    }

    fn notification(&self, notification: Notification) {
        self.reply.notification(notification);
    }

    fn task_created(&self, result: RawJson) {
        self.reply.task_created(result);
    }

    fn input_required(&self, result: RawJson) {
        self.reply.input_required(result);
    }
}

/// Returns whether the parameters are those of a further round.
fn has_round(params: Option<&RawJson>) -> bool {
    let members = params.and_then(|params| params.parse::<IndexMap<String, &RawValue>>().ok());
    members.is_some_and(|members| members.contains_key("inputResponses") || members.contains_key("requestState"))
}
