//! Providers and middleware.

use super::{category::Category, listed_tools::ListedTools, register_error::RegisterError};
use crate::{
    protocol::method::{self, MessageKind, Method, Sender},
    protocol::{Revision, vendor},
    server::handlers::Handler,
};
use std::sync::Arc;

/// Lists and serves features that are not registered, such as rows of a database or the features of
/// a tenant.
///
/// Its handler receives either `{"list": {"cursor"?}}` and completes with a value
/// `{"items": [descriptors], "nextCursor"?}`, or it receives `{"get": params}`, where `params` are
/// those of the request, and completes like a handler of that category; the value `null` means that
/// there is no such feature. The arguments of a tool are validated against the input schema that
/// was listed to the caller. If none was, the handler must validate them.
///
/// ```
/// use trunkline::{
///     protocol::RawJson,
///     server::{Call, Category, Outcome, ProviderDefinition},
/// };
///
/// let nothing = ProviderDefinition::new(Category::Resources, |call: Call| {
///     let lists = call.input().as_bytes().starts_with(b"{\"list\"");
///     let no_items = RawJson::from_text(r#"{"items": []}"#.into()).map(Outcome::Value);
///     call.complete(no_items.ok().filter(|_| lists).unwrap_or(Outcome::NotFound));
/// });
/// ```
#[must_use = "a provider does nothing until it is added to a server"]
pub struct ProviderDefinition {
    pub(in crate::server) category: Category,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl ProviderDefinition {
    /// Creates a provider for one category.
    pub fn new(category: Category, handler: impl Handler) -> Self {
        Self { category, handler: Arc::new(handler) }
    }
}

/// A registered provider.
pub(crate) struct RegisteredProvider {
    pub(in crate::server) number: u64,
    pub(in crate::server) handler: Arc<dyn Handler>,
    /// The listed schemas, for a provider of tools.
    pub(in crate::server) listed: ListedTools,
}

impl RegisteredProvider {
    pub(in crate::server) fn new(number: u64, handler: Arc<dyn Handler>) -> Self {
        Self { number, handler, listed: ListedTools::default() }
    }
}

/// Wraps requests. Its handler receives `{"method", "params"}`;
/// [`crate::server::CallInfo::proceed`] runs the rest and returns its result.
///
/// ```
/// use trunkline::{
///     protocol::RpcError,
///     server::{Call, MiddlewareDefinition, Outcome},
/// };
///
/// let closed = MiddlewareDefinition::new(|call: Call| {
///     call.complete(Outcome::Protocol(RpcError::invalid_params("The server takes no calls at night")));
/// })
/// .methods(["tools/call"]);
/// ```
#[must_use = "a middleware does nothing until it is added to a server"]
pub struct MiddlewareDefinition {
    methods: Option<Vec<String>>,
    handler: Arc<dyn Handler>,
}

impl MiddlewareDefinition {
    /// Wraps every request that a handler or a list serves.
    pub fn new(handler: impl Handler) -> Self {
        Self { methods: None, handler: Arc::new(handler) }
    }

    /// Wraps only these methods.
    pub fn methods(mut self, methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.methods = Some(methods.into_iter().map(Into::into).collect());
        self
    }

    pub(in crate::server) fn compile(self) -> Result<RegisteredMiddleware, RegisterError> {
        let Self { methods, handler } = self;
        for name in methods.iter().flatten() {
            let known = Revision::ALL
                .iter()
                .any(|revision| Method::find(name, MessageKind::Request, Sender::Client, *revision).is_some());
            if !may_wrap(name) || !known && vendor::check_method(name).is_err() {
                return Err(RegisterError(format!(
                    "Middleware cannot wrap {name}: clients send no such request, or the core handles it itself"
                )));
            }
        }
        Ok(RegisteredMiddleware { number: 0, methods, handler })
    }
}

/// Middleware cannot wrap methods that the core serves itself, as the protocol prescribes.
fn may_wrap(name: &str) -> bool {
    !matches!(name, method::INITIALIZE | method::PING | method::DISCOVER | method::SUBSCRIPTIONS_LISTEN)
}

/// Registered middleware.
pub(crate) struct RegisteredMiddleware {
    /// Set when it is added to a server.
    pub(in crate::server) number: u64,
    pub(super) methods: Option<Vec<String>>,
    pub(in crate::server) handler: Arc<dyn Handler>,
}

impl RegisteredMiddleware {
    pub(in crate::server) fn wraps(&self, name: &str) -> bool {
        match &self.methods {
            Some(methods) => methods.iter().any(|method| method == name),
            None => may_wrap(name),
        }
    }
}
