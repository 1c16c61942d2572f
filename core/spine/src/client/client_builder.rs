//! The builder of a client with handlers.

use super::{
    Client, ClientHandlers, ClientOptions, ElicitRequest, ElicitUrlRequest, HandlerError, SampleRequest,
    client_handlers::answering_handlers,
};
use crate::protocol::model::{CreateMessageResult, ElicitResult, ElicitationComplete, LogMessage, Root, Task};
use std::future::Future;

/// A client before it connects: its options, and its handlers for requests and notifications from
/// servers.
///
/// ```no_run
/// use trunkline::{
///     Client,
///     client::{ElicitRequest, HandlerError},
///     protocol::model::ElicitResult,
/// };
///
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// let client = Client::builder()
///     .on_elicit(async |request: ElicitRequest| {
///         println!("{}", request.message);
///         Ok::<_, HandlerError>(ElicitResult::decline())
///     })
///     .on_tools_changed(|| println!("The tools have changed"))
///     .connect("http://localhost:8000/mcp")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct ClientBuilder {
    options: ClientOptions,
    handlers: ClientHandlers,
    listen: bool,
}

impl Client {
    /// A client with handlers.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

macro_rules! setters {
    ($($(#[doc = $doc:literal])* $(#[deprecated(note = $note:literal)])? $name:ident($request:ident) -> $result:ident = $operation:literal;)*) => {
        impl ClientBuilder {
            $(#[doc = concat!("See [`ClientHandlers::", stringify!($name), "`].")]
            $(#[deprecated(note = $note)])?
            #[allow(deprecated, reason = "the handler may be")]
            pub fn $name<F, R, E>(self, handler: F) -> Self
            where
                F: Fn($request) -> R + Send + Sync + 'static,
                R: Future<Output = Result<$result, E>> + Send + 'static,
                E: Into<HandlerError>,
            {
                self.with(|handlers| handlers.$name(handler))
            })*
        }
    };
}

answering_handlers!(setters);

impl ClientBuilder {
    /// Sets the options. The handlers of the builder replace theirs; so do its roots if the options
    /// have none.
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn options(self, options: ClientOptions) -> Self {
        let roots = options.roots.clone().or(self.options.roots);
        Self { options: options.with_roots(roots), ..self }
    }

    /// The directories and files that servers may work in; connecting fails if a URI does not begin
    /// with `file://`.
    #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<_> = roots.into_iter().collect();
        Self { options: self.options.with_roots(roots), ..self }
    }

    /// See [`ClientHandlers::on_log`].
    #[deprecated(note = "in protocol revision 2026-07-28; log to standard error or through OpenTelemetry instead")]
    #[expect(deprecated, reason = "older revisions have it")]
    pub fn on_log(self, handler: impl Fn(LogMessage) + Send + Sync + 'static) -> Self {
        self.with(|handlers| handlers.on_log(handler))
    }

    /// See [`ClientHandlers::on_tools_changed`]; subscribes to list changes on servers of the
    /// modern era.
    pub fn on_tools_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        Self { listen: true, ..self.with(|handlers| handlers.on_tools_changed(handler)) }
    }

    /// See [`ClientHandlers::on_resources_changed`]; subscribes to list changes on servers of the
    /// modern era.
    pub fn on_resources_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        Self { listen: true, ..self.with(|handlers| handlers.on_resources_changed(handler)) }
    }

    /// See [`ClientHandlers::on_prompts_changed`]; subscribes to list changes on servers of the
    /// modern era.
    pub fn on_prompts_changed(self, handler: impl Fn() + Send + Sync + 'static) -> Self {
        Self { listen: true, ..self.with(|handlers| handlers.on_prompts_changed(handler)) }
    }

    /// See [`ClientHandlers::on_elicitation_complete`].
    pub fn on_elicitation_complete(self, handler: impl Fn(ElicitationComplete) + Send + Sync + 'static) -> Self {
        self.with(|handlers| handlers.on_elicitation_complete(handler))
    }

    /// See [`ClientHandlers::on_task_status`].
    pub fn on_task_status(self, handler: impl Fn(Task) + Send + Sync + 'static) -> Self {
        self.with(|handlers| handlers.on_task_status(handler))
    }

    fn with(self, register: impl FnOnce(ClientHandlers) -> ClientHandlers) -> Self {
        Self { handlers: register(self.handlers), ..self }
    }

    /// The options, including the handlers.
    pub fn into_options(self) -> ClientOptions {
        let listen = self.listen || self.options.listen;
        self.options.with_handlers(self.handlers).with_listen(listen)
    }
}
