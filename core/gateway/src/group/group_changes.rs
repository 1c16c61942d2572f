//! Merges the notifications of a group's servers.

use serde_json::json;
use std::sync::Arc;
use trunkline_core::{
    client::Inbox,
    extension::{composition::rewriting, sync::Mutex},
    protocol::{RawJson, envelope::encode_notification, method},
    runtime::Runtime,
};

/// Passes notifications of the servers to the client of the group.
pub(super) struct GroupChanges {
    pub(super) runtime: Arc<dyn Runtime>,
    /// The client of the group, while it is open.
    pub(super) inbox: Mutex<Option<Arc<dyn Inbox>>>,
}

impl GroupChanges {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { runtime, inbox: Mutex::default() })
    }

    /// The client of the group, while it is open.
    pub(super) fn inbox(&self) -> Option<Arc<dyn Inbox>> {
        self.inbox.lock().clone()
    }

    /// Reports that all lists may have changed, because a server was added or removed.
    pub(super) fn lists_changed(&self) {
        for method in [method::TOOLS_LIST_CHANGED, method::PROMPTS_LIST_CHANGED, method::RESOURCES_LIST_CHANGED] {
            self.notify(method, None);
        }
    }

    /// Passes on a notification of the server with this prefix. Resource changes arrive through
    /// subscriptions instead.
    pub(super) fn notified(&self, prefix: &str, method: &str, params: Option<&RawJson>) {
        match params.map(|params| rewriting::notified(method, prefix, params)) {
            _ if method == method::RESOURCES_UPDATED => {}
            None => self.notify(method, None),
            Some(Some(params)) => self.notify(method, Some(&params)),
            Some(None) => {
                tracing::debug!(target: "trunkline::client::group", method, server = prefix, "an invalid notification")
            }
        }
    }

    /// Reports a changed resource of the group.
    pub(super) fn resource_updated(&self, uri: &str) {
        if let Ok(params) = RawJson::from_value(&json!({"uri": uri})) {
            self.notify(method::RESOURCES_UPDATED, Some(&params));
        }
    }

    /// Reports that resource changes may have been missed.
    pub(super) fn missed(&self) {
        if let Some(inbox) = self.inbox() {
            inbox.missed();
        }
    }

    fn notify(&self, method: &str, params: Option<&RawJson>) {
        if let Some(inbox) = self.inbox() {
            inbox.message(encode_notification(method, params.map(RawJson::as_bytes)));
        }
    }
}
