//! Middleware, providers and handlers of custom requests as async code.

use super::{HandlerArguments, HandlerOf, into_result::raw, serve_async::serve};
use crate::server::{
    Call, CallError, CallInfo, Category, Context, IntoResult, MiddlewareDefinition, Outcome, ProviderDefinition,
    RequestHandlerDefinition, ToolError,
    typed::serve_async::{Work, in_background},
};
use crate::{
    protocol::{
        RawJson, RpcError,
        model::{self, CallToolResult, GetPromptResult, JsonObject, ReadResourceResult},
    },
    runtime::Promise,
    sync::Mutex,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{collections::BTreeMap, future::Future, sync::Arc};

/// The rest of a request wrapped by middleware.
///
/// ```
/// use trunkline::{Context, Server, server::{MiddlewareDefinition, Next}};
///
/// let logged = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
///     println!("{} begins", next.method());
///     Ok(next.run().await?)
/// });
/// let server = Server::builder("logged", "1.0.0").add_middleware(logged).build();
/// ```
pub struct Next {
    call: CallInfo,
    params: Option<Value>,
    /// A result with numbers that a `Value` may round, as it was.
    exact: Arc<Mutex<Option<RawJson>>>,
}

impl Next {
    /// The method of the request.
    pub fn method(&self) -> &str {
        self.call.method()
    }

    /// The parameters of the request.
    pub fn params(&self) -> Option<&Value> {
        self.params.as_ref()
    }

    /// Runs the rest with the original parameters and returns its result.
    ///
    /// # Errors
    /// The JSON-RPC error of the rest.
    pub async fn run(self) -> Result<Value, RpcError> {
        self.go(None).await
    }

    /// Runs the rest with other parameters. If they have a `_meta`, handlers see it instead of the
    /// original.
    ///
    /// # Errors
    /// See [`Self::run`].
    pub async fn run_with(self, params: Value) -> Result<Value, RpcError> {
        if self.params.as_ref() == Some(&params) {
            return self.go(None).await;
        }
        let params = RawJson::from_value(&params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        self.go(Some(params)).await
    }

    async fn go(self, params: Option<RawJson>) -> Result<Value, RpcError> {
        let result = Arc::new(Promise::default());
        let kept = Arc::clone(&result);
        self.call.proceed(params, move |outcome| kept.keep(outcome))?;
        let result = result.kept().await?;
        let value = result.parse().map_err(|_| RpcError::internal())?;
        if may_be_rounded(result.as_bytes()) {
            *self.exact.lock() = Some(result);
        }
        Ok(value)
    }
}

/// Returns whether JSON has a number with more digits than a float keeps.
fn may_be_rounded(json: &[u8]) -> bool {
    const EXACT_DIGITS: usize = 15;
    json.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > EXACT_DIGITS)
}

/// The result of middleware. One that it has not changed is passed on as it was.
fn passed_on(value: &Value, exact: Option<RawJson>) -> Outcome {
    match exact.filter(|exact| exact.parse::<Value>().is_ok_and(|same| same == *value)) {
        Some(exact) => Outcome::Result(exact),
        None => raw(value, Outcome::Result),
    }
}

impl MiddlewareDefinition {
    /// Middleware as an async function: it returns the result of the request, its own or that of
    /// [`Next::run`].
    ///
    /// ```
    /// # use trunkline::{Context, Server, server::{MiddlewareDefinition, Next}};
    /// let timing = MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
    ///     let (method, start) = (next.method().to_owned(), std::time::Instant::now());
    ///     let result = next.run().await?;
    ///     println!("{method}: {:?}", start.elapsed());
    ///     Ok(result)
    /// });
    /// let server = Server::builder("timed", "1.0.0").add_middleware(timing.methods(["tools/call"])).build();
    /// ```
    pub fn from_fn<F, Fut>(wrap: F) -> Self
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, CallError>> + Send + 'static,
    {
        #[derive(Deserialize)]
        struct Wrapped {
            params: Option<Value>,
        }
        Self::new(move |call: Call| {
            let info = call.info().clone();
            let params = call.input().parse::<Wrapped>().ok().and_then(|wrapped| wrapped.params);
            let exact = Arc::new(Mutex::default());
            let next = Next { call: info.clone(), params, exact: Arc::clone(&exact) };
            let wrapped = wrap(Context::new(info, call.input().clone()), next);
            let work: Work = Box::pin(async move {
                let result = wrapped.await;
                let exact = exact.lock().take();
                result.map_or_else(Outcome::from, |value| passed_on(&value, exact))
            });
            in_background(call, work);
        })
    }
}

/// One page of a list.
///
/// ```
/// use trunkline::{protocol::model::Resource, server::Page};
///
/// let row = |number: u32| Resource { uri: format!("rows://{number}"), name: format!("row {number}"), ..Resource::default() };
/// let first = Page::with_next_cursor((0..100).map(row), "100");
/// let last = Page::last((100..120).map(row));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// The only page, or the last one.
    pub fn last(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), next_cursor: None }
    }

    /// A page with a successor. The provider receives the cursor again when the next page is
    /// requested.
    pub fn with_next_cursor(items: impl IntoIterator<Item = T>, next_cursor: impl Into<String>) -> Self {
        Self { items: items.into_iter().collect(), next_cursor: Some(next_cursor.into()) }
    }
}

