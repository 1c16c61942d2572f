//! The path of a request: through middleware and the function of its method to a handler, and back.

use super::{
    active_request::{ActiveRequest, Responder, Routed},
    mapper::{MiddlewareLink, ResultMapper, Target},
    mirrored,
    pending_call::PendingCall,
    resumptions::ResumedState,
};
use crate::{
    protocol::{RawJson, RequestId, RevisionFeature, RpcError, method, surrogates},
    server::{
        handlers::{Call, Outcome, TaskTimes},
        registry::RegisteredMiddleware,
        result::{ToolRenderer, error_of},
        session::{OutgoingMessage, ServedRequest},
    },
    telemetry::Ambient,
    turns,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

impl ServedRequest for ActiveRequest {
    fn serve(self: Arc<Self>) {
        let serve = || match mirrored::check(&self).and_then(|()| self.resume_rounds()) {
            Ok(None) if self.snapshot.hooks.lifespan.is_open() => {
                self.step(0, self.params.clone(), Responder::Client);
            }
            Ok(state) => {
                let later = Arc::clone(&self).serve_later(state, self.params.clone(), Responder::Client);
                self.connection.runtime().spawn(Box::pin(later));
            }
            Err(error) => drop(self.deliver(Responder::Client, Err(error))),
        };
        self.look_for_tasks();
        self.observer.run(serve);
    }

    fn cancel(&self, reason: &str) {
        self.observer.cancelled();
        self.cancellation.cancel(reason);
        self.reply.send(OutgoingMessage::Abandoned);
    }

    fn fail(&self, id: &RequestId, error: &RpcError) {
        let failed = Err(self.task_elsewhere().unwrap_or_else(|| error.clone()));
        self.observer.answered(self.method, &failed);
        self.cancellation.cancel(&error.message);
        self.respond(id, failed);
    }
}

impl ActiveRequest {
    /// Sends the response.
    pub(super) fn respond(&self, id: &RequestId, result: Result<RawJson, RpcError>) {
        self.observer.answered(self.method, &result);
        if self.info.progress_token.is_some() {
            self.send_held_progress();
        }
        let outgoing = OutgoingMessage::response(id, result);
        self.connection.send(&*self.reply, outgoing, (&self.info).into(), self.method);
    }

    /// Serves a request that has to wait first.
    pub(super) async fn serve_later(
        self: Arc<Self>,
        state: Option<ResumedState>,
        params: Option<RawJson>,
        responder: Responder,
    ) {
        match self.ready(state).await {
            Ok(()) => self.observer.run(|| self.step(0, params, responder)),
            Err(error) => drop(self.deliver(responder, Err(error))),
        }
    }

    /// Waits until no other request holds the state, which may be that of a retry after a broken
    /// connection, and until the lifespan of the server is open.
    async fn ready(&self, state: Option<ResumedState>) -> Result<(), RpcError> {
        let runtime = self.connection.runtime();
        if let Some(state) = state {
            let (resumptions, stored) = (&self.services.resumptions, self.stored_tasks()?);
            let (resumption, kept) = resumptions.hold(stored, runtime, &state, &self.cancellation).await?;
            self.rounds().hold(resumption, kept);
        }
        self.snapshot.hooks.lifespan.open(runtime).await.map_err(|error| {
            let detail = error.detail();
            tracing::error!(target: "trunkline::server::request", error = detail, "the lifespan of the server could not be opened");
            RpcError::internal()
        })
    }

    /// Resumes the rounds of an earlier request (MRTR-05).
    fn resume_rounds(&self) -> Result<Option<ResumedState>, RpcError> {
        match &self.params {
            Some(params) if self.row.takes_input && self.info.revision.supports(RevisionFeature::InputRequired) => {
                self.rounds().resume(params, &self.services.sealer, || self.binding())
            }
            _ => Ok(None),
        }
    }

    /// Runs the chain from a position: the next middleware for this method, or else the function of
    /// the method.
    pub(super) fn step(self: &Arc<Self>, from: usize, params: Option<RawJson>, responder: Responder) {
        let wraps = |(_, middleware): &(usize, &Arc<RegisteredMiddleware>)| middleware.wraps(self.method);
        let found = self.snapshot.middlewares.iter().enumerate().skip(from).find(wraps);
        if let Some((position, middleware)) = found {
            // Middleware would see another text than the handler, which does not get it at all.
            if let Some(problem) = params.as_ref().filter(|_| from == 0).and_then(lone_surrogate) {
                let error = RpcError::invalid_params(format!("{}: {problem}", self.method));
                self.deliver(responder, Err(error));
                return;
            }
            let input =
                WrappedRequest { method: self.method, params: params.clone().unwrap_or_else(RawJson::empty_object) };
            let link = MiddlewareLink { position, params, name: OnceLock::new() };
            let mapper = Arc::new(Wrapping { link, middleware: Arc::clone(middleware) });
            return self.run(mapper, RawJson::object(&input), responder);
        }
        self.follow(|| (self.route)(self, params.as_ref()), responder);
    }

    /// Takes the next step of a request whose schema has to be checked: immediately, or in a queue
    /// if the schema is costly.
    pub(in crate::server) fn when_checked(
        &self,
        is_costly: bool,
        next: impl FnOnce(&Self) -> Result<Routed, RpcError> + Send + 'static,
    ) -> Result<Routed, RpcError> {
        if !is_costly {
            return next(self);
        }
        Ok(Routed::Deferred(Box::new(move |context, responder| {
            context.in_turn(move |context, turn| context.follow(|| turn.and_then(|()| next(context)), responder));
        })))
    }

    /// Runs costly work when it is the caller's turn, or immediately, with an error, if too much of
    /// the caller's work is queued.
    pub(super) fn in_turn(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>, Result<(), RpcError>) + Send + 'static) {
        let (this, ambient) = (Arc::clone(self), Ambient::current());
        turns::take(self.connection.runtime(), self.holder(), move |turn| {
            let turn = turn.map_err(|crowded| RpcError::busy(&crowded.to_string()));
            ambient.run(|| this.observer.in_span(|| work(&this, turn)));
        });
    }

    /// Takes the next step of the request.
    pub(in crate::server) fn follow(
        self: &Arc<Self>,
        route: impl FnOnce() -> Result<Routed, RpcError>,
        mut responder: Responder,
    ) {
        let routed = catch_unwind(AssertUnwindSafe(route)).unwrap_or_else(|_| {
            tracing::error!(target: "trunkline::server::request", method = self.method, "panic while handling a request");
            Err(RpcError::internal())
        });
        match routed {
            Ok(Routed::Run(mapper, input)) => self.run(mapper, input, responder),
            Ok(Routed::RunAsTask(mapper, input, ttl)) => {
                let times = TaskTimes { ttl, poll_interval: None };
                match self.start_task(times, mapper.restarts_task(), &mut responder) {
                    Ok((waiting, created)) => {
                        self.hand_out(waiting, created, move |this| this.run(mapper, input, responder));
                    }
                    Err(error) => drop(self.deliver(responder, Err(error))),
                }
            }
            Ok(Routed::Mounted(mount, params)) => self.enter(&mount, params, responder),
            Ok(Routed::Deferred(answer)) => answer(self, responder),
            Ok(Routed::Answer(result)) => drop(self.deliver(responder, Ok(result))),
            Err(error) => drop(self.deliver(responder, Err(error))),
        }
    }

    /// Passes the request to a handler.
    pub(in crate::server) fn run(
        self: &Arc<Self>,
        mapper: Arc<dyn ResultMapper>,
        input: RawJson,
        responder: Responder,
    ) {
        // The request may have waited: for a lifespan, a hook, or the check of its schema.
        if self.cancellation.is_cancelled() {
            self.deliver(responder, Err(RpcError::invalid_request("The request was cancelled")));
            return;
        }
        let Target { handler, name, .. } = mapper.target();
        if mapper.link().is_none() && mapper.may_ask() {
            self.observer.named(name.unwrap_or(self.method));
        }
        let handler = Arc::clone(handler);
        let call = PendingCall::begin(Arc::clone(self), mapper, responder);
        // If the handler panics, its call is dropped, which fails it.
        let called = catch_unwind(AssertUnwindSafe(|| handler.call(Call::new(call, input))));
        if called.is_err() {
            tracing::error!(target: "trunkline::server::request", method = self.method, "a handler panicked");
        }
    }
}

