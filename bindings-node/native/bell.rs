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

    /// Lets this bell keep the event loop alive, or no longer.
    pub(crate) fn hold(&self, env: &Env, held: bool) -> Result<()> {
        if self.0.aborted() {
            return Ok(());
        }
        let switch = if held { sys::napi_ref_threadsafe_function } else { sys::napi_unref_threadsafe_function };
        // SAFETY: JavaScript calls this on the thread of `env`, and `self` keeps the function
        // alive.
        match unsafe { switch(env.raw(), self.0.raw()) } {
            sys::Status::napi_ok => Ok(()),
            status => Err(internal(format!("could not hold or release the event loop (status {status})"))),
        }
    }
}
