//! Listeners; `generated/open_handles.rs` has how they end.

use crate::edge::prelude::*;
use crate::listener::trunkline_listener;

/// The URL of an HTTP listener; empty for stdio and mounted ones. Borrowed: valid until the
/// listener is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_url(listener: *const trunkline_listener) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(listener).inner.url.lend()))
}

/// Frees a listener; an open one is closed without waiting. Allowed inside callbacks. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_free(listener: *mut trunkline_listener) {
    contain((), || {
        if let Some(listener) = optional!(listener) {
            listener.inner.close_now();
        }
    });
    free!(listener)
}
