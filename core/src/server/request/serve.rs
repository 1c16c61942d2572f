//! The way of a request: through the middleware, to the function of its method, to a handler, and
//! back.

use super::{
    call::PendingCall,
    context::{RequestContext, Responder, Route, Routed, Services},
    mapper::{MiddlewareLink, ResultMapper},
    mirrored,
    resumptions::{IN_USE, LOOK, LOOKS},
    stored_resumptions::HeldResumption,
};
use crate::{
    composition::rewriting,
    engine::{IncomingCall, RequestInfo, later},
    protocol::{RawJson, RevisionFeature, RpcError, method},
    race,
    server::{
        handlers::{Call, Cancellation, Handler, InputRequired, Outcome},
        registry::RegisteredMiddleware,
        result::{ResultWriter, error_of, pass_result, project_errors, tool_error},
        session::{Connection, Outbound},
    },
    telemetry::{Ambient, RunningOperation},
    turns::{self, Crowded},
};
use serde_json::json;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};
use tracing::{Span, field};

impl RequestContext {
    pub(in crate::server) fn begin(
        connection: &Arc<Connection>,
        services: &Arc<Services>,
        route: Route,
        call: IncomingCall,
        reply: &Arc<dyn Outbound>,
        cancellation: Cancellation,
        operation: Option<Arc<RunningOperation>>,
    ) {
        let begin = || Self::new(connection, services, route, call, reply, cancellation, operation.clone()).serve();
        match &operation {
            None => begin(),
            Some(operation) => drop(operation.run(begin)),
        }
    }

    fn serve(self: Arc<Self>) {
        let context = self;
        let _entered = context.span.enter();
        context.look_for_tasks();
        let go_on = |context: &Arc<Self>| {
            context.when_held(|context| {
                context.when_open(Responder::Client, |context, responder| {
                    context.step(0, context.params.clone(), responder);
                });
            });
        };
        match mirrored::check(&context).and_then(|()| context.resume_rounds()) {
            Ok(()) => go_on(&context),
            Err(error) if error.is_busy() => context.when_free(go_on),
            Err(error) => {
                context.deliver(Responder::Client, Err(error));
            }
        }
    }

    /// Goes on when no other request with the same state is served here: this may be a retry, after
    /// a connection that broke.
    fn when_free(self: &Arc<Self>, go_on: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let context = Arc::clone(self);
        self.connection.runtime().spawn(Box::pin(async move {
            let runtime = context.connection.runtime();
            let mut resumed = Err(RpcError::busy(IN_USE));
            for _ in 0..LOOKS {
                let look = runtime.sleep_until(later(runtime.now(), LOOK));
                if race::unless(context.cancellation.cancelled(), look).await.is_none() {
                    break;
                }
                resumed = context.resume_rounds();
                if !resumed.as_ref().is_err_and(RpcError::is_busy) {
                    break;
                }
            }
            match resumed {
                Ok(()) => context.span.in_scope(|| go_on(&context)),
                Err(error) => drop(context.deliver(Responder::Client, Err(error))),
            }
        }));
    }

    /// The span in which the middleware and the handler of the request run.
    pub(super) fn new_span(&self) -> Span {
        tracing::info_span!(
            target: "trunkline::server::request",
            "mcp.call",
            method = self.method,
            name = field::Empty,
            revision = self.info.revision.as_str(),
            session = self.session_id(),
            request_id = %self.id,
            principal = self.info.auth.is_some().then(|| self.info.principal()),
        )
    }

    /// Goes on when no other worker serves a request with the same state.
    fn when_held(self: &Arc<Self>, go_on: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let Some((id, expires, known)) = self.rounds().resumed() else { return go_on(self) };
        let stored = match self.stored_tasks() {
            Ok(None) => return go_on(self),
            Ok(Some(stored)) => Arc::clone(stored),
            Err(error) => {
                self.deliver(Responder::Client, Err(error));
                return;
            }
        };
        let context = Arc::clone(self);
        self.connection.runtime().spawn(Box::pin(async move {
            match HeldResumption::begin(stored, &id, expires, known).await {
                Ok((held, kept)) => {
                    context.rounds().hold(Box::new(held), kept);
                    context.span.in_scope(|| go_on(&context));
                }
                Err(error) => {
                    context.deliver(Responder::Client, Err(error));
                }
            }
        }));
    }

