//! Host-driven reads: the event loop of Node reads a pipe that the core hands over, so messages are
//! handled without waking another thread (see `docs/bridge.md`).
//!
//! This is an optional optimization, with its switch in `src/handoff.ts`. JavaScript cannot watch a
//! descriptor that other code reads, so this calls libuv, whose functions it looks up in the
//! process by name. In a runtime without libuv, no pipe is watched.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi::bindgen_prelude::{FunctionRef, JsValue, ToNapiValue};
use napi::{Env, sys};
use trunkline_bridge::Port;

use self::libuv::{Handle, Libuv};
use crate::value::{Result, thrown};

/// A watched pipe. The two libuv handles own it; it is freed once both are closed.
struct Watch {
    uv: &'static Libuv,
    uv_loop: *mut sys::uv_loop_s,
    env: Env,
    port: Port,
    pipe: u64,
    /// The watched descriptor, which stays open for as long as the handles.
    descriptor: File,
    /// Called after each read, with `false` once the core resumes reading.
    on_read: FunctionRef<bool, ()>,
    /// Closes the handles when the environment ends first.
    hook: sys::napi_async_cleanup_hook_handle,
    closing: bool,
    /// Calls `readable`.
    poll: Vec<u128>,
    /// Calls `before_sleep`.
    prepare: Vec<u128>,
    /// Number of handles that are initialized and not closed.
    open_handles: u8,
}

/// Starts watching a pipe that the core hands over. Returns `false` if that is impossible.
pub(crate) fn watch(env: &Env, port: &Port, pipe: u64, on_read: FunctionRef<bool, ()>) -> Result<bool> {
    let Some(uv) = Libuv::get() else { return Ok(false) };
    let Some(descriptor) = port.watch(pipe).map_err(thrown)? else { return Ok(false) };
    let Ok(uv_loop) = env.get_uv_event_loop() else { return Ok(false) };
    let mut watch = Box::new(Watch {
        uv,
        uv_loop,
        env: *env,
        port: port.clone(),
        pipe,
        descriptor,
        on_read,
        hook: ptr::null_mut(),
        closing: false,
        poll: uv.memory(libuv::POLL),
        prepare: uv.memory(libuv::PREPARE),
        open_handles: 2,
    });
    let (poll, prepare): (Handle, Handle) = (watch.poll.as_mut_ptr().cast(), watch.prepare.as_mut_ptr().cast());
    // SAFETY: JavaScript calls this on the thread of `env`, whose loop outlives its handles. The
    // memory has the size that libuv requires, and the descriptor stays open until the handle is
    // closed.
    if unsafe { (uv.poll_init)(uv_loop, poll, watch.descriptor.as_raw_fd()) } != 0 {
        return Ok(false);
    }
    let watch = Box::into_raw(watch);
    // SAFETY: the handles are initialized (the second cannot fail), and own `watch` until `closed`.
    unsafe {
        (uv.prepare_init)(uv_loop, prepare);
        for handle in [poll, prepare] {
            (uv.set_data)(handle, watch.cast());
            // Listeners and connections keep the loop alive; their pipes do not.
            (uv.unref)(handle);
        }
        // Without the hook, `closed` could run after the environment has been destroyed.
        let hooked =
            sys::napi_add_async_cleanup_hook(env.raw(), Some(environment_ends), watch.cast(), &mut (*watch).hook);
        if hooked != sys::Status::napi_ok
            || (uv.prepare_start)(prepare, before_sleep) != 0
            || (uv.poll_start)(poll, libuv::READABLE, readable) != 0
        {
            (*watch).close();
            return Ok(false);
        }
    }
    Ok(true)
}

impl Watch {
    /// Starts closing the handles, on the thread of the loop. `closed` is called for each.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.closing, true) {
            for memory in [&mut self.poll, &mut self.prepare] {
                // SAFETY: the handle is initialized, and is only closed once.
                unsafe { (self.uv.close)(memory.as_mut_ptr().cast(), closed) };
            }
        }
    }

    /// Calls `on_read` as an event of the loop, so that microtasks run after it.
    unsafe fn call(watch: *mut Self, watched: bool) {
        let (mut scope, mut this) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: on the thread of `env`, in its own scope; a null context is not traced.
        // JavaScript runs without a reference to the `Watch`.
        unsafe {
            let env = (*watch).env.raw();
            if sys::napi_open_handle_scope(env, &mut scope) != sys::Status::napi_ok {
                return;
            }
            let function = (*watch).on_read.borrow_back(&(*watch).env).map(|function| function.raw());
            sys::napi_get_global(env, &mut this);
            if let (Ok(function), Ok(watched)) = (function, bool::to_napi_value(env, watched)) {
                let mut result = ptr::null_mut();
                let called = sys::napi_make_callback(env, ptr::null_mut(), this, function, 1, &watched, &mut result);
                let mut error = ptr::null_mut();
                if called == sys::Status::napi_pending_exception
                    && sys::napi_get_and_clear_last_exception(env, &mut error) == sys::Status::napi_ok
                {
                    sys::napi_fatal_exception(env, error);
                }
            }
            sys::napi_close_handle_scope(env, scope);
        }
    }
}

