//! Async functions as handlers.

use super::{FromContext, IntoResult};
use crate::server::{Context, ToolError};
use serde_json::Value;
use std::future::Future;

/// An async function that serves a tool, resource, resource template, prompt or completion.
///
/// It takes up to eight arguments in any order, each a [`FromContext`]: [`Context`],
/// [`super::Params`], [`super::State`] or a type of your own. The return type depends on the
/// feature: see [`IntoResult`]. The trait is only implemented for functions and closures; `M`
/// distinguishes their forms.
pub trait AsyncHandler<M> {
    /// The arguments, as a tuple.
    type Arguments;

    /// The future returned by the function.
    type Future;

    /// Calls the function.
    fn call(&self, arguments: Self::Arguments) -> Self::Future;
}

/// An [`AsyncHandler`] for the state `S` whose return value is a result `R`.
///
/// It is implemented for every such handler: what the functions that take a handler require of it.
// The compiler names the bound that is not met, rather than this trait.
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    label = "not an async function of up to eight arguments",
    note = "a handler is an async function or closure such as `async |ctx: Context, Params(p): Params<T>| value`",
    note = "a closure that moves values into its future is written `move |...| async move {{ ... }}`"
)]
pub trait HandlerOf<R, M, S>:
    AsyncHandler<M, Arguments: HandlerArguments<S>, Future: Future<Output: IntoResult<R>> + Send + 'static>
    + Send
    + Sync
    + 'static
{
}

impl<R, M, S, H> HandlerOf<R, M, S> for H where
    H: AsyncHandler<M, Arguments: HandlerArguments<S>, Future: Future<Output: IntoResult<R>> + Send + 'static>
        + Send
        + Sync
        + 'static
{
}

/// The arguments of a handler: up to eight, each a [`FromContext`]. `S` is the state of the server.
pub trait HandlerArguments<S>: Sized + Send + 'static {
    /// The JSON Schema of the call's arguments; `None` if no handler argument is extracted from
    /// them.
    fn input_schema() -> Option<Value>;

    /// Extracts the arguments in order.
    ///
    /// # Errors
    /// If one of them cannot be extracted; then the handler does not run.
    fn from_context(ctx: &Context, state: &S) -> impl Future<Output = Result<Self, ToolError>> + Send;
}

macro_rules! async_handlers {
    ($(($($argument:ident)*))*) => {
        $(impl<F, Fut, $($argument),*> AsyncHandler<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut,
        {
            type Arguments = ($($argument,)*);
            type Future = Fut;

            #[allow(non_snake_case, reason = "the macro names values by their types")]
            fn call(&self, ($($argument,)*): Self::Arguments) -> Fut {
                self($($argument),*)
            }
        }

        impl<S, $($argument),*> HandlerArguments<S> for ($($argument,)*)
        where
            S: Sync,
            $($argument: FromContext<S> + Send + 'static,)*
        {
            fn input_schema() -> Option<Value> {
                None$(.or_else($argument::input_schema))*
            }

            #[allow(unused_variables, reason = "there may be no arguments")]
            async fn from_context(ctx: &Context, state: &S) -> Result<Self, ToolError> {
                Ok(($($argument::from_context(ctx, state).await.map_err(Into::into)?,)*))
            }
        })*
    };
}

async_handlers!(() (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) (A B C D E G H) (A B C D E G H I));
