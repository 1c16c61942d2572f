//! Requests beyond the protocol: the methods of extensions and vendors that a server serves.

use super::{
    access::{AccessOptions, access_setters, visible_setter},
    register_error::RegisterError,
};
use crate::{
    protocol::{method::Method, schema::Schema, vendor},
    server::handlers::Handler,
    sync::Mutex,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// Most methods beyond the protocol that the servers of a process may serve in all.
const MAX_METHODS: usize = 4_096;

trunkline_proto::options! {
    /// Options of the handler of a request beyond the protocol.
    #[derive(Debug, Clone)]
    pub struct RequestHandlerOptions {
        /// JSON Schema of the params without their `_meta`. Other params are refused with -32602.
        @some(Value) params_schema: Option<Value> => "paramsSchema" = None,
        ;
        /// Its access.
        access: AccessOptions,
    }
    setters request_handler_setters
}

/// A request of clients to serve that the protocol does not have, such as `com.acme/sum`. Calls of
/// its handler get the params without their `_meta`, `{}` if there are none. The answer is a result
/// or an object value, which is the result; `null` is an empty one.
///
/// ```
/// use trunkline::{
///     protocol::RawJson,
///     server::{Call, Outcome, RequestHandlerDefinition},
/// };
///
/// let echo = RequestHandlerDefinition::new("com.acme/echo", |call: Call| {
///     let params = call.input().clone();
///     call.complete(Outcome::Value(params));
/// });
/// ```
#[must_use = "a handler does nothing until it is added to a server"]
pub struct RequestHandlerDefinition {
    method: String,
    options: RequestHandlerOptions,
    handler: Arc<dyn Handler>,
}

impl RequestHandlerDefinition {
    /// Serves the requests of a method: a prefix that is not the protocol's, best the domain of the
    /// vendor in reverse, a slash, and a name.
    pub fn new(method: impl Into<String>, handler: impl Handler) -> Self {
        let (method, handler) = (method.into(), Arc::new(handler));
        Self { method, options: RequestHandlerOptions::default(), handler }
    }

    /// All of its options at once.
    pub fn options(mut self, options: RequestHandlerOptions) -> Self {
        self.options = options;
        self
    }

    request_handler_setters!(self, self.options);
    access_setters!(self, self.options.access);
    visible_setter!(self, self.options.access);

    pub(in crate::server) fn compile(self) -> Result<RegisteredRequestHandler, RegisterError> {
        let Self { method, options, handler } = self;
        let RequestHandlerOptions { params_schema, access } = options;
        vendor::check_method(&method).map_err(|problem| RegisterError(format!("Request handler: {problem}")))?;
        let wrong = |problem: &dyn std::fmt::Display| RegisterError(format!("Request handler {method}: {problem}"));
        let params = params_schema.as_ref().map(Schema::compile).transpose();
        let params = params.map_err(|problem| wrong(&format_args!("the schema of the params: {problem}")))?;
        access.check().map_err(|problem| wrong(&problem))?;
        Ok(RegisteredRequestHandler { method: row(&method)?, params, access, handler })
    }
}

/// The row of a method. Requests in flight refer to it, as to those of the protocol, so it stays
/// for as long as the process.
fn row(name: &str) -> Result<&'static Method, RegisterError> {
    static ROWS: Mutex<BTreeMap<&'static str, &'static Method>> = Mutex::new(BTreeMap::new());
    let mut rows = ROWS.lock();
    if let Some(row) = rows.get(name) {
        return Ok(row);
    }
    if rows.len() >= MAX_METHODS {
        let text = format!("Request handler {name}: a process can have up to {MAX_METHODS} custom methods");
        return Err(RegisterError(text));
    }
    let name: &'static str = Box::leak(name.into());
    let row: &'static Method = Box::leak(Box::new(Method::of_vendor(name)));
    rows.insert(name, row);
    Ok(row)
}

/// A request beyond the protocol that is served.
pub(crate) struct RegisteredRequestHandler {
    pub(in crate::server) method: &'static Method,
    pub(in crate::server) params: Option<Schema>,
    pub(in crate::server) access: AccessOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
}
