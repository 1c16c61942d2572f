//! A listener of a server: its address, and its end (`generated/open_handles.rs`).

use crate::edge::prelude::*;
use crate::open_handle::Opened;

/// An open listener of a server. `trunkline_listener_free` closes and frees it.
pub struct trunkline_listener {
    pub(crate) inner: Arc<Opened>,
    pub(crate) url: Text,
}

impl Drop for trunkline_listener {
    fn drop(&mut self) {
        let _ = self.inner.start_close(0);
    }
}

/// The URL of an HTTP listener; empty for stdio and mounted ones. Borrowed: valid until the
/// listener is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_url(listener: *const trunkline_listener) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(listener).url.lend()))
}

/// Frees a listener; an open one is closed without waiting. Allowed inside callbacks. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_free(listener: *mut trunkline_listener) {
    free!(listener)
}
