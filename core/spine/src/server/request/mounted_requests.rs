//! Passes requests to mounted servers, and their results back.

use super::{
    active_request::{ActiveRequest, Responder, Routed},
    mapper::{ResultMapper, Target},
    mirrored,
    tasks::{Mode, mode},
};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RevisionFeature, RpcError, extension, method},
    race,
    runtime::BoxedTask,
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
                let may_be_task = self.may_be_task(&params);
                if may_be_task || (self.method == method::TOOLS_CALL && self.info.mirrored.is_some()) {
                    self.send_on_when_known(server, mapper, (params, may_be_task), responder);
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

    /// Forwards a call of a tool about which something must be known, and may have to be looked up:
    /// the parameters that its headers repeat, and whether it can be a task of this server.
    fn send_on_when_known(
        self: &Arc<Self>,
        server: &Arc<dyn RemoteServer>,
        mapper: Arc<SendingOn>,
        (params, may_be_task): (RawJson, bool),
        responder: Responder,
    ) {
        let tool = params.parse::<ObjectMembers>().ok().and_then(|params| rewriting::text(&params, "name"));
        let tool = tool.unwrap_or_default();
        let (context, server) = (Arc::clone(self), Arc::clone(server));
        let mut lookup: BoxedTask<Result<Mode, RpcError>> = {
            let (context, params) = (Arc::clone(self), params.clone());
            Box::pin(async move {
                // A client without such headers may not have listed the tools either, and the
                // server may be slow to list them.
                if let Some(headers) = &context.info.mirrored
                    && let Some(listed) = server.mirrored_of(&tool, !headers.is_empty()).await
                {
                    mirrored::check_remote(&context, &listed)?;
                }
                if !may_be_task {
                    return Ok(Mode::Call);
                }
                let tasks = server.tasks_of(&tool).await;
                if server.offers().tasks { mode(&context, &tool, tasks, &params) } else { Ok(Mode::Call) }
            })
        };
        let go_on = move |mode: Result<Mode, RpcError>| {
            let route = || match mode? {
                Mode::Call => Ok(Routed::Run(mapper, params)),
                Mode::Task(ttl) => Ok(Routed::RunAsTask(mapper, params, ttl)),
            };
            context.follow(route, responder);
        };
        // Usually everything is known.
        if let Some(mode) = race::at_once(&mut lookup) {
            return go_on(mode);
        }
        let (context, ambient) = (Arc::clone(self), Ambient::current());
        self.connection.runtime().spawn(Box::pin(async move {
            let mode = ambient.clone().around(lookup).await;
            ambient.run(|| context.observer.in_span(|| go_on(mode)));
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
