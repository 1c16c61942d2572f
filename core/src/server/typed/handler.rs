//! Async functions as handlers.

use super::FromContext;
use crate::server::{Context, ToolError};
use serde_json::Value;
use std::future::Future;

/// An async function that serves a tool, resource, resource template, prompt or completion.
///
/// It has up to eight arguments in any order, each a [`FromContext`]: [`Context`],
/// [`super::Params`], [`super::State`] or a type of the program. The return type depends on the
/// feature that it serves: [`super::IntoToolResult`], [`super::IntoResourceResult`],
/// [`super::IntoPromptResult`], [`super::IntoCompletionResult`]. It is implemented for functions
/// and closures only; `M` tells their forms apart.
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    note = "a handler is an async function or closure such as `async |ctx: Context, Params(p): Params<T>| value`",
    note = "its arguments are `Context`, `Params<T>` where T has Deserialize and JsonSchema, `State<T>` of the server's state, and types that implement `FromContext`",
    note = "its future must be `Send`; a closure that moves values into it is written `move |...| async move {{ ... }}`"
)]
pub trait AsyncHandler<M, S>: Send + Sync + 'static {
    /// The value that the function returns.
    type Output: 'static;

    /// The JSON Schema of the arguments; `None` if there are none.
    fn input_schema() -> Option<Value>;

    /// Runs the function.
    ///
    /// # Errors
    /// If one of its arguments cannot be made; then it does not run.
    fn run(&self, ctx: Context, state: &S) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

macro_rules! async_handler {
    ($($argument:ident)*) => {
        impl<F, Fut, S, $($argument),*> AsyncHandler<($($argument,)*), S> for F
        where
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: 'static> + Send + 'static,
            S: Send + Sync + 'static,
            $($argument: FromContext<S> + Send + 'static,)*
        {
            type Output = Fut::Output;

            fn input_schema() -> Option<Value> {
                None$(.or_else($argument::input_schema))*
            }

            #[allow(non_snake_case, unused_variables, reason = "the macro names values by their types")]
            async fn run(&self, ctx: Context, state: &S) -> Result<Self::Output, ToolError> {
                $(let $argument = $argument::from_context(&ctx, state).await.map_err(Into::into)?;)*
                Ok(self($($argument),*).await)
            }
        }
    };
}

async_handler!();
async_handler!(A);
async_handler!(A B);
async_handler!(A B C);
async_handler!(A B C D);
async_handler!(A B C D E);
async_handler!(A B C D E G);
async_handler!(A B C D E G H);
async_handler!(A B C D E G H I);
