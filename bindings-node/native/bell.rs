//! The bell: a threadsafe function without arguments that wakes the event loop.

use std::sync::Arc;

use napi::bindgen_prelude::Unknown;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status, sys};
use trunkline_bridge as bridge;

use crate::value::{Result, internal};

/// Weak, so it does not keep the event loop alive. Unbounded, because the core rings only once per
/// batch.
pub(crate) type BellFunction = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

#[derive(Clone)]
pub(crate) struct Bell(Arc<BellFunction>);

impl bridge::Bell for Bell {
    fn ring(&self) {
        // Fails only during the teardown of the environment, when no thread needs to be woken.
        self.0.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl Bell {
    pub(crate) fn new(function: BellFunction) -> Self {
        Self(Arc::new(function))
    }

    pub(crate) fn hold(&self, env: &Env) -> Result<()> {
        // SAFETY: JavaScript calls this on the thread of `env`, and `self` keeps the function
        // alive.
        self.switch(|raw| unsafe { sys::napi_ref_threadsafe_function(env.raw(), raw) })
    }

    pub(crate) fn release(&self, env: &Env) -> Result<()> {
        // SAFETY: as in `hold`.
        self.switch(|raw| unsafe { sys::napi_unref_threadsafe_function(env.raw(), raw) })
    }

    fn switch(&self, call: impl FnOnce(sys::napi_threadsafe_function) -> sys::napi_status) -> Result<()> {
        if self.0.aborted() {
            return Ok(());
        }
        match call(self.0.raw()) {
            sys::Status::napi_ok => Ok(()),
            status => Err(internal(format!("could not hold or release the event loop (status {status})"))),
        }
    }
}