/// Says where params have half of a surrogate pair, which is no text.
fn lone_surrogate(params: &RawJson) -> Option<String> {
    match surrogates::mended(params.as_bytes()) {
        Cow::Borrowed(_) => None,
        Cow::Owned(_) => params.read::<Value>().err(),
    }
}

/// One middleware around one request.
struct Wrapping {
    link: MiddlewareLink,
    middleware: Arc<RegisteredMiddleware>,
}

impl ResultMapper for Wrapping {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.middleware.handler, name: None, timeout: None }
    }

    /// The result may come from the middleware itself, so it is projected to the revision. A tool
    /// error of the middleware becomes one of the tool.
    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, revision) = (context.results(), context.info.revision);
        match outcome {
            Outcome::Result(result) => context
                .pass(&result)
                .map_err(|error| error_of(results, "a middleware", Outcome::Internal(error.to_string()))),
            Outcome::ToolError(message) if context.method == method::TOOLS_CALL => {
                Ok(ToolRenderer { results, revision, name: "", output: None }.error(&message))
            }
            other => Err(error_of(results, "a middleware", other)),
        }
    }

    fn link(&self) -> Option<&MiddlewareLink> {
        Some(&self.link)
    }
}

/// The input of middleware. Not a `Value`: the client's numbers may be longer than one can hold.
#[derive(Serialize)]
struct WrappedRequest<'a> {
    method: &'a str,
    params: RawJson,
}
