//! Listeners.

use crate::edge::prelude::*;
use crate::listener::trunkline_listener;

/// The URL of an HTTP listener; empty for stdio and for one that is mounted. Borrowed: valid until the listener is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_url(listener: *const trunkline_listener) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(listener).inner.url.lend()))
}

/// Returns `true` if the listener has ended (closed, or stdin ended), and for NULL. Changes only inside
/// `trunkline_dispatch` and other blocking functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_closed(listener: *const trunkline_listener) -> bool {
    value_or(true, || Ok(handle!(listener).inner.open.is_closed()))
}

/// The end of the listener: `TRUNKLINE_OK` if it was closed, its input ended, or it is still open
/// (`trunkline_listener_closed`), otherwise the failure that ended it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_end(
    listener: *const trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(listener).inner.open.outcome())
}

/// Closes the listener: calls in flight get `deadline_ms` to finish, then they are cancelled.
/// Blocks until it is closed and runs callbacks meanwhile. `TRUNKLINE_BLOCKING` inside a callback
/// of the same port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_close(
    listener: *mut trunkline_listener,
    deadline_ms: u64,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        // A callback may free the listener.
        let listener = handle!(listener).inner.clone();
        listener.close(deadline_ms)
    })
}

/// Frees a listener; one that is open is closed without waiting. Also inside callbacks. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_free(listener: *mut trunkline_listener) {
    contain((), || {
        if let Some(listener) = optional!(listener) {
            listener.inner.close_now();
        }
    });
    free!(listener)
}
