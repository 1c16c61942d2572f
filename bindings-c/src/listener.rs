//! A listener of a server: where it is reached, and its end.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{guard, handle, value_or};
use crate::hub::Hub;
use crate::text::{Text, trunkline_str};
use crate::work::{Session, Waiter};

/// An open listener of a server. Freed with `trunkline_listener_free`, which also closes it.
pub struct trunkline_listener {
    pub(crate) inner: Arc<Listener>,
}

pub(crate) struct Listener {
    hub: Arc<Hub>,
    handle: u64,
    url: Text,
    pub(crate) session: Arc<Session>,
}

impl Listener {
    /// Opens what `json` describes and waits until it listens.
    pub(crate) fn open(hub: &Arc<Hub>, json: &[u8]) -> Result<Arc<Self>, Failure> {
        let session = Session::new(None);
        let handle = hub.open(json, &session, Waiter::thread(), |_| ())?;
        let facts = hub
            .wait_for(handle, None)
            .inspect_err(|_| drop(hub.state().map(|mut state| state.sessions.remove(&handle))))?;
        Ok(Arc::new(Self { hub: hub.clone(), handle, url: url(&facts), session }))
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    pub(crate) fn close_now(&self) {
        self.hub.close_now(self.handle, &self.session);
    }
}

fn url(facts: &Bytes) -> Text {
    let facts: Value = serde_json::from_slice(facts).unwrap_or_default();
    Text::copy(facts["url"].as_str().unwrap_or_default().as_bytes())
}

/// The URL of an HTTP listener; empty for stdio and for one that is mounted. Borrowed: valid until the listener is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_url(listener: *const trunkline_listener) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(listener).inner.url.lend()))
}

/// Whether the listener has ended: closed, or stdin ended. `true` for NULL. Changes only inside
/// `trunkline_dispatch` and other blocking functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_closed(listener: *const trunkline_listener) -> bool {
    value_or(true, || Ok(handle!(listener).inner.session.is_closed()))
}

/// How the listener ended: `TRUNKLINE_OK` if it was closed, its input ended, or it is still open (`trunkline_listener_closed`),
/// otherwise what broke it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_end(
    listener: *const trunkline_listener,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || handle!(listener).inner.session.how_it_ended())
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
        listener.hub.close([(listener.handle, &listener.session)], deadline_ms)
    })
}

/// Frees a listener; one that is open is closed without waiting. Also inside callbacks. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_listener_free(listener: *mut trunkline_listener) {
    crate::ffi::contain((), || {
        // SAFETY: the conventions of the header: NULL, or a listener that was not freed.
        if let Some(listener) = unsafe { listener.as_ref() } {
            listener.inner.close_now();
        }
        // SAFETY: as above, and the caller does not use it afterwards.
        unsafe { crate::ffi::take(listener) }
    });
}