    /// Goes on when the lifespan of the server is open, which the first request opens.
    pub(super) fn when_open(
        self: &Arc<Self>,
        responder: Responder,
        go_on: impl FnOnce(&Arc<Self>, Responder) + Send + 'static,
    ) {
        if self.snapshot.hooks.lifespan.is_open() {
            return go_on(self, responder);
        }
        let (context, runtime) = (Arc::clone(self), Arc::clone(self.connection.runtime()));
        let opening = Arc::clone(&runtime);
        runtime.spawn(Box::pin(async move {
            match context.snapshot.hooks.lifespan.open(&opening).await {
                Ok(()) => context.span.in_scope(|| go_on(&context, responder)),
                Err(error) => {
                    let detail = error.detail();
                    tracing::error!(target: "trunkline::server::request", error = detail, "the lifespan of the server could not be opened");
                    context.deliver(responder, Err(RpcError::internal()));
                }
            }
        }));
    }

    /// Takes up the rounds that an earlier request left (MRTR-05).
    fn resume_rounds(&self) -> Result<(), RpcError> {
        match &self.params {
            Some(params) if self.takes_input && self.info.revision.supports(RevisionFeature::InputRequired) => {
                self.rounds().resume(params, &self.services.sealer, &self.services.resumptions, || self.binding())
            }
            _ => Ok(()),
        }
    }

    /// Runs the chain from a link on: the next middleware that wants the method, or else the
    /// function of the method.
    pub(super) fn step(self: &Arc<Self>, from: usize, params: Option<RawJson>, responder: Responder) {
        let wraps = |(_, middleware): &(usize, &Arc<RegisteredMiddleware>)| middleware.wraps(self.method);
        let found = self.snapshot.middlewares.iter().enumerate().skip(from).find(wraps);
        if let Some((position, middleware)) = found {
            let input = json!({"method": self.method, "params": params.clone().unwrap_or_else(RawJson::empty_object)});
            let input = RawJson::from_value(&input);
            let (middleware, cacheable) = (Arc::clone(middleware), self.cacheable);
            let link = MiddlewareLink { position, params };
            let mapper = Arc::new(Wrapping { link, middleware, method: self.method, name: OnceLock::new(), cacheable });
            return match input {
                Ok(input) => self.run(mapper, input, responder),
                Err(_) => drop(self.deliver(responder, Err(RpcError::internal()))),
            };
        }
        self.follow(|| (self.route)(self, params.as_ref()), responder);
    }

    /// Takes the next step of the request where a schema is checked: at once, or for a costly one
    /// in its turn.
    pub(in crate::server) fn when_checked(
        &self,
        is_costly: bool,
        next: impl FnOnce(&Self) -> Result<Routed, RpcError> + Send + 'static,
    ) -> Result<Routed, RpcError> {
        if !is_costly {
            return next(self);
        }
        Ok(Routed::Deferred(Box::new(move |context, responder| {
            let (context, ambient) = (Arc::clone(context), Ambient::current());
            turns::take(&Arc::clone(context.connection.runtime()), context.holder(), move |turn| {
                let next = || turn.map_err(busy).and_then(|()| next(&context));
                ambient.run(|| context.span.in_scope(|| context.follow(next, responder)));
            });
        })))
    }

    /// Takes the next step of the request.
    pub(in crate::server) fn follow(
        self: &Arc<Self>,
        route: impl FnOnce() -> Result<Routed, RpcError>,
        responder: Responder,
    ) {
        match catch_unwind(AssertUnwindSafe(route)) {
            Ok(Ok(Routed::Run(mapper, input))) => self.run(mapper, input, responder),
            Ok(Ok(Routed::RunAsTask(mapper, input, ttl))) => {
                match self.start_task(ttl, mapper.restarts_task(), responder) {
                    Ok((responder, (waiting, created))) => {
                        self.hand_out(waiting, created, move |this| this.run(mapper, input, responder));
                    }
                    Err((responder, error)) => drop(self.deliver(responder, Err(error))),
                }
            }
            Ok(Ok(Routed::Mounted(mount, params))) => self.enter(&mount, params, responder),
            Ok(Ok(Routed::Deferred(answer))) => answer(self, responder),
            Ok(Ok(Routed::Answer(result))) => {
                self.deliver(responder, Ok(result));
            }
            Ok(Err(error)) => {
                self.deliver(responder, Err(error));
            }
            Err(_) => {
                tracing::error!(target: "trunkline::server::request", method = self.method, "a panic while a request was served");
                self.deliver(responder, Err(RpcError::internal()));
            }
        }
    }

