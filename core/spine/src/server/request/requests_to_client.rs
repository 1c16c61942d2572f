//! Sends client requests on the stream of the request that they belong to (RPC-31, HTTP-17).

use super::active_request::ActiveRequest;
use crate::{
    engine::{MethodCall, RequestTimeout, later},
    protocol::{RawJson, RequestId},
    runtime::Promise,
    server::{
        handlers::{CancelSent, ClientRequestError, InputKind, InputRequest, ResponseCallback, read_answer},
        session::{OutgoingMessage, PendingRequest},
    },
    telemetry::{NetworkFacts, OperationEnd, OperationStart, RunningOperation},
};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// Called once with the validated answer to a request for input.
pub(super) type InputCallback = Box<dyn FnOnce(Result<Value, ClientRequestError>) + Send>;

/// A client request to send.
pub(super) struct Transmission<'a> {
    pub(super) timeout: RequestTimeout,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawJson>,
    /// True if the request ends with its call; the client is then notified that it is cancelled.
    pub(super) cancellable: bool,
}

/// An answer as raw JSON.
pub(super) fn raw(answer: &Value) -> Result<RawJson, ClientRequestError> {
    RawJson::from_value(answer).map_err(|error| ClientRequestError::Invalid(error.to_string()))
}

impl ActiveRequest {
    /// Returns whether client requests can be sent on its stream.
    pub(super) fn can_ask(&self) -> bool {
        self.connection.takes_answers() && self.reply.can_ask() && !self.cancellation.is_cancelled()
    }

    /// Sends a request for input and validates its answer.
    pub(super) fn send_input_request(
        self: &Arc<Self>,
        timeout: RequestTimeout,
        request: &InputRequest,
        on_response: InputCallback,
    ) -> Result<CancelSent, ClientRequestError> {
        self.connection.remember_elicitation(&request.params, self.client());
        if self.asks_by_task(request.kind) {
            return self.send_as_task(timeout, request, on_response);
        }
        let params = match request.kind {
            InputKind::Roots => None,
            _ => Some(raw(&request.params)?),
        };
        let kept = request.clone();
        let on_response = Box::new(move |answer| on_response(read_answer(&kept, answer)));
        self.send_request(timeout, request.kind.method(), params.as_ref(), on_response)
    }

    /// Sends a client request. The callback is called exactly once, unless this fails.
    pub(super) fn send_request(
        &self,
        timeout: RequestTimeout,
        method: &str,
        params: Option<&RawJson>,
        on_response: ResponseCallback,
    ) -> Result<CancelSent, ClientRequestError> {
        let observers = self.connection.observers();
        let observed =
            observers.and_then(|observers| observers.client_request(|| self.client_request_start(method, params)));
        let (traced, on_response) = match observed {
            None => (None, on_response),
            Some(operation) => traced(operation, params, on_response),
        };
        let params = traced.as_ref().or(params);
        let sent = Arc::new(OnceLock::new());
        let cancel = self.cancelling(&sent);
        let with_call = Arc::clone(&cancel);
        let hook = self.cancellation.on_cancel(Box::new(move |reason| with_call(reason)));
        let cancellation = self.cancellation.clone();
        let on_response: ResponseCallback = Box::new(move |answer| {
            cancellation.forget(hook);
            on_response(answer);
        });
        let transmission = Transmission { timeout, method, params, cancellable: true };
        self.transmit(transmission, on_response, &sent).inspect_err(|_| self.cancellation.forget(hook))?;
        Ok(cancel)
    }

    /// The start of a client request, for telemetry.
    pub(super) fn client_request_start(&self, method: &str, params: Option<&RawJson>) -> OperationStart {
        let facts = NetworkFacts {
            transport: Some(self.connection.setup.transport),
            revision: Some(self.info.revision),
            session_id: self.session_id().map(str::to_owned),
            ..NetworkFacts::default()
        };
        let now = self.connection.runtime().unix_time();
        OperationStart::sent(method.to_owned(), params, facts, now)
    }

    /// Sends a client request and records its id before another thread can see its response.
    pub(super) fn transmit(
        &self,
        Transmission { timeout, method, params, cancellable }: Transmission<'_>,
        on_response: ResponseCallback,
        sent: &OnceLock<RequestId>,
    ) -> Result<(), ClientRequestError> {
        let connection = &self.connection;
        if connection.is_closed() {
            return Err(ClientRequestError::Closed);
        }
        if !self.reply.can_ask() {
            return Err(ClientRequestError::NotReachable);
        }
        let now = connection.runtime().now();
        let ended = Arc::<Promise<()>>::default();
        let end = Arc::clone(&ended);
        let on_response: ResponseCallback = Box::new(move |answer| {
            end.keep(());
            on_response(answer);
        });
        let id = {
            let _in_order = connection.client_requests.in_order();
            if cancellable && self.cancellation.is_cancelled() {
                return Err(ClientRequestError::Cancelled);
            }
            let revision = self.info.revision;
            let call = MethodCall { method, params, timeout };
            let mut conversation = connection.conversation();
            // Under this lock, because the end of the input fails what was asked before.
            if !connection.takes_answers() {
                return Err(ClientRequestError::Closed);
            }
            let made = conversation.ask(now, revision, call, PendingRequest { on_response, call: self.key });
            drop(conversation);
            let (id, message) = made.map_err(ClientRequestError::Refused)?;
            self.send(OutgoingMessage::Request(message), method);
            sent.get_or_init(|| id).clone()
        };
        let reply = cancellable.then(|| Arc::downgrade(&self.reply));
        connection.watch_deadline(id, later(now, timeout.timeout), reply, ended);
        Ok(())
    }

    /// Cancels a client request that is no longer needed, and notifies the client, as long as the
    /// stream of the call exists.
    fn cancelling(&self, sent: &Arc<OnceLock<RequestId>>) -> CancelSent {
        let connection = Arc::downgrade(&self.connection);
        let reply = Arc::downgrade(&self.reply);
        let sent = Arc::clone(sent);
        Arc::new(move |reason: &str| {
            if let (Some(connection), Some(reply)) = (connection.upgrade(), reply.upgrade())
                && !connection.is_closed()
            {
                // A request that is just being sent gets its id afterwards.
                let id = {
                    let _in_order = connection.client_requests.in_order();
                    sent.get().cloned()
                };
                if let Some(id) = id {
                    connection.cancel_client_request(&id, reason, Some(&*reply), ClientRequestError::Cancelled);
                }
            }
        })
    }
}

/// Adds the trace context to the parameters, and ends the operation with the response.
fn traced(
    operation: RunningOperation,
    params: Option<&RawJson>,
    on_response: ResponseCallback,
) -> (Option<RawJson>, ResponseCallback) {
    let context = operation.context();
    // Parameters that are not an object are refused when they are sent.
    let params = (!context.is_empty()).then(|| context.put_into(params).ok()).flatten();
    let on_response = move |answer: Result<RawJson, ClientRequestError>| {
        operation.end(match &answer {
            Ok(_) => OperationEnd::default(),
            Err(error) => error.as_end(),
        });
        on_response(answer);
    };
    (params, Box::new(on_response))
}

#[cfg(test)]
mod tests;
