//! How a message arrived.

#[cfg(feature = "http-server")]
use super::http_request::HttpRequest;
use crate::{
    cause::Cause,
    protocol::{RawJson, TraceContext},
    sync::Mutex,
    telemetry::NetworkFacts,
};
use std::{fmt, sync::Arc, time::Duration};
use tracing::Span;

/// How a message arrived: its HTTP request, or its caller in this process.
#[derive(Debug, Default)]
pub struct Arrival {
    /// The HTTP request.
    #[cfg(feature = "http-server")]
    pub(crate) http: Option<HttpRequest>,
    /// The key that limits are charged to, only over HTTP; see the transport.
    pub(crate) rate_limit_key: Option<Arc<str>>,
    /// The verified sender; `None` without authorization.
    pub(crate) sender: Option<Arc<dyn VerifiedSender>>,
    /// The span in which the caller sent it.
    pub(crate) span: Option<Span>,
    /// The caller, in a binding.
    pub(crate) cause: Option<Arc<dyn Cause>>,
    /// The task that the message restarts.
    restarted: Mutex<Option<RestartedTask>>,
}

/// The sender of a message, as its access token says.
pub(crate) trait VerifiedSender: Send + Sync {
    /// The identity.
    fn auth(&self) -> &RawJson;

    /// The resource (RFC 8707) of the access token.
    fn resource(&self) -> &str;

    /// Returns whether the sender has these scopes.
    fn grants(&self, scopes: &[String]) -> bool;
}

impl fmt::Debug for dyn VerifiedSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifiedSender")
    }
}

/// A task whose process has died.
#[derive(Debug)]
pub(crate) struct RestartedTask {
    pub(crate) id: String,
    /// Since the Unix epoch.
    pub(crate) created: Duration,
    pub(crate) ttl: Duration,
    pub(crate) run: TaskRun,
}

/// A run of a task that restarts when its process dies.
#[derive(Debug)]
pub(crate) struct TaskRun {
    /// Starts at 1.
    pub(crate) number: u32,
    /// The stored value of the task, from the second run on.
    pub(crate) written: Option<String>,
}

impl Arrival {
    /// A message from a caller in this process.
    pub(crate) fn within(span: Span, cause: Option<Arc<dyn Cause>>) -> Self {
        Self { span: Some(span), cause, ..Self::default() }
    }

    /// The request of a restarted task.
    pub(crate) fn restarting(task: RestartedTask) -> Self {
        Self { restarted: Mutex::new(Some(task)), ..Self::default() }
    }

    /// Takes the task that the message restarts.
    pub(crate) fn take_restarted(&self) -> Option<RestartedTask> {
        self.restarted.lock().take()
    }

    /// A message from an HTTP request, in the current span.
    #[cfg(feature = "http-server")]
    pub(crate) fn over_http(request: HttpRequest) -> Self {
        let cause = request.extensions().get::<Arc<dyn Cause>>().cloned();
        Self { http: Some(request), span: Some(Span::current()), cause, ..Self::default() }
    }

    /// Sets the key that limits are charged to.
    #[cfg(feature = "http-server")]
    pub(crate) fn of(self, rate_limit_key: Option<Arc<str>>) -> Self {
        Self { rate_limit_key, ..self }
    }
}

#[cfg(feature = "http-server")]
impl Arrival {
    /// The id of the session, which exists only up to 2025-11-25.
    pub(crate) fn session_id(&self) -> Option<&str> {
        self.http.as_ref()?.session_id()
    }

    /// The trace context in the headers of the HTTP request.
    pub(crate) fn trace_context(&self) -> TraceContext {
        let Some(request) = &self.http else { return TraceContext::default() };
        TraceContext::of(|name| Some(request.headers().get(name)?.to_str().ok()?.to_owned()))
    }

    /// Facts about the HTTP request, for telemetry.
    pub(crate) fn transmission(&self) -> NetworkFacts {
        let Some(request) = &self.http else { return NetworkFacts::default() };
        NetworkFacts {
            http_version: request.version(),
            session_id: request.session_id().map(str::to_owned),
            client_address: request.remote_address().map(|address| address.to_string()),
            ..NetworkFacts::default()
        }
    }
}

#[cfg(not(feature = "http-server"))]
impl Arrival {
    /// Without HTTP, sessions have no id.
    pub(crate) fn session_id(&self) -> Option<&str> {
        None
    }

    /// Without HTTP, there are no headers.
    pub(crate) fn trace_context(&self) -> TraceContext {
        TraceContext::default()
    }

    /// Without HTTP, there are no such facts.
    pub(crate) fn transmission(&self) -> NetworkFacts {
        NetworkFacts::default()
    }
}
