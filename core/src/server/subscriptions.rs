//! `subscriptions/listen` (2026-07-28): streams of change notifications that clients opt in to.

use super::outbound::{Outbound, Outgoing};
use crate::protocol::{RawJson, RequestId, RpcError, envelope, meta, method};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// One open stream.
pub(super) struct Subscription {
    id: RequestId,
    tools_list_changed: bool,
    reply: Arc<dyn Outbound>,
}

impl Subscription {
    /// Opens a stream and acknowledges it: its first message (SUB-02), naming what of the filter is honoured.
    pub(super) fn open(id: RequestId, params: Option<&RawJson>, reply: Arc<dyn Outbound>) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct ListenParams {
            // As a map, because a struct would be read from an array too.
            notifications: BTreeMap<String, Value>,
        }
        let params =
            params.ok_or_else(|| RpcError::invalid_params("subscriptions/listen needs the parameter notifications"))?;
        let params: ListenParams =
            params.parse().map_err(|error| RpcError::invalid_params(format!("subscriptions/listen: {error}")))?;
        let tools_list_changed = match params.notifications.get("toolsListChanged") {
            None => false,
            Some(Value::Bool(wanted)) => *wanted,
            Some(_) => {
                let text = "subscriptions/listen: notifications.toolsListChanged must be true or false";
                return Err(RpcError::invalid_params(text));
            }
        };
        let subscription = Self { id, tools_list_changed, reply };
        let honoured = if subscription.tools_list_changed { json!({"toolsListChanged": true}) } else { json!({}) };
        subscription.send(method::SUBSCRIPTIONS_ACKNOWLEDGED, json!({"notifications": honoured}));
        Ok(subscription)
    }

    /// Tells that the tools changed, if the stream asked for it (SUB-01).
    pub(super) fn tools_changed(&self) {
        if self.tools_list_changed {
            self.send(method::TOOLS_LIST_CHANGED, json!({}));
        }
    }

    /// Where the stream's messages go.
    pub(super) fn reply(&self) -> &Arc<dyn Outbound> {
        &self.reply
    }

    /// The members of the result that ends the stream from this side (SUB-06).
    pub(super) fn ended(&self) -> Value {
        json!({"_meta": self.tag()})
    }

    /// Every message of the stream names it (SUB-03).
    fn send(&self, method: &str, mut params: Value) {
        params["_meta"] = self.tag();
        let params = serde_json::to_vec(&params).unwrap_or_default();
        self.reply.send(Outgoing::Notification(envelope::encode_notification(method, Some(&params))));
    }

    fn tag(&self) -> Value {
        json!({meta::SUBSCRIPTION_ID: self.id})
    }
}