/// Lists and serves features that are not registered, such as rows of a database or the features of
/// a tenant.
///
/// Scopes are only checked for registered features, and the arguments of a tool are only validated
/// against a schema that was listed to the caller. `get` must check everything else.
///
/// ```
/// use trunkline::{CallError, Context, Server, protocol::model::Resource};
/// use trunkline::server::{Page, Provider, ResourceRequest};
///
/// struct Notes;
///
/// impl Provider for Notes {
///     type Item = Resource;
///     type Output = String;
///     type Error = CallError;
///
///     async fn list(&self, _: Context, _: Option<String>) -> Result<Page<Resource>, CallError> {
///         Ok(Page::last([Resource::new("notes://today", "today")]))
///     }
///
///     async fn get(&self, _: Context, request: ResourceRequest) -> Result<Option<String>, CallError> {
///         Ok((request.uri == "notes://today").then(|| "Nothing to do.".to_owned()))
///     }
/// }
///
/// let server = Server::builder("notes", "1.0.0").provider(Notes).build();
/// ```
pub trait Provider: Send + Sync + 'static {
    /// The kind of feature: [`model::Tool`], [`model::Resource`], [`model::ResourceTemplate`] or
    /// [`model::Prompt`].
    type Item: Provided;
    /// The value returned when serving one, as from a handler of that kind.
    type Output: IntoResult<<Self::Item as Provided>::Result> + Send;
    /// The error type of both methods.
    type Error: Into<ToolError> + Send;

    /// Returns one page. `cursor` is one that this provider returned, or `None` for the first page.
    fn list(
        &self,
        ctx: Context,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<Page<Self::Item>, Self::Error>> + Send;

    /// Serves a request for a name or URI that is not registered. `None` means there is no such
    /// feature.
    fn get(
        &self,
        ctx: Context,
        request: <Self::Item as Provided>::Request,
    ) -> impl Future<Output = Result<Option<Self::Output>, Self::Error>> + Send;
}

mod sealed {
    pub trait Sealed {}
}

/// A kind of feature that a [`Provider`] can list and serve.
pub trait Provided: Serialize + Send + sealed::Sealed + 'static {
    /// The request for one of them.
    type Request: DeserializeOwned + Send;

    /// The result of such a request.
    type Result;

    /// The list it is part of.
    const CATEGORY: Category;
}

/// A call of an unregistered tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ToolRequest {
    /// The name of the tool.
    pub name: String,
    /// The arguments, which match the input schema listed to the caller, if one was.
    #[serde(default)]
    pub arguments: JsonObject,
}

/// A read of an unregistered resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ResourceRequest {
    /// The URI.
    pub uri: String,
}

/// A request for an unregistered prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PromptRequest {
    /// The name of the prompt.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

macro_rules! provided {
    ($($item:ident in $category:ident: $request:ident => $result:ident;)*) => {
        $(
            impl sealed::Sealed for model::$item {}

            impl Provided for model::$item {
                type Request = $request;
                type Result = $result;

                const CATEGORY: Category = Category::$category;
            }
        )*
    };
}

provided! {
    Tool in Tools: ToolRequest => CallToolResult;
    Resource in Resources: ResourceRequest => ReadResourceResult;
    ResourceTemplate in ResourceTemplates: ResourceRequest => ReadResourceResult;
    Prompt in Prompts: PromptRequest => GetPromptResult;
}

impl ProviderDefinition {
    /// Adapts the async form of a provider.
    pub fn from_provider<P: Provider>(provider: P) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Request<T> {
            List { cursor: Option<String> },
            Get(T),
        }
        let provider = Arc::new(provider);
        Self::new(P::Item::CATEGORY, move |call: Call| {
            let (provider, input) = (Arc::clone(&provider), call.input().clone());
            let context = Context::new(call.info().clone(), input.clone());
            let work: Work = Box::pin(async move {
                match input.parse::<Request<<P::Item as Provided>::Request>>() {
                    Ok(Request::List { cursor }) => match provider.list(context, cursor).await {
                        Ok(page) => page.into_outcome(),
                        Err(error) => Outcome::from(error.into()),
                    },
                    Ok(Request::Get(request)) => match provider.get(context, request).await {
                        Ok(Some(value)) => value.into_outcome(),
                        Ok(None) => Outcome::NotFound,
                        Err(error) => Outcome::from(error.into()),
                    },
                    Err(error) => Outcome::InvalidArguments(error.to_string()),
                }
            });
            in_background(call, work);
        })
    }
}

impl<T: Serialize> Page<T> {
    fn into_outcome(self) -> Outcome {
        match self.next_cursor {
            Some(next) => raw(&json!({"items": self.items, "nextCursor": next}), Outcome::Value),
            None => raw(&json!({"items": self.items}), Outcome::Value),
        }
    }
}

impl RequestHandlerDefinition {
    /// A handler that is an async function. The schema of the params comes from its
    /// [`super::Params`].
    ///
    /// ```
    /// use trunkline::{Context, Json, Server, server::RequestHandlerDefinition};
    ///
    /// let whoami = RequestHandlerDefinition::from_fn("com.acme/whoami", async |ctx: Context| {
    ///     Json(serde_json::json!({"client": ctx.client_info().map(|client| client.name)}))
    /// });
    /// let server = Server::builder("people", "1.0.0").build();
    /// server.add_request_handler(whoami.scopes(["people:read"]))?;
    /// # Ok::<(), trunkline::server::RegisterError>(())
    /// ```
    pub fn from_fn<M>(method: impl Into<String>, handler: impl HandlerOf<JsonObject, M, ()>) -> Self {
        request_handler(method, handler, ())
    }
}

/// A handler together with its state.
pub(in crate::server) fn request_handler<M, S: Send + Sync + 'static, H: HandlerOf<JsonObject, M, S>>(
    method: impl Into<String>,
    handler: H,
    state: S,
) -> RequestHandlerDefinition {
    let entry = RequestHandlerDefinition::new(method, serve(handler, state));
    H::Arguments::input_schema().into_iter().fold(entry, RequestHandlerDefinition::params_schema)
}
