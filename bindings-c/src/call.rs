//! A call: its life, what is known about it, its cancellation.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use trunkline_bridge::Event;

use crate::callback::{CancelCallback, UserData, trunkline_cancel_callback, trunkline_destructor};
use crate::error::{Failure, trunkline_error, trunkline_result};
use crate::ffi::{contain, guard, handle, out, quietly, text, value_or};
use crate::hub::Hub;
use crate::json;
use crate::registered::Registered;
use crate::sync::Mutex;
use crate::text::{Text, trunkline_str, trunkline_text};
use crate::work::Work;

/// A call that waits for its answer. Answered exactly once: one of the `trunkline_call_return_*`,
/// `trunkline_call_require_input` and `trunkline_call_fail*` functions succeeds, later ones give `TRUNKLINE_DONE`. A call that
/// is let go of without an answer, and without having asked for anything, fails. Its functions may be used on any thread.
pub struct trunkline_call {
    pub(crate) hub: Arc<Hub>,
    pub(crate) ticket: u64,
    arguments: Text,
    answered: AtomicBool,
    on_cancel: Mutex<OnCancel>,
    /// Keeps the `user_data` alive until the call is let go of.
    registered: Arc<Registered>,
}

#[derive(Default)]
struct OnCancel {
    callback: Option<CancelCallback>,
    /// Once it was told, for good: callbacks may come later.
    reason: Option<Bytes>,
}

impl trunkline_call {
    pub(crate) fn start(hub: &Arc<Hub>, registered: &Arc<Registered>, event: Event) -> Arc<Self> {
        let call = Arc::new(Self {
            hub: hub.clone(),
            ticket: event.ticket,
            arguments: Text::copy(&event.body),
            answered: AtomicBool::new(false),
            on_cancel: Mutex::default(),
            registered: registered.clone(),
        });
        if let Ok(mut state) = hub.state() {
            state.calls.insert(event.ticket, Arc::downgrade(&call));
        }
        call
    }

    pub(crate) fn as_raw(self: &Arc<Self>) -> *mut Self {
        Arc::as_ptr(self).cast_mut()
    }

    pub(crate) fn arguments(&self) -> trunkline_str {
        self.arguments.lend()
    }

    /// Whether the server of that handle was called.
    pub(crate) fn is_of(&self, server: u64) -> bool {
        self.registered.server == server
    }

    pub(crate) fn run_cancel_callback(&self, reason: Bytes) {
        let callback = {
            let mut on_cancel = self.on_cancel.lock();
            on_cancel.reason = Some(reason.clone());
            on_cancel.callback.take()
        };
        if let Some(callback) = callback {
            callback.run(Text::copy(&reason).lend());
        }
    }

    /// Notes that the call is answered; `was_open` is what the core said to it.
    pub(crate) fn settle(&self, was_open: bool) -> Result<(), Failure> {
        self.answered.store(true, Ordering::Release);
        if was_open { Ok(()) } else { Err(Failure::done()) }
    }

    /// The fact at a JSON pointer.
    pub(crate) fn fact(&self, pointer: &str) -> Result<Text, Failure> {
        let facts = self.hub.port.describe(self.ticket)?;
        let facts = str::from_utf8(&facts).map_err(|reason| Failure::internal(reason.to_string()))?;
        Ok(Text::copy(json::find(facts, pointer)?.as_bytes()))
    }
}

impl Drop for trunkline_call {
    fn drop(&mut self) {
        if let Ok(mut state) = self.hub.state() {
            state.calls.remove(&self.ticket);
        }
        if !self.answered.load(Ordering::Acquire) {
            // The core drops this where the call has asked its client for input.
            let _ = self.fail_internal("the handler let go of its call without answering it");
        }
    }
}

/// The arguments again, as the callback got them. Borrowed: valid as long as the call. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_arguments(call: *const trunkline_call) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(call).arguments()))
}

/// Facts about the call as JSON: `method`, `name`, `revision`, `clientInfo`, `clientCapabilities`, `meta`, `progress` (whether
/// the caller asked for it), `auth` (who the caller is, an object with at least `principal`), `inputResponses` and `state` (what the
/// round before brought: `trunkline_call_require_input`), `once` (`trunkline_call_set_once`). `facts` is yours:
/// `trunkline_text_free`. Fails with `TRUNKLINE_INVALID` once the call is answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_facts(
    call: *const trunkline_call,
    facts: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, facts) = (handle!(call), out!(facts));
        facts.put(Text::new(call.hub.port.describe(call.ticket)?).give());
        Ok(())
    })
}

/// One of these facts, by JSON pointer: "/auth/principal", "/state", "/inputResponses/user_name/content/name". `value` is JSON
/// and yours: `trunkline_text_free`. `TRUNKLINE_NOT_FOUND` if there is nothing at that place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fact(
    call: *const trunkline_call,
    pointer: trunkline_str,
    value: *mut *mut trunkline_text,
) -> trunkline_result {
    quietly(|| {
        let (call, pointer, value) = (handle!(call), text!(pointer), out!(value));
        value.put(call.fact(pointer)?.give());
        Ok(())
    })
}

/// Whether the call is no longer wanted: the client cancelled it, its connection is gone, or it is answered already. For
/// tools that work in small steps. `false` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_cancelled(call: *const trunkline_call) -> bool {
    value_or(false, || {
        let call = handle!(call);
        Ok(call.hub.port.cancelled(call.ticket)?)
    })
}

/// Runs `callback` once when the call is no longer wanted, also if that already happened: like all callbacks, inside
/// `trunkline_dispatch` or another blocking function of the port, and not any more once the call was let go of. A second callback
/// replaces the first. `destructor` fires exactly once, whether or not the callback ran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_on_cancel(
    call: *mut trunkline_call,
    callback: trunkline_cancel_callback,
    user_data: *mut c_void,
    destructor: trunkline_destructor,
) -> trunkline_result {
    let user_data = UserData::new(user_data, destructor);
    quietly(|| {
        let call = handle!(call);
        let callback = CancelCallback::required(callback, user_data)?;
        let (replaced, told) = {
            let mut on_cancel = call.on_cancel.lock();
            (on_cancel.callback.replace(callback), on_cancel.reason.clone())
        };
        drop(replaced);
        match told {
            Some(reason) => call.hub.add_due(Work::Cancelled { ticket: call.ticket, reason }),
            None => Ok(()),
        }
    })
}

/// Keeps the call beyond its callback, to answer it later from any thread. Give it back with
/// `trunkline_call_free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_retain(call: *mut trunkline_call) -> *mut trunkline_call {
    contain(std::ptr::null_mut(), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: a call that is alive; each one is inside an
            // `Arc`, made by `start`.
            unsafe { Arc::increment_strong_count(call) };
        }
        call
    })
}

/// Lets go of a call that was kept with `trunkline_call_retain`. If it was not answered, it fails
/// now. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_free(call: *mut trunkline_call) {
    contain((), || {
        if !call.is_null() {
            // SAFETY: the conventions of the header: pairs with one `trunkline_call_retain`.
            drop(unsafe { Arc::from_raw(call) });
        }
    });
}
