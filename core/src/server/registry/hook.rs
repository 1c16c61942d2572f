//! Providers and middleware: hooks that see requests which registered features do not answer alone.

use super::{category::Category, listed_tools::ListedTools, register_error::RegisterError};
use crate::{
    protocol::method::{self, MessageKind, Method, Sender},
    protocol::{Revision, vendor},
    server::handlers::Handler,
};
use std::sync::Arc;

/// Lists and serves what is not registered: rows of a database, say, or what one tenant may see.
///
/// Calls of its handler get `{"list": {"cursor"?}}`, answered with a value
/// `{"items": [descriptors], "nextCursor"?}`, or `{"get": {the request's params}}`, answered as a
/// handler of that category answers; the value `null` says that there is no such feature. Arguments
/// of a tool are checked against the input schema that was listed to the caller; of a tool that its
/// caller has not listed, the handler judges them.
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
    /// A provider of one category.
    pub fn new(category: Category, handler: impl Handler) -> Self {
        Self { category, handler: Arc::new(handler) }
    }
}

/// A provider that is registered.
pub(crate) struct RegisteredProvider {
    pub(in crate::server) number: u64,
    pub(in crate::server) handler: Arc<dyn Handler>,
    /// Of tools.
    pub(in crate::server) listed: ListedTools,
}

impl RegisteredProvider {
    pub(in crate::server) fn new(number: u64, handler: Arc<dyn Handler>) -> Self {
        Self { number, handler, listed: ListedTools::default() }
    }
}

/// Wraps requests. Calls of its handler get `{"method", "params"}`;
/// [`crate::server::CallInfo::proceed`] runs the rest and gives its result.
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
    /// Wraps every request that a handler or a list can answer.
    pub fn new(handler: impl Handler) -> Self {
        Self { methods: None, handler: Arc::new(handler) }
    }

    /// Wraps these methods only.
    pub fn methods(mut self, methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.methods = Some(methods.into_iter().map(Into::into).collect());
        self
    }

    pub(in crate::server) fn compile(self, number: u64) -> Result<RegisteredMiddleware, RegisterError> {
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
        Ok(RegisteredMiddleware { number, methods, handler })
    }
}

/// The core itself answers these, and how is part of the protocol.
fn may_wrap(name: &str) -> bool {
    !matches!(name, method::INITIALIZE | method::PING | method::DISCOVER | method::SUBSCRIPTIONS_LISTEN)
}

/// Middleware that is registered.
pub(crate) struct RegisteredMiddleware {
    pub(in crate::server) number: u64,
    methods: Option<Vec<String>>,
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
