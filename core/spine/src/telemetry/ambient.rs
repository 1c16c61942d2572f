//! The program's current span.

use std::{
    future::{Future, poll_fn},
    pin::pin,
};

/// The current OpenTelemetry context, if that feature is enabled.
#[derive(Clone)]
pub struct Ambient {
    #[cfg(feature = "opentelemetry")]
    context: opentelemetry::Context,
}

impl Ambient {
    /// Captures the context of this thread.
    #[doc(hidden)]
    pub fn current() -> Self {
        Self {
            #[cfg(feature = "opentelemetry")]
            context: opentelemetry::Context::current(),
        }
    }

    /// Runs something in this context.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        #[cfg(feature = "opentelemetry")]
        let _attached = self.context.clone().attach();
        work()
    }

    /// Polls a future in this context.
    #[doc(hidden)]
    pub async fn around<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| self.run(|| future.as_mut().poll(context))).await
    }
}
