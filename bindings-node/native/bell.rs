//! The bell: one threadsafe function that carries nothing and only wakes the event loop.

use std::sync::Arc;

use napi::bindgen_prelude::Unknown;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status, sys};
use trunkline::bridge;

use crate::value::{Result, internal};

/// No arguments, no error argument, weak: by itself it does not keep the event loop alive. No bound is needed, for the core rings once per batch.
pub(crate) type BellFunction = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

#[derive(Clone)]
pub(crate) struct Bell(Arc<BellFunction>);

impl bridge::Bell for Bell {
    fn ring(&self) {
        // The only failure is an environment that is being torn down, and then nobody is there to be woken.
        self.0.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl Bell {
    pub(crate) fn new(function: BellFunction) -> Self {
        Self(Arc::new(function))
    }

    pub(crate) fn hold(&self, env: &Env) -> Result<()> {
        // SAFETY: called from JavaScript, so on the thread of `env`; the function is alive, for `self` holds it and it was not aborted.
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
            status => Err(internal(format!("the event loop could not be held or released (status {status})"))),
        }
    }
}
