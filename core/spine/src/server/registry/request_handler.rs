//! Custom requests: methods of extensions and vendors.

use super::{
    access_options::{AccessOptions, access_setters, visible_setter},
    register_error::RegisterError,
};
use crate::{
    protocol::{method::Method, schema::Schema, vendor},
    server::handlers::Handler,
    sync::Mutex,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// Maximum custom methods per process, across all servers.
const MAX_METHODS: usize = 4_096;

trunkline_proto::options! {
    /// Options of the handler of a custom method.
    #[derive(Debug, Clone)]
    pub struct RequestHandlerOptions {
        /// JSON Schema of the params without their `_meta`. Other params are refused with -32602.
        @some(Value) params_schema: Option<Value> => "paramsSchema" = None,
        ;
        /// Access and time limit.
        access: AccessOptions,
    }
    setters request_handler_setters
}

/// A handler of a custom method that is not part of the protocol, such as `com.acme/sum`. It
/// receives the params without `_meta`, or `{}` if there are none. It completes with a result, or
/// with an object value, which becomes the result; `null` is an empty result.
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
    /// Creates a handler for a method: a prefix that does not belong to the protocol, preferably
    /// the reversed domain of the vendor, a slash, and a name.
    pub fn new(method: impl Into<String>, handler: impl Handler) -> Self {
        let (method, handler) = (method.into(), Arc::new(handler));
        Self { method, options: RequestHandlerOptions::default(), handler }
    }

    /// Sets all options at once.
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

/// Returns the table entry of a method. Requests in flight refer to it as to those of the protocol,
/// so it is never freed.
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

/// A registered handler of a custom method.
pub(crate) struct RegisteredRequestHandler {
    pub(in crate::server) method: &'static Method,
    pub(in crate::server) params: Option<Schema>,
    pub(in crate::server) access: AccessOptions,
    pub(in crate::server) handler: Arc<dyn Handler>,
}
