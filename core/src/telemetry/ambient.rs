//! The span of the program within which something begins.

use std::{
    future::{Future, poll_fn},
    pin::pin,
};

/// The current context of OpenTelemetry, where that is compiled in.
#[derive(Clone)]
pub(crate) struct Ambient {
    #[cfg(feature = "opentelemetry")]
    context: opentelemetry::Context,
}

impl Ambient {
    /// The context of this thread.
    pub(crate) fn current() -> Self {
        Self {
            #[cfg(feature = "opentelemetry")]
            context: opentelemetry::Context::current(),
        }
    }

    /// Does something within it.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        #[cfg(feature = "opentelemetry")]
        let _attached = self.context.clone().attach();
        work()
    }

    /// Polls a future within it.
    pub(crate) async fn around<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| self.run(|| future.as_mut().poll(context))).await
    }
}
