//! Listeners; `generated/open_handles.rs` has their end.

use crate::edge::prelude::*;
use crate::listener::trunkline_listener;

/// The URL of an HTTP listener; empty for stdio and for one that is mounted. Borrowed: valid until
/// the listener is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_url(listener: *const trunkline_listener) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(listener).inner.url.lend()))
}

/// Frees a listener; one that is open is closed without waiting. Also inside callbacks. NULL is
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
