//! Sending notifications.

use crate::{
    client::{Client, ClientError, LinkMessage, RequestOptions, telemetry::end_with},
    protocol::RawJson,
    telemetry::OpenOperation,
    wire_log::Direction,
};
use std::sync::Arc;

impl Client {
    /// Sends a notification.
    ///
    /// # Errors
    /// If the protocol defines it but the negotiated revision does not, or if the connection is
    /// closed.
    pub fn notify(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.notify_within(None, method, params)
    }

    /// Sends a notification, for which a binding may have started a span.
    ///
    /// # Errors
    /// As for [`Client::notify`].
    #[doc(hidden)]
    pub fn notify_within(
        &self,
        given: Option<Arc<dyn OpenOperation>>,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<(), ClientError> {
        let inner = &self.inner;
        let start = || inner.operation(inner.parts(method, params, &RequestOptions::default()));
        let Some(operation) = inner.observed(given, start) else {
            return self.send_notification(method, params);
        };
        let context = operation.context();
        // Params that are not an object are refused later.
        let traced = (!context.is_empty()).then(|| context.put_into(params).ok()).flatten();
        let sent = self.send_notification(method, traced.as_ref().or(params));
        let outcome = sent.as_ref().map(|()| RawJson::empty_object()).map_err(Clone::clone);
        operation.end(end_with(method, &outcome));
        sent
    }

    fn send_notification(&self, method: &str, params: Option<&RawJson>) -> Result<(), ClientError> {
        self.inner.check_open()?;
        if !self.was_opened() {
            self.notify_when_open(method, params);
            return Ok(());
        }
        let notification = self.inner.conversation.lock().notification(method, params);
        let notification = notification.map_err(|error| ClientError::Invalid(error.message))?;
        self.inner.check_size(method, &notification)?;
        let revision = self.inner.conversation.lock().revision();
        self.inner.log(Direction::Sent, revision, "", &notification);
        self.inner.deliver(LinkMessage::without_answer(notification));
        Ok(())
    }

    /// Sends a notification once the connection is open, and opens it.
    fn notify_when_open(&self, method: &str, params: Option<&RawJson>) {
        let (client, method, params) = (self.clone(), method.to_owned(), params.cloned());
        self.inner.runtime.spawn(Box::pin(async move {
            let opened = client.opened().await;
            if let Err(error) = opened.and_then(|()| client.send_notification(&method, params.as_ref())) {
                tracing::warn!(target: "trunkline::client::connection", method, %error, "could not send a notification");
            }
        }));
    }
}
