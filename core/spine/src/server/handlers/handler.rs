//! The core form of a handler.

use super::call::Call;
use std::fmt;

/// Serves calls. This is the core form: it gets a [`Call`], which it can complete at any time and
/// from any thread; dropping the call without completing it fails it.
/// [`crate::server::AsyncHandler`] turns async functions into handlers.
pub trait Handler: Send + Sync + 'static {
    /// Takes a call. Must not block: over HTTP, large messages take turns, so other messages above
    /// 64 KiB may have to wait until this returns.
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
