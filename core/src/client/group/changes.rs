//! The one stream of notifications that comes from the servers of a group.

use super::rewriting;
use crate::{
    client::Inbox,
    protocol::{RawJson, envelope::encode_notification, method},
    runtime::Runtime,
    sync::Mutex,
};
use std::sync::Arc;

/// Takes what the servers send by themselves to the client of the group.
pub(super) struct GroupChanges {
    pub(super) runtime: Arc<dyn Runtime>,
    /// The client of the group, while it is open.
    inbox: Mutex<Option<Arc<dyn Inbox>>>,
}

impl GroupChanges {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self { runtime, inbox: Mutex::default() })
    }

    pub(super) fn begin(&self, inbox: Arc<dyn Inbox>) {
        *self.inbox.lock() = Some(inbox);
    }

    pub(super) fn end(&self) {
        *self.inbox.lock() = None;
    }

    /// Reports that all lists may have changed: a server came or went.
    pub(super) fn lists_changed(&self) {
        for method in [method::TOOLS_LIST_CHANGED, method::PROMPTS_LIST_CHANGED, method::RESOURCES_LIST_CHANGED] {
            self.notify(method, None);
        }
    }

    /// The server with this prefix sent a notification.
    pub(super) fn notified(&self, prefix: &str, method: &str, params: Option<&RawJson>) {
        match params.map(|params| rewriting::notified(prefix, method, params)) {
            None if method != method::RESOURCES_UPDATED => self.notify(method, None),
            Some(Some(params)) => self.notify(method, Some(&params)),
            None | Some(None) => tracing::debug!(target: "trunkline", "an invalid {method} of the server {prefix}"),
        }
    }

    fn notify(&self, method: &str, params: Option<&RawJson>) {
        let inbox = self.inbox.lock().clone();
        if let Some(inbox) = inbox {
            inbox.message(encode_notification(method, params.map(RawJson::as_bytes)));
        }
    }
}
