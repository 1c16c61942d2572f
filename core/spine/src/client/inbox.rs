//! The receiving side of a client.

use super::{
    ClientError, Inbox, LinkFailure, LinkMessage,
    inner::ClientInner,
    reading::{
        distinct_items::distinct,
        odd_params::{mend_request, usable_notification},
        odd_results::usable,
        odd_value::Fault,
        task_form::unified,
    },
    state::{
        client_call::Awaited, known_tools::ToolFacts, response_cache::with_valid_time, result_schema::SchemaRules,
    },
};
use crate::{
    engine::{Answer, ClientReceived},
    protocol::{
        RawJson, RequestId, Revision, RevisionFeature, RpcError,
        envelope::{self, Beginning, Frame, FrameBounds, Message, Notification},
        method::{self, Method},
    },
    wire_log::{Direction, MessageInfo},
    wire_record::encoded,
};
use bytes::Bytes;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak, atomic::Ordering},
};

/// Receives from a link while it is the current one.
pub(super) struct ClientInbox {
    pub(super) client: Weak<ClientInner>,
    pub(super) generation: u64,
}

impl ClientInbox {
    fn client(&self) -> Option<Arc<ClientInner>> {
        self.client.upgrade().filter(|client| client.generation.load(Ordering::Acquire) == self.generation)
    }

    /// Runs work for the client within its runtime.
    fn with_client<T>(&self, work: impl FnOnce(&Arc<ClientInner>) -> T) -> Option<T> {
        let client = self.client()?;
        let (mut work, mut done) = (Some(work), None);
        client.runtime.within(&mut || done = work.take().map(|work| work(&client)));
        done
    }
}

impl Inbox for ClientInbox {
    fn connection(&self) -> Option<u64> {
        self.client().map(|client| client.id.0)
    }

    fn message(&self, frame: Bytes) {
        self.with_client(|client| {
            // Hooks of the program run in here, and their panics must not end the reader.
            if catch_unwind(AssertUnwindSafe(|| client.receive(&frame))).is_err() {
                tracing::error!(target: "trunkline::client::connection", "panic while handling a message: hooks for notifications and progress must not panic");
            }
        });
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.client().is_some_and(|client| client.conversation.lock().awaits(id))
    }

    fn pause(&self, id: &RequestId) {
        if let Some(client) = self.client.upgrade() {
            let now = client.runtime.now();
            client.pauses.begin(now);
            client.conversation.lock().outgoing.pause(now, id);
            client.events.awaiting_user(true);
        }
    }

    fn resume(&self, id: &RequestId) {
        // Even from an abandoned link, because its pause was counted.
        if let Some(client) = self.client.upgrade() {
            let now = client.runtime.now();
            client.pauses.end(now);
            client.conversation.lock().outgoing.resume(now, id);
            client.events.awaiting_user(false);
            client.arm_timer_again();
        }
    }

    fn failed(&self, id: &RequestId, failure: LinkFailure) {
        self.with_client(|client| client.request_failed(id, ClientError::Link(failure)));
    }

    fn closed(&self, failure: LinkFailure) {
        self.with_client(|client| client.link_closed(failure));
    }

    fn session_renewed(&self) -> Option<LinkMessage> {
        self.with_client(|client| {
            // The requests of the lost session: the new one may use their ids again.
            client.host.stop_requests();
            client.conversation.lock().forget_incoming();
            client.events.reconnected();
            let first = client.log_level_request().map(|(message, answered)| {
                client.runtime.spawn(answered);
                client.arm_timer_again();
                message
            });
            client.subscribe_again();
            first
        })?
    }

    fn missed(&self) {
        self.with_client(|client| {
            client.cache.clear();
            client.subscriptions.missed();
        });
    }
}

impl ClientInner {
    fn receive(self: &Arc<Self>, frame: &Bytes) {
        let (limit, server) = (self.options.max_message_bytes, self.label.get());
        if frame.len() > limit {
            // Only for a custom transport; the others stop reading earlier.
            let problem = format!("The server sent a message of more than {limit} bytes, which was skipped");
            return match Beginning::of(frame) {
                Beginning { id: Some(id), response: true } => {
                    self.request_failed(&id, ClientError::Link(LinkFailure::Broken(problem)))
                }
                _ => {
                    tracing::warn!(target: "trunkline::client::connection", server, limit, "skipped a message from the server that exceeds the size limit")
                }
            };
        }
        // A batch of responses cannot have more elements than requests in flight.
        let bounds = FrameBounds { elements: self.options.max_in_flight, ..self.options.limits().frame() };
        let elements = match Frame::parse(frame, bounds) {
            Frame::Single(one) => vec![one],
            Frame::Batch(elements) => elements,
        };
        // Recorded once, as it is, if a part of it has no other text.
        let mut unrecorded = Some(frame);
        for element in elements {
            match element {
                Ok(message) => self.message(message, &mut unrecorded),
                Err(malformed) => {
                    // Like the log: a server may print without an end.
                    if self.invalid_frames.add(frame, &malformed.error, server, self.transport) {
                        self.refused(unrecorded.take());
                    }
                    // A request, which its sender waits for: responses are never malformed.
                    if let Some(id) = &malformed.id {
                        self.send(envelope::encode_error(Some(id), &malformed.error));
                    }
                }
            }
        }
    }

