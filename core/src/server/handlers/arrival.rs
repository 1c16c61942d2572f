//! The way by which a message came.

#[cfg(feature = "http-server")]
use super::http_request::HttpRequest;
use crate::{cause::Cause, protocol::TraceContext, sync::Mutex, telemetry::NetworkFacts};
use std::{sync::Arc, time::Duration};
use tracing::Span;

/// The way by which a message came: the HTTP request that brought it, and its caller in this
/// process.
#[derive(Debug)]
pub struct Arrival {
    /// The HTTP request.
    #[cfg(feature = "http-server")]
    pub(crate) http: Option<HttpRequest>,
    /// The one whose shares it takes; see the transport.
    #[cfg(feature = "http-server")]
    rate_limit_key: Option<Arc<str>>,
    /// The span within which the caller sent it.
    pub(crate) span: Span,
    /// The caller in the host of a binding.
    pub(crate) cause: Option<Arc<dyn Cause>>,
    /// The task that the message runs again.
    restarted: Mutex<Option<RestartedTask>>,
}

/// A task that was running in a process that has ended.
#[derive(Debug)]
pub(crate) struct RestartedTask {
    pub(crate) id: String,
    /// Since 1970.
    pub(crate) created: Duration,
    pub(crate) ttl: Duration,
    pub(crate) run: TaskRun,
}

/// One of the runs of a task that is run again whenever its process ends.
#[derive(Debug)]
pub(crate) struct TaskRun {
    /// From 1.
    pub(crate) number: u32,
    /// The text of the task in the store, from the second run on.
    pub(crate) written: Option<String>,
}

impl Arrival {
    /// A message of a caller in this process.
    pub(crate) fn within(span: Span, cause: Option<Arc<dyn Cause>>) -> Self {
        Self { span, cause, ..Self::default() }
    }

    /// The request of a task that is run again.
    pub(crate) fn restarting(task: RestartedTask) -> Self {
        Self { restarted: Mutex::new(Some(task)), ..Self::default() }
    }

    /// The task that the message runs again, for the first who asks.
    pub(crate) fn take_restarted(&self) -> Option<RestartedTask> {
        self.restarted.lock().take()
    }

    /// A message that an HTTP request brought, within the current span.
    #[cfg(feature = "http-server")]
    pub(crate) fn over_http(request: HttpRequest) -> Self {
        let cause = request.extensions().get::<Arc<dyn Cause>>().cloned();
        Self { http: Some(request), span: Span::current(), cause, ..Self::default() }
    }

    /// The same, whose shares are of that name.
    #[cfg(feature = "http-server")]
    pub(crate) fn of(self, rate_limit_key: Option<Arc<str>>) -> Self {
        Self { rate_limit_key, ..self }
    }
}

#[cfg(feature = "http-server")]
impl Arrival {
    /// The name of the one whose shares it takes.
    pub(crate) fn rate_limit_key(&self) -> Option<&Arc<str>> {
        self.rate_limit_key.as_ref()
    }

    /// The trace context in the headers of the HTTP request.
    pub(crate) fn trace_context(&self) -> TraceContext {
        let Some(request) = &self.http else { return TraceContext::default() };
        TraceContext::of(|name| Some(request.headers().get(name)?.to_str().ok()?.to_owned()))
    }

    /// The facts of the HTTP request for telemetry.
    pub(crate) fn transmission(&self, is_stateless: bool) -> NetworkFacts {
        let Some(request) = &self.http else { return NetworkFacts::default() };
        NetworkFacts {
            http_version: request.version(),
            session_id: request.session_id().filter(|_| !is_stateless).map(str::to_owned),
            client_address: request.remote_address().map(|address| address.to_string()),
            ..NetworkFacts::default()
        }
    }
}

#[cfg(not(feature = "http-server"))]
impl Arrival {
    /// Without HTTP nobody is known by an address.
    pub(crate) fn rate_limit_key(&self) -> Option<&Arc<str>> {
        None
    }

    /// Without HTTP there are no headers.
    pub(crate) fn trace_context(&self) -> TraceContext {
        TraceContext::default()
    }

    /// Without HTTP there are no facts.
    pub(crate) fn transmission(&self, _: bool) -> NetworkFacts {
        NetworkFacts::default()
    }
}

impl Default for Arrival {
    fn default() -> Self {
        Self {
            #[cfg(feature = "http-server")]
            http: None,
            #[cfg(feature = "http-server")]
            rate_limit_key: None,
            span: Span::none(),
            cause: None,
            restarted: Mutex::default(),
        }
    }
}
