//! Passes requests to mounted servers, and their results back.

use super::{
    active_request::{ActiveRequest, Responder, Routed},
    mapper::{ResultMapper, Target},
    tasks::{Mode, mode},
};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RevisionFeature, RpcError, extension, method},
    server::{
        handlers::{Handler, Outcome},
        registry::{MountSource, RegisteredMount, RemoteServer},
        result::error_of,
    },
    telemetry::Ambient,
};
use std::sync::Arc;

impl ActiveRequest {
    /// Serves a request with a mounted server. The parameters use that server's own names.
    pub(in crate::server) fn enter(
        self: &Arc<Self>,
        mount: &Arc<RegisteredMount>,
        params: RawJson,
        responder: Responder,
    ) {
        match &mount.source {
            MountSource::Local(server) => {
                let inner = self.within(mount, server.snapshot());
                let responder = inner.back(responder);
                let (outside, lifespan) = (&self.snapshot.hooks.lifespan, &inner.snapshot.hooks.lifespan);
                // A server without functions holds those that are mounted on it.
                if lifespan.has_functions() || !inner.snapshot.mounts.is_empty() {
                    outside.hold(lifespan, self.connection.runtime());
                }
                if lifespan.is_open() {
                    return inner.step(0, Some(params), responder);
                }
                let later = Arc::clone(&inner).serve_later(None, Some(params), responder);
                self.connection.runtime().spawn(Box::pin(later));
            }
            MountSource::Remote(server) => {
                let handler: Arc<dyn Handler> = Arc::clone(server) as _;
                let mapper = Arc::new(SendingOn { handler, prefix: mount.prefix.clone() });
                if self.may_be_task(&params) && server.offers().tasks {
                    self.send_on_in_mode(server, mapper, params, responder);
                } else {
                    self.run(mapper, params, responder);
                }
            }
        }
    }

    /// Returns whether this call may become a task.
    fn may_be_task(&self, params: &RawJson) -> bool {
        if self.method != method::TOOLS_CALL {
            return false;
        }
        let revision = self.info.revision;
        if revision.supports(RevisionFeature::CoreTasks) {
            return params.parse::<ObjectMembers>().is_ok_and(|params| params.contains_key("task"));
        }
        revision.supports(RevisionFeature::TasksExtension) && extension::TASKS.is_in(&self.client_capabilities())
    }

    /// Forwards a call, as a task of this server if the tool supports tasks, which may have to be
    /// looked up first.
    fn send_on_in_mode(
        self: &Arc<Self>,
        server: &Arc<dyn RemoteServer>,
        mapper: Arc<SendingOn>,
        params: RawJson,
        responder: Responder,
    ) {
        let tool = params.parse::<ObjectMembers>().ok().and_then(|params| rewriting::text(&params, "name"));
        let tool = tool.unwrap_or_default();
        let (context, tasks_of_tool) = (Arc::clone(self), server.tasks_of(&tool));
        let ambient = Ambient::current();
        self.connection.runtime().spawn(Box::pin(async move {
            let tasks = ambient.clone().around(tasks_of_tool).await;
            let route = || match mode(&context, &tool, tasks, &params)? {
                Mode::Call => Ok(Routed::Run(mapper, params)),
                Mode::Task(ttl) => Ok(Routed::RunAsTask(mapper, params, ttl)),
            };
            ambient.run(|| context.observer.in_span(|| context.follow(route, responder)));
        }));
    }

    /// Passes results of this mounted server to a receiver of the outer one, under its names.
    fn back(self: &Arc<Self>, responder: Responder) -> Responder {
        let Some(within) = &self.within else { return responder };
        let scope = responder.scope(&within.outer);
        let (outer, mount, method) = (Arc::clone(&within.outer), Arc::clone(&within.mount), self.method);
        let take = move |result: Result<RawJson, RpcError>| {
            // Lists are renamed when their pages are merged.
            let renamed = result.map(|result| rewriting::result(method, &mount.prefix, result));
            outer.deliver(responder, renamed.map_err(|error| rewriting::error(&mount.prefix, error)));
        };
        Responder::Inside(scope, Box::new(take))
    }

    /// Passes results of this server to a receiver that uses the client's names.
    pub(in crate::server) fn renaming(self: &Arc<Self>, responder: Responder) -> Responder {
        match &self.within {
            None => responder,
            Some(within) => self.back(within.outer.renaming(responder)),
        }
    }

    /// Number of middleware functions in the outer servers.
    pub(super) fn middleware_around(&self) -> usize {
        self.outwards().skip(1).map(|context| context.snapshot.middlewares.len()).sum()
    }
}

/// A request that is forwarded to a remote server.
struct SendingOn {
    handler: Arc<dyn Handler>,
    prefix: String,
}

impl ResultMapper for SendingOn {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.handler, name: None, timeout: None }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let (results, method) = (context.results(), context.method);
        match outcome {
            Outcome::Result(result) => {
                let result = rewriting::result(method, &self.prefix, result);
                // The remote server is responsible for its output schema.
                context.pass(&result).map_err(|error| {
                    tracing::error!(target: "trunkline::server::handlers", method, %error, "the result of a remote server cannot be read");
                    RpcError::internal()
                })
            }
            other => Err(rewriting::error(&self.prefix, error_of(results, "a proxy", other))),
        }
    }
}