/// Reads the available data. Called by libuv when the pipe is readable or broken.
unsafe extern "C" fn readable(handle: Handle, status: c_int, _events: c_int) {
    let Some(uv) = Libuv::get() else { return };
    // SAFETY: the data is the `Watch`, alive until `closed`.
    unsafe {
        let watch: *mut Watch = (uv.get_data)(handle).cast();
        let read = catch_unwind(AssertUnwindSafe(|| (*watch).port.read_ready((*watch).pipe)));
        let watched = status == 0 && matches!(read, Ok(Ok(true)));
        if !watched {
            (*watch).close();
        }
        Watch::call(watch, watched);
    }
}

/// Busy-polls for the next message, which may arrive sooner than a sleeping core wakes up. Called
/// by libuv before the loop polls; that poll then finds the message.
unsafe extern "C" fn before_sleep(handle: Handle) {
    let Some(uv) = Libuv::get() else { return };
    // SAFETY: as in `readable`. The loop is alive while it runs.
    unsafe {
        let watch: *mut Watch = (uv.get_data)(handle).cast();
        if (uv.backend_timeout)((*watch).uv_loop) != 0 {
            let _ = catch_unwind(AssertUnwindSafe(|| (*watch).port.busy_poll((*watch).pipe)));
        }
    }
}

unsafe extern "C" fn closed(handle: Handle) {
    let Some(uv) = Libuv::get() else { return };
    // SAFETY: the last handle frees the `Watch`. The hook keeps the environment and is removed
    // last.
    unsafe {
        let watch = (uv.get_data)(handle).cast::<Watch>();
        (*watch).open_handles -= 1;
        if (*watch).open_handles > 0 {
            return;
        }
        let watch = Box::from_raw(watch);
        let hook = watch.hook;
        drop(watch);
        if !hook.is_null() {
            sys::napi_remove_async_cleanup_hook(hook);
        }
    }
}

unsafe extern "C" fn environment_ends(_: sys::napi_async_cleanup_hook_handle, watch: *mut c_void) {
    // SAFETY: the hook is removed before the `Watch` is freed.
    unsafe { (*watch.cast::<Watch>()).close() };
}

/// The functions of libuv that a watch calls.
mod libuv {
    use std::ffi::{c_int, c_void};
    use std::sync::OnceLock;

    use napi::sys::uv_loop_s;

    pub(super) type Handle = *mut c_void;

    // From `uv_handle_type` and `uv_poll_event`.
    pub(super) const POLL: c_int = 8;
    pub(super) const PREPARE: c_int = 9;
    pub(super) const READABLE: c_int = 1;

    macro_rules! functions {
        ($($field:ident = $name:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
            /// The functions, with their signatures in version 1 of libuv.
            pub(super) struct Libuv { $(pub(super) $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

            impl Libuv {
                fn find() -> Option<Self> {
                    // SAFETY: the names end with a zero byte. A function has the same signature in
                    // every version 1 of libuv, and a null pointer is `None`.
                    Some(Self { $($field: unsafe {
                        let symbol = libc::dlsym(libc::RTLD_DEFAULT, $name.as_ptr());
                        std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>>(symbol)?
                    },)* })
                }
            }
        };
    }

    functions! {
        handle_size = c"uv_handle_size": fn(c_int) -> usize;
        poll_init = c"uv_poll_init": fn(*mut uv_loop_s, Handle, c_int) -> c_int;
        poll_start = c"uv_poll_start": fn(Handle, c_int, unsafe extern "C" fn(Handle, c_int, c_int)) -> c_int;
        prepare_init = c"uv_prepare_init": fn(*mut uv_loop_s, Handle) -> c_int;
        prepare_start = c"uv_prepare_start": fn(Handle, unsafe extern "C" fn(Handle)) -> c_int;
        backend_timeout = c"uv_backend_timeout": fn(*mut uv_loop_s) -> c_int;
        unref = c"uv_unref": fn(Handle);
        close = c"uv_close": fn(Handle, unsafe extern "C" fn(Handle));
        set_data = c"uv_handle_set_data": fn(Handle, *mut c_void);
        get_data = c"uv_handle_get_data": fn(Handle) -> *mut c_void;
    }

    impl Libuv {
        /// The functions of this process, unless one is missing.
        pub(super) fn get() -> Option<&'static Self> {
            static FOUND: OnceLock<Option<Libuv>> = OnceLock::new();
            FOUND.get_or_init(Self::find).as_ref()
        }

        /// Memory of a handle, aligned for any C type. Only libuv knows the layout.
        pub(super) fn memory(&self, kind: c_int) -> Vec<u128> {
            // SAFETY: the argument is a number.
            vec![0; unsafe { (self.handle_size)(kind) }.div_ceil(size_of::<u128>())]
        }
    }
}
