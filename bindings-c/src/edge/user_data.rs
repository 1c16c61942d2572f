//! Functions of the host, and their data.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

/// Frees `user_data`. Runs exactly once, when nothing can use the data anymore, or if the function
/// that received it failed. May run on any thread.
pub type trunkline_destructor = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

thread_local! {
    /// The number of destructors that have run on this thread.
    static DESTRUCTORS_RUN: Cell<u64> = const { Cell::new(0) };
}

/// The host's data, freed once, when the last owner releases it.
pub(crate) struct UserData {
    pointer: *mut c_void,
    destructor: trunkline_destructor,
    /// The owner, if several functions share the data.
    _owner: Option<Arc<UserData>>,
}

// SAFETY: the library only passes the pointer on; the header's conventions say that callbacks and
// destructors of one object may run on different threads, though never at the same time.
unsafe impl Send for UserData {}
// SAFETY: as above: nothing is read through the pointer here.
unsafe impl Sync for UserData {}

impl UserData {
    /// Takes ownership at once, so that the destructor runs whatever happens afterwards.
    pub(crate) fn new(pointer: *mut c_void, destructor: trunkline_destructor) -> Self {
        Self { pointer, destructor, _owner: None }
    }

    /// The same data for one of several functions, freed when the last of them releases it.
    pub(crate) fn share(self: &Arc<Self>) -> Self {
        Self { pointer: self.pointer, destructor: None, _owner: Some(self.clone()) }
    }

    /// Returns whether the host is notified when nothing can use the data anymore.
    pub(crate) fn has_destructor(&self) -> bool {
        self.destructor.is_some()
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    /// The number of destructors that have run on this thread. It only increases.
    pub(crate) fn destructors_run() -> u64 {
        DESTRUCTORS_RUN.get()
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the host gave the function for exactly this pointer, and it is called once,
            // here.
            unsafe { destructor(self.pointer) }
            DESTRUCTORS_RUN.set(DESTRUCTORS_RUN.get() + 1);
        }
    }
}

/// The type of a callback in the header: a function, or NULL.
pub(crate) trait Nullable {
    type Function;
}

impl<F> Nullable for Option<F> {
    type Function = F;
}

/// A function of the host of type `C` in the header, and its data.
pub(crate) struct Callback<C: Nullable> {
    pub(crate) function: C::Function,
    pub(crate) data: UserData,
}

impl<F> Callback<Option<F>> {
    /// `None` if the host passed no function; the data is then freed. Takes ownership at once, as
    /// [`UserData::new`] does.
    pub(crate) fn new(function: Option<F>, user_data: *mut c_void, destructor: trunkline_destructor) -> Option<Self> {
        let data = UserData::new(user_data, destructor);
        function.map(|function| Self { function, data })
    }
}
