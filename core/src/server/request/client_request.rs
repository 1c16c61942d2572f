//! Client requests on the stream of the request that they belong to (RPC-31, HTTP-17).

use super::context::RequestContext;
use crate::{
    engine::{RequestTimeout, later},
    protocol::{RawJson, RequestId},
    server::{
        handlers::{ClientRequestError, HookId, InputKind, InputRequest, ResponseCallback, read_answer},
        session::OutgoingMessage,
    },
};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// An answer as JSON text.
pub(super) fn raw(answer: &Value) -> Result<RawJson, ClientRequestError> {
    RawJson::from_value(answer).map_err(|error| ClientRequestError::Invalid(error.to_string()))
}

impl RequestContext {
    /// Sends a request for input, and checks its answer.
    pub(super) fn send_input_request(
        &self,
        timeout: RequestTimeout,
        request: &InputRequest,
        on_response: Box<dyn FnOnce(Result<Value, ClientRequestError>) + Send>,
    ) -> Result<RequestId, ClientRequestError> {
        let params = match request.kind {
            InputKind::Roots => None,
            _ => Some(raw(&request.params)?),
        };
        self.connection.remember_elicitation(&request.params);
        let kept = request.clone();
        let on_response = Box::new(move |answer| on_response(read_answer(&kept, answer)));
        self.send_request(timeout, request.kind.method(), params.as_ref(), on_response)
    }

    /// Sends a client request. The outcome comes exactly once, unless this fails.
    pub(super) fn send_request(
        &self,
        timeout: RequestTimeout,
        method: &str,
        params: Option<&RawJson>,
        on_response: ResponseCallback,
    ) -> Result<RequestId, ClientRequestError> {
        let connection = &self.connection;
        if connection.is_closed() {
            return Err(ClientRequestError::Closed);
        }
        if !self.reply.can_ask() {
            return Err(ClientRequestError::NotReachable);
        }
        let sent = Arc::new(OnceLock::new());
        let hook = self.cancel_with_call(&sent);
        let cancellation = self.cancellation.clone();
        let on_response: ResponseCallback = Box::new(move |answer| {
            cancellation.forget(hook);
            on_response(answer);
        });
        let now = connection.runtime().now();
        let id = {
            let _in_order = connection.client_requests.lock();
            if self.cancellation.is_cancelled() {
                return Err(ClientRequestError::Cancelled);
            }
            let revision = self.info.revision;
            let made = connection.conversation().ask(now, timeout, revision, method, params, on_response);
            let (id, message) = made.map_err(|error| {
                self.cancellation.forget(hook);
                ClientRequestError::Refused(error)
            })?;
            self.send(OutgoingMessage::Request(message), method);
            sent.get_or_init(|| id).clone()
        };
        connection.watch_deadline(id.clone(), later(now, timeout.timeout), Arc::downgrade(&self.reply));
        Ok(id)
    }

    /// Cancels the client request when its call is cancelled: the client is notified while the
    /// stream of the call is still there.
    fn cancel_with_call(&self, sent: &Arc<OnceLock<RequestId>>) -> Option<HookId> {
        let connection = Arc::downgrade(&self.connection);
        let reply = Arc::downgrade(&self.reply);
        let sent = Arc::clone(sent);
        self.cancellation.on_cancel(Box::new(move |reason| {
            if let (Some(connection), Some(reply)) = (connection.upgrade(), reply.upgrade())
                && !connection.is_closed()
            {
                // A request that is just being sent has its id afterwards.
                let id = {
                    let _in_order = connection.client_requests.lock();
                    sent.get().cloned()
                };
                if let Some(id) = id {
                    connection.cancel_client_request(&id, reason, Some(&*reply), ClientRequestError::Cancelled);
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests;
