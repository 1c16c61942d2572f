//! Handler arguments, each extracted from the call.

use super::derived_schema::root_schema;
use crate::{
    protocol::{RawJson, integers, model::CompleteParams},
    server::{Context, ToolError},
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{convert::Infallible, future::Future, sync::Arc};

/// A type that can be an argument of a handler; `S` is the state of the server.
///
/// Implemented by [`Context`], [`Params`], [`State`] and [`Lifespan`]. You can add your own
/// extractors:
///
/// ```
/// use trunkline::{Context, Server, ToolError, server::FromContext};
///
/// struct User(String);
///
/// impl<S: Sync> FromContext<S> for User {
///     type Rejection = ToolError;
///
///     async fn from_context(ctx: &Context, _: &S) -> Result<Self, ToolError> {
///         let identity = ctx.auth().ok_or_else(|| ToolError::new("Sign in first"))?;
///         Ok(Self(identity.principal))
///     }
/// }
///
/// let server = Server::builder("users", "1.0.0")
///     .tool("whoami", "Tell who calls.", async |User(name): User| name)
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a handler",
    note = "arguments are `Context`, `Params<T>` where T has Deserialize and JsonSchema, `State<T>` of the server's state, `Lifespan<T>` of what it has opened, and types that implement `FromContext`"
)]
pub trait FromContext<S>: Sized {
    /// The error if the call has no such value.
    type Rejection: Into<ToolError>;

    /// Extracts the value.
    ///
    /// # Errors
    /// If the call has no such value; then the handler does not run.
    fn from_context(ctx: &Context, state: &S) -> impl Future<Output = Result<Self, Self::Rejection>> + Send;

    /// The JSON Schema of the call's arguments, if this extracts them.
    fn input_schema() -> Option<Value> {
        None
    }
}

/// Extracts the arguments of a tool or prompt, or the variables of a resource template. The type
/// defines the input schema of a tool and the arguments of a prompt.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use trunkline::{Params, Server};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Sum {
///     /// The numbers to add
///     numbers: Vec<f64>,
/// }
///
/// let server = Server::builder("math", "1.0.0")
///     .tool("sum", "Add numbers.", async |Params(sum): Params<Sum>| sum.numbers.iter().sum::<f64>())
///     .build();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Params<T>(pub T);

/// Extracts the state of the server, or a part of it through [`FromRef`]; set with
/// [`super::super::ServerBuilder::with_state`].
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use trunkline::{Server, State};
///
/// async fn count(State(counter): State<Arc<AtomicU64>>) -> u64 {
///     counter.fetch_add(1, Ordering::Relaxed)
/// }
///
/// let server = Server::builder("counter", "1.0.0")
///     .with_state(Arc::new(AtomicU64::new(1)))
///     .tool("count", "Count the calls.", count)
///     .build();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State<T>(pub T);

/// Extracts the value opened by the server's lifespan; set with
/// [`super::super::ServerBuilder::lifespan`].
///
/// ```
/// use trunkline::{Server, ToolError, server::Lifespan};
///
/// struct Database(&'static str);
///
/// let server = Server::builder("rows", "1.0.0")
///     .lifespan(async || Ok::<_, ToolError>(Database("open")), async |_| println!("closed"))
///     .tool("state", "The state of the database.", async |Lifespan(database): Lifespan<Database>| {
///         database.0.to_owned()
///     })
///     .build();
/// ```
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lifespan<T>(pub Arc<T>);

impl<T> Clone for Lifespan<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Extracts a part of a state, for [`State`].
///
/// ```
/// use trunkline::{Server, State, server::FromRef};
///
/// #[derive(Clone)]
/// struct Greeting(String);
///
/// #[derive(Clone)]
/// struct App {
///     greeting: Greeting,
/// }
///
/// impl FromRef<App> for Greeting {
///     fn from_ref(app: &App) -> Self {
///         app.greeting.clone()
///     }
/// }
///
/// let server = Server::builder("greeter", "1.0.0")
///     .with_state(App { greeting: Greeting("Hello!".into()) })
///     .tool("greet", "Greet someone.", async |State(Greeting(text)): State<Greeting>| text)
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "the state of the server is `{S}`, which does not provide `{Self}`",
    label = "a handler takes `State<{Self}>`",
    note = "`with_state` sets the state of the handlers that are added after it",
    note = "a part of the state can be taken if it implements `FromRef<{S}>`"
)]
pub trait FromRef<S> {
    /// Returns the part.
    fn from_ref(state: &S) -> Self;
}

impl<S: Clone> FromRef<S> for S {
    fn from_ref(state: &S) -> Self {
        state.clone()
    }
}

impl<S: Sync> FromContext<S> for Context {
    type Rejection = Infallible;

    async fn from_context(ctx: &Context, _: &S) -> Result<Self, Infallible> {
        Ok(ctx.clone())
    }
}

impl<S: Sync, T: FromRef<S>> FromContext<S> for State<T> {
    type Rejection = Infallible;

    async fn from_context(_: &Context, state: &S) -> Result<Self, Infallible> {
        Ok(Self(T::from_ref(state)))
    }
}

impl<S: Sync, T: Send + Sync + 'static> FromContext<S> for Lifespan<T> {
    type Rejection = ToolError;

    async fn from_context(ctx: &Context, _: &S) -> Result<Self, ToolError> {
        ctx.lifespan().map(Self).ok_or_else(|| {
            let wanted = std::any::type_name::<T>();
            ToolError::internal(format!(
                "the lifespan of the server has not opened a {wanted}: see `ServerBuilder::lifespan`"
            ))
        })
    }
}

impl<S: Sync, T: DeserializeOwned + JsonSchema> FromContext<S> for Params<T> {
    type Rejection = ToolError;

    async fn from_context(ctx: &Context, _: &S) -> Result<Self, ToolError> {
        // The arguments match the schema, but a stricter type may still refuse them.
        read(ctx.arguments()).map(Self)
    }

    fn input_schema() -> Option<Value> {
        Some(root_schema::<T>())
    }
}

/// Deserializes arguments, which may write integers as `5.0`; the error says which member is wrong.
fn read<T: DeserializeOwned>(arguments: &RawJson) -> Result<T, ToolError> {
    arguments.parse().or_else(|_| {
        let integers = arguments.parse().map(integers::without_fractions);
        let arguments = integers.and_then(|value| RawJson::from_value(&value)).unwrap_or_else(|_| arguments.clone());
        arguments.read().map_err(ToolError::invalid_arguments)
    })
}

/// Extracts the argument to complete.
impl<S: Sync> FromContext<S> for CompleteParams {
    type Rejection = ToolError;

    async fn from_context(ctx: &Context, _: &S) -> Result<Self, ToolError> {
        ctx.arguments().read().map_err(ToolError::invalid_arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_that_match_the_schema_as_integers_are_integers() {
        let sum = |numbers: Value| read::<Vec<i64>>(&RawJson::from_value(&numbers).unwrap());
        assert_eq!(sum(json!([5.0, 1e3, 7])).unwrap(), [5, 1000, 7]);
        let error = sum(json!([5.0, 5.5])).unwrap_err().to_string();
        assert!(error.contains("[1]") && error.contains("5.5"), "{error}");
    }
}