    /// Hands the request to a handler.
    pub(in crate::server) fn run(
        self: &Arc<Self>,
        mapper: Arc<dyn ResultMapper>,
        input: RawJson,
        responder: Responder,
    ) {
        if mapper.link().is_none() && mapper.may_ask() {
            self.span.record("name", mapper.name());
        }
        let handler = Arc::clone(mapper.handler());
        let call = PendingCall::begin(Arc::clone(self), mapper, responder);
        // A handler that panics drops its call, which fails it.
        let called = catch_unwind(AssertUnwindSafe(|| handler.call(Call::new(call, input))));
        if called.is_err() {
            tracing::error!(target: "trunkline::server::request", method = self.method, "a handler panicked");
        }
    }

    /// Takes the outcome of a handler. `false`: the request is not wanted any more.
    pub(super) fn complete(
        self: &Arc<Self>,
        mapper: &Arc<dyn ResultMapper>,
        input: &RawJson,
        responder: Responder,
        outcome: Outcome,
    ) -> bool {
        if !self.has_receiver() {
            // A receiver inside, such as middleware, must not wait for ever.
            if let Responder::Inside(_, take) = responder {
                take(Err(RpcError::invalid_request("The request was cancelled")));
            }
            return false;
        }
        // Client requests without an answer decide, whatever the handler returned.
        let outcome = match Some(()).filter(|()| mapper.may_ask()).and_then(|()| self.rounds().take_noted()) {
            Some(requests) => Outcome::InputRequired(InputRequired { requests, state: None }),
            None => project_errors(outcome, self.info.revision, self.takes_input),
        };
        match outcome {
            Outcome::InputRequired(InputRequired { requests, state }) if mapper.may_ask() => {
                self.require(mapper, input, responder, requests, state)
            }
            outcome => {
                if let Some(step) = mapper.next(self, input, &outcome) {
                    self.span.in_scope(|| self.follow(|| step, responder));
                    return true;
                }
                if mapper.is_costly(&outcome) {
                    let (context, mapper, ambient) = (Arc::clone(self), Arc::clone(mapper), Ambient::current());
                    turns::take(self.connection.runtime(), self.holder(), move |turn| {
                        let render = || {
                            let render = |()| mapper.render(context.results(), &context.info, outcome);
                            context.deliver(responder, turn.map_err(busy).and_then(render))
                        };
                        ambient.run(|| context.span.in_scope(render));
                    });
                    return true;
                }
                let rendered = mapper.render(self.results(), &self.info, outcome);
                self.deliver(responder, rendered)
            }
        }
    }
}

fn busy(crowded: Crowded) -> RpcError {
    RpcError::busy(&crowded.to_string())
}

/// One middleware around one request.
struct Wrapping {
    link: MiddlewareLink,
    middleware: Arc<RegisteredMiddleware>,
    method: &'static str,
    /// Made when a middleware asks for it.
    name: OnceLock<String>,
    cacheable: bool,
}

/// The name of the called tool or prompt, or the URI of the read resource.
fn called_name(method: &str, params: Option<&RawJson>) -> Option<String> {
    if !matches!(method, method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ) {
        return None;
    }
    rewriting::text(&params?.parse().ok()?, method::Method::name_parameter(method)?)
}

impl ResultMapper for Wrapping {
    fn name(&self) -> &str {
        let called = || called_name(self.method, self.link.params.as_ref());
        self.name.get_or_init(|| called().unwrap_or_else(|| self.method.to_owned()))
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.middleware.handler
    }

    /// A result may be the middleware's own, so it is projected to the revision; the middleware's
    /// own tool error becomes one of the tool.
    fn render(&self, results: &ResultWriter, info: &RequestInfo, outcome: Outcome) -> Result<RawJson, RpcError> {
        match outcome {
            Outcome::Result(result) => {
                let unread =
                    |error: serde_json::Error| error_of(results, "a middleware", Outcome::Internal(error.to_string()));
                pass_result(results, self.method, self.cacheable, info.revision, &result).map_err(unread)
            }
            Outcome::ToolError(message) if self.method == method::TOOLS_CALL => {
                Ok(tool_error(results, info.revision, &message))
            }
            other => Err(error_of(results, "a middleware", other)),
        }
    }

    fn link(&self) -> Option<&MiddlewareLink> {
        Some(&self.link)
    }
}
