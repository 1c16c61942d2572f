//! Adapts async handlers to the core form.

use super::{HandlerArguments, HandlerOf, IntoResult, busy_threads::HANDLER_POLLS, context::Context};
use crate::protocol::RawJson;
use crate::server::handlers::{Call, Handler, Outcome};
use crate::telemetry::Ambient;
use std::{any::Any, future::Future, panic::AssertUnwindSafe, pin::Pin, sync::Arc, task::Poll};
use tracing::Span;

/// Adapts an async handler to the core form.
pub(super) fn serve<R: 'static, M, S: Send + Sync + 'static>(
    handler: impl HandlerOf<R, M, S>,
    state: S,
) -> impl Handler {
    serve_with(handler, state, |input| Ok(input.clone()), |outcome| outcome)
}

/// Adapts an async handler to the core form. `arguments` returns the part of a call's input that
/// [`Params`](super::Params) are extracted from, and `adjust` is applied to the outcome.
pub(super) fn serve_with<R: 'static, M, S: Send + Sync + 'static, H: HandlerOf<R, M, S>>(
    handler: H,
    state: S,
    arguments: fn(&RawJson) -> Result<RawJson, Outcome>,
    adjust: fn(Outcome) -> Outcome,
) -> impl Handler {
    let handler = Arc::new((handler, state));
    move |call: Call| match arguments(call.input()) {
        Ok(arguments) => {
            let context = Context::new(call.info().clone(), arguments);
            let handler = Arc::clone(&handler);
            let work = Box::pin(async move {
                let (handler, state) = &*handler;
                match H::Arguments::from_context(&context, state).await {
                    Ok(arguments) => adjust(handler.call(arguments).await.into_outcome()),
                    Err(error) => error.into(),
                }
            });
            in_background(call, work);
        }
        Err(outcome) => drop(call.complete(outcome)),
    }
}

/// A handler's future.
pub(super) type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Runs a handler's future until it completes or its call is cancelled, which drops it. A panic
/// only fails the call.
pub(super) fn in_background(call: Call, future: Work) {
    let runtime = Arc::clone(call.info().backend.runtime());
    let (span, ambient) = (Span::current(), Ambient::current());
    let task = async move {
        let mut future = future;
        let outcome = std::future::poll_fn(|context| {
            let poll = || std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
            let entered = HANDLER_POLLS.enter();
            let step = ambient.run(|| span.in_scope(poll));
            drop(entered);
            match step {
                Err(panic) => Poll::Ready(Some(Outcome::Internal(panic_text(&*panic)))),
                Ok(Poll::Ready(outcome)) => Poll::Ready(Some(outcome)),
                Ok(Poll::Pending) => std::pin::pin!(call.info().cancelled()).poll(context).map(|()| None),
            }
        })
        .await;
        ambient.run(|| {
            let _entered = span.enter();
            drop(future);
            if let Some(outcome) = outcome {
                call.complete(outcome);
            }
        });
    };
    runtime.spawn(Box::pin(task));
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match message {
        Some(message) => format!("the handler panicked: {message}"),
        None => "the handler panicked".to_owned(),
    }
}
