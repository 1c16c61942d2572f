//! The core form of a handler.

use super::call::Call;
use std::fmt;

/// Serves calls. The core form: it gets a [`Call`] and answers it whenever and from wherever it
/// likes; dropping the call unanswered fails it. Async functions are turned into handlers by
/// [`crate::server::AsyncHandler`].
pub trait Handler: Send + Sync + 'static {
    /// Takes a call. Must not block: over HTTP, a call in a large message is taken in the turn of
    /// such messages, and others above 64 KiB may wait until this returns.
    fn call(&self, call: Call);
}

impl fmt::Debug for dyn Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<F: Fn(Call) + Send + Sync + 'static> Handler for F {
    fn call(&self, call: Call) {
        self(call);
    }
}