    /// Records a frame that is not a message.
    fn refused(&self, frame: Option<&Bytes>) {
        if let (Some(log), Some(frame)) = (self.wire_log(), frame) {
            let revision = self.conversation.lock().revision();
            let info = self.message_info(Direction::Received, revision, Some(&self.capabilities), None);
            log.text(&MessageInfo { refused: true, ..info }, frame);
        }
    }

    fn message(self: &Arc<Self>, mut message: Message, unrecorded: &mut Option<&Bytes>) {
        let copy = self.wire_log().map(|_| message.clone());
        let fault = mend_request(self.label.get(), &mut message);
        let (received, revision, declared) = {
            let mut conversation = self.conversation.lock();
            let received = conversation.receive(self.runtime.now(), message);
            (received, conversation.revision(), copy.as_ref().map(|_| conversation.declared().clone()))
        };
        if let (Some(log), Some(copy)) = (self.wire_log(), copy) {
            let method = match &received {
                ClientReceived::Answered { method, .. } => Some(&**method),
                _ => None,
            };
            let info = self.message_info(Direction::Received, revision, declared.as_ref(), method);
            match encoded(&copy) {
                Some(text) => log.text(&info, &text),
                None => {
                    let info = MessageInfo { refused: true, ..info };
                    unrecorded.take().into_iter().for_each(|frame| log.text(&info, frame));
                }
            }
        }
        self.handle(received, revision, fault);
    }

    /// `fault` is why the parameters of a request cannot be used.
    fn handle(self: &Arc<Self>, received: ClientReceived<Awaited>, revision: Option<Revision>, fault: Option<Fault>) {
        match received {
            ClientReceived::Answered { id, item, method, answer } => {
                let answer = match answer {
                    Answer::Outcome(Ok(result)) => {
                        let outcome = self.read(&method, revision, result);
                        if let Ok(result) = &outcome {
                            item.keep_progress(self, id, result);
                        }
                        Answer::Outcome(outcome)
                    }
                    Answer::Outcome(Err(error)) => Answer::Outcome(Err(error.into())),
                    Answer::InputRequired(result) => Answer::InputRequired(result),
                    Answer::Task(result) => Answer::Task(result),
                };
                item.answered(self, answer);
            }
            ClientReceived::Abandoned(result) => self.abandoned(&result),
            ClientReceived::Progress { item, params } => {
                let progress = Notification { method: method::PROGRESS.into(), params: Some(params) };
                let usable = usable_notification(self.label.get(), progress).and_then(|progress| progress.params);
                usable.into_iter().for_each(|params| item.progress(params));
            }
            ClientReceived::OfSubscription { item, notification } => {
                self.cache.notification(&notification);
                let Some(notification) = usable_notification(self.label.get(), notification) else { return };
                if self.tasks.notification(&notification) {
                    self.events.notification(method::TASKS_STATUS, notification.params.as_ref());
                }
                item.call.receiver.notification(notification);
            }
            ClientReceived::Notification(notification) => {
                self.cache.notification(&notification);
                let Some(notification) = usable_notification(self.label.get(), notification) else { return };
                let is_of_task = self.tasks.notification(&notification);
                self.subscriptions.notification(&notification);
                let method = if is_of_task { method::TASKS_STATUS } else { &notification.method };
                self.events.notification(method, notification.params.as_ref());
            }
            ClientReceived::Request(request) => match fault {
                None => self.request_received(request),
                Some(fault) => self.answer(&request.id, Err(RpcError::invalid_params(format!("params: {fault}")))),
            },
            ClientReceived::Withdrawn(id) => self.withdrawn(&id),
            ClientReceived::Replied(answer) => self.send(answer),
            ClientReceived::Nothing(why) => {
                tracing::debug!(target: "trunkline::client::connection", reason = %why, "ignored a message")
            }
        }
    }

    /// Processes what a result says about tools, and converts it to the form that programs see.
    fn read(&self, method: &str, revision: Option<Revision>, result: RawJson) -> Result<RawJson, ClientError> {
        let server = self.label.get();
        let result = usable(server, method, unified(method, result))?;
        let has_hints = revision.is_some_and(|revision| revision.supports(RevisionFeature::CacheHints));
        let result = if has_hints && Method::is_cacheable(method) { with_valid_time(result) } else { result };
        let result = if method == method::TOOLS_LIST { self.read_tools(revision, result) } else { result };
        Ok(distinct(server, method, result))
    }

    /// Keeps the facts about listed tools, and leaves out those with invalid annotations.
    pub(super) fn read_tools(&self, revision: Option<Revision>, result: RawJson) -> RawJson {
        let facts = ToolFacts {
            server_of: &|tool| self.label.of_tool(&*self.connector, tool),
            headers: self.mirrors(revision),
            output: self.options.validate_results,
            support: revision.is_some_and(|revision| revision.supports(RevisionFeature::CoreTasks)),
            rules: SchemaRules::of(revision),
        };
        self.known_tools.read_list(result, facts)
    }

    fn link_closed(self: &Arc<Self>, failure: LinkFailure) {
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        *self.failure.lock() = Some(failure.clone());
        let reconnects = self.options.reconnect && self.connector.reconnects();
        if reconnects && self.ready.load(Ordering::Acquire) {
            self.lose(&failure);
            return self.reconnect_for_subscriptions();
        }
        if self.server.get().is_some() && !reconnects {
            return self.end_with_link(ClientError::Link(failure));
        }
        // Still negotiating, so a new link may follow.
        self.fail_all(&ClientError::Link(failure));
    }
}
