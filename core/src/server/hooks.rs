//! Middleware and providers as async code.

use super::{
    Call, CallError, Category, Context, MiddlewareEntry, Outcome, ProviderEntry,
    call::CallFacts,
    typed::{Work, in_background},
};
use crate::{
    protocol::{RawJson, RpcError},
    runtime::Promise,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{future::Future, sync::Arc};

/// The rest of a request that middleware wraps.
pub struct Next {
    facts: CallFacts,
    params: Option<Value>,
}

impl Next {
    /// The method of the request.
    pub fn method(&self) -> &str {
        self.facts.method()
    }

    /// The parameters of the request.
    pub fn params(&self) -> Option<&Value> {
        self.params.as_ref()
    }

    /// Runs the rest with the parameters that came, and gives its result.
    ///
    /// # Errors
    /// The JSON-RPC error that the rest came to.
    pub async fn run(self) -> Result<Value, RpcError> {
        self.go(None).await
    }

    /// Runs the rest with other parameters.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_with(self, params: Value) -> Result<Value, RpcError> {
        let params = RawJson::from_value(&params).map_err(|error| RpcError::invalid_params(error.to_string()))?;
        self.go(Some(params)).await
    }

    async fn go(self, params: Option<RawJson>) -> Result<Value, RpcError> {
        let result = Arc::new(Promise::default());
        let kept = Arc::clone(&result);
        self.facts.proceed(params, move |outcome| kept.keep(outcome))?;
        result.kept().await?.parse().map_err(|_| RpcError::internal())
    }
}

impl MiddlewareEntry {
    /// Middleware from an async function: it gives the result of the request, its own or that of [`Next::run`].
    ///
    /// ```
    /// # use trunkline::{Context, Server, server::{MiddlewareEntry, Next}};
    /// let timing = MiddlewareEntry::from_fn(|_: Context, next: Next| async move {
    ///     let (method, start) = (next.method().to_owned(), std::time::Instant::now());
    ///     let result = next.run().await?;
    ///     println!("{method}: {:?}", start.elapsed());
    ///     Ok(result)
    /// });
    /// let server = Server::builder("timed", "1.0.0").middleware(timing.methods(["tools/call"])).build();
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
            let facts = call.facts().clone();
            let params = call.input().parse::<Wrapped>().ok().and_then(|wrapped| wrapped.params);
            let wrapped = wrap(Context::new(facts.clone()), Next { facts, params });
            let work: Work = Box::pin(async move { outcome(wrapped.await, |result| result_of(&result)) });
            in_background(call, work);
        })
    }
}

/// Lists and serves what is not registered: rows of a database, say. See [`ProviderEntry::of`].
pub trait Provider: Send + Sync + 'static {
    /// One page: descriptors, and the cursor of the next page. `cursor` is one that this provider gave, or none at the start.
    fn list(
        &self,
        ctx: Context,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<(Vec<Value>, Option<String>), CallError>> + Send;

    /// Serves a request (its `params`) for a name or URI that is not registered. `None`: there is no such thing.
    fn get(&self, ctx: Context, params: Value) -> impl Future<Output = Result<Option<Outcome>, CallError>> + Send;
}

impl ProviderEntry {
    /// A provider of a category from its async form.
    pub fn of(category: Category, provider: impl Provider) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Asked {
            List { cursor: Option<String> },
            Get(Value),
        }
        let provider = Arc::new(provider);
        Self::new(category, move |call: Call| {
            let (provider, context) = (Arc::clone(&provider), Context::new(call.facts().clone()));
            let asked = call.input().parse::<Asked>();
            let work: Work = Box::pin(async move {
                match asked {
                    Ok(Asked::List { cursor }) => outcome(provider.list(context, cursor).await, |(items, next)| {
                        value(&match next {
                            Some(next) => json!({"items": items, "nextCursor": next}),
                            None => json!({"items": items}),
                        })
                    }),
                    Ok(Asked::Get(params)) => match provider.get(context, params).await {
                        Ok(Some(outcome)) => outcome,
                        Ok(None) => value(&Value::Null),
                        Err(error) => error.into_outcome(),
                    },
                    Err(error) => Outcome::Internal(error.to_string()),
                }
            });
            in_background(call, work);
        })
    }
}

fn result_of(result: &Value) -> Outcome {
    RawJson::from_value(result).map_or_else(|error| Outcome::Internal(error.to_string()), Outcome::Result)
}

fn value(value: &Value) -> Outcome {
    RawJson::from_value(value).map_or_else(|error| Outcome::Internal(error.to_string()), Outcome::Value)
}

fn outcome<T>(given: Result<T, CallError>, into: impl FnOnce(T) -> Outcome) -> Outcome {
    given.map_or_else(CallError::into_outcome, into)
}
