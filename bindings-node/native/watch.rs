//! Pipes that the event loop of Node watches, so that what comes is handled without another thread (`pump` of the contract).
//!
//! libuv has no interface in JavaScript for a descriptor that somebody else reads, so this calls it. Its functions are looked up when
//! they are needed: a runtime that has addons but not libuv says so, and nothing is watched there. A runtime that has functions of these
//! names which end the process (Bun) must not come here: the package does not ask for pipes there.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use napi::bindgen_prelude::{Function, JsValue, ToNapiValue};
use napi::{Env, sys};
use trunkline::bridge::Port;

use crate::value::{Result, internal};

type Handle = *mut c_void;

/// The functions of libuv, with the signatures of its version 1.
struct Uv {
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    poll_init: unsafe extern "C" fn(*mut sys::uv_loop_s, Handle, c_int) -> c_int,
    poll_start: unsafe extern "C" fn(Handle, c_int, unsafe extern "C" fn(Handle, c_int, c_int)) -> c_int,
    prepare_init: unsafe extern "C" fn(*mut sys::uv_loop_s, Handle) -> c_int,
    prepare_start: unsafe extern "C" fn(Handle, unsafe extern "C" fn(Handle)) -> c_int,
    backend_timeout: unsafe extern "C" fn(*mut sys::uv_loop_s) -> c_int,
    unref: unsafe extern "C" fn(Handle),
    close: unsafe extern "C" fn(Handle, unsafe extern "C" fn(Handle)),
    set_data: unsafe extern "C" fn(Handle, *mut c_void),
    get_data: unsafe extern "C" fn(Handle) -> *mut c_void,
}

/// `UV_POLL` and `UV_PREPARE` of `uv_handle_type`.
const POLL: c_int = 8;
const PREPARE: c_int = 9;
/// `UV_READABLE`.
const READABLE: c_int = 1;

impl Uv {
    fn of_process() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Uv>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    #[allow(clippy::missing_transmute_annotations, reason = "each field says the type")]
    fn find() -> Option<Self> {
        let find = |name: &CStr| {
            // SAFETY: the name ends in a zero byte, and looking it up has no effect.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: a function of that name has the signature of its field, in every version 1 of libuv.
                unsafe { std::mem::transmute::<*mut c_void, _>(find($name)?) }
            };
        }
        Some(Self {
            handle_size: function!(c"uv_handle_size"),
            poll_init: function!(c"uv_poll_init"),
            poll_start: function!(c"uv_poll_start"),
            prepare_init: function!(c"uv_prepare_init"),
            prepare_start: function!(c"uv_prepare_start"),
            backend_timeout: function!(c"uv_backend_timeout"),
            unref: function!(c"uv_unref"),
            close: function!(c"uv_close"),
            set_data: function!(c"uv_handle_set_data"),
            get_data: function!(c"uv_handle_get_data"),
        })
    }
}

/// A pipe that is watched. It belongs to libuv's handles, and goes when both are closed.
struct Watch {
    uv: &'static Uv,
    uv_loop: *mut sys::uv_loop_s,
    env: sys::napi_env,
    port: Port,
    pipe: u64,
    /// What is watched; open for as long as the handle is.
    descriptor: File,
    /// Called with whether the pipe is still watched.
    pumped: sys::napi_ref,
    /// Closes the handle when the environment ends before.
    hook: sys::napi_async_cleanup_hook_handle,
    closing: bool,
    /// Says when there is something to read.
    poll: HandleMemory,
    /// Says when the loop is about to sleep.
    prepare: HandleMemory,
    /// Handles that are initialised and not closed.
    open: u8,
}

/// Memory of a handle: of 16 bytes each, for the strictest alignment that C has.
struct HandleMemory(Vec<u128>);

impl HandleMemory {
    fn new(uv: &Uv, kind: c_int) -> Self {
        // SAFETY: it takes a number.
        let size = unsafe { (uv.handle_size)(kind) };
        Self(vec![0; size.div_ceil(size_of::<u128>())])
    }

    fn handle(&mut self) -> Handle {
        self.0.as_mut_ptr().cast()
    }
}

/// Watches a pipe that was lent; whether it does. `pumped` is called after each time that it was read.
pub(crate) fn watch(env: &Env, port: &Port, pipe: u64, pumped: Function<'_, bool, ()>) -> Result<bool> {
    let Some(uv) = Uv::of_process() else { return Ok(false) };
    let Some(descriptor) = port.watch(pipe).map_err(crate::value::thrown)? else { return Ok(false) };
    let failed = |what| internal(format!("{what} cannot be made"));
    let env = env.raw();
    let mut uv_loop = ptr::null_mut();
    let mut reference = ptr::null_mut();
    // SAFETY: called from JavaScript, so on the thread of `env`, whose loop lives longer than its handles.
    let made = unsafe {
        sys::napi_get_uv_event_loop(env, &mut uv_loop) == sys::Status::napi_ok
            && sys::napi_create_reference(env, pumped.raw(), 1, &mut reference) == sys::Status::napi_ok
    };
    if !made {
        return Err(failed("a watch of the event loop"));
    }
    let mut watch = Box::new(Watch {
        uv,
        uv_loop,
        env,
        port: port.clone(),
        pipe,
        descriptor,
        pumped: reference,
        hook: ptr::null_mut(),
        closing: false,
        poll: HandleMemory::new(uv, POLL),
        prepare: HandleMemory::new(uv, PREPARE),
        open: 2,
    });
    let (poll, prepare) = (watch.poll.handle(), watch.prepare.handle());
    // SAFETY: the memory is as large as libuv wants it; the descriptor is open until the handle is closed.
    if unsafe { (uv.poll_init)(uv_loop, poll, watch.descriptor.as_raw_fd()) } != 0 {
        // SAFETY: the reference was made above, and nobody else has it.
        unsafe { sys::napi_delete_reference(env, reference) };
        return Ok(false);
    }
    let watch = Box::into_raw(watch);
    // SAFETY: the handles are initialised, which cannot fail for the second, and from now on own `watch`, until `closed` takes it back.
    unsafe {
        (uv.prepare_init)(uv_loop, prepare);
        for handle in [poll, prepare] {
            (uv.set_data)(handle, watch.cast());
            // Sessions keep the loop alive, not their pipes.
            (uv.unref)(handle);
        }
        sys::napi_add_async_cleanup_hook(env, Some(torn_down), watch.cast(), &mut (*watch).hook);
        (uv.prepare_start)(prepare, before_sleep);
        if (uv.poll_start)(poll, READABLE, readable) != 0 {
            (*watch).close();
            return Ok(false);
        }
    }
    Ok(true)
}

impl Watch {
    /// Begins to close the handles, on the thread of the loop; `closed` is called when that is done.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.closing, true) {
            for memory in [&mut self.poll, &mut self.prepare] {
                // SAFETY: the handle is initialised and not being closed.
                unsafe { (self.uv.close)(memory.handle(), closed) };
            }
        }
    }

    /// Calls `pumped` as an event of the loop: with what it has queued, promises for instance.
    unsafe fn tell(env: sys::napi_env, pumped: sys::napi_ref, watched: bool) {
        let (mut scope, mut function, mut this) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: on the thread of `env`, within a scope of its own; null is a context that nobody traces.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut scope) != sys::Status::napi_ok {
                return;
            }
            sys::napi_get_reference_value(env, pumped, &mut function);
            sys::napi_get_global(env, &mut this);
            if let Ok(watched) = bool::to_napi_value(env, watched) {
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

unsafe extern "C" fn readable(handle: Handle, status: c_int, _events: c_int) {
    let Some(uv) = Uv::of_process() else { return };
    // SAFETY: the data is the `Watch` that was set, alive until `closed`. No reference to it is held while JavaScript runs.
    unsafe {
        let watch: *mut Watch = (uv.get_data)(handle).cast();
        let (port, pipe, env, pumped) = (&(*watch).port, (*watch).pipe, (*watch).env, (*watch).pumped);
        let kept = catch_unwind(AssertUnwindSafe(|| port.pump(pipe)));
        let watched = status == 0 && matches!(kept, Ok(Ok(true)));
        if !watched {
            (*watch).close();
        }
        Watch::tell(env, pumped, watched);
    }
}

/// The loop has done what was ready. What comes next may be there sooner than a sleeping core wakes.
unsafe extern "C" fn before_sleep(handle: Handle) {
    let Some(uv) = Uv::of_process() else { return };
    // SAFETY: as in `readable`. The loop is alive while it runs.
    unsafe {
        let watch: *mut Watch = (uv.get_data)(handle).cast();
        if (uv.backend_timeout)((*watch).uv_loop) != 0 {
            // If it is there, the loop finds it at once, and else sleeps.
            let _ = catch_unwind(AssertUnwindSafe(|| (*watch).port.linger((*watch).pipe)));
        }
    }
}

unsafe extern "C" fn closed(handle: Handle) {
    let Some(uv) = Uv::of_process() else { return };
    // SAFETY: the last handle gives back the `Watch` that both owned. The hook keeps the environment until it is removed, which is last.
    unsafe {
        let watch = (uv.get_data)(handle).cast::<Watch>();
        (*watch).open -= 1;
        if (*watch).open > 0 {
            return;
        }
        let watch = Box::from_raw(watch);
        sys::napi_delete_reference(watch.env, watch.pumped);
        let hook = watch.hook;
        drop(watch);
        if !hook.is_null() {
            sys::napi_remove_async_cleanup_hook(hook);
        }
    }
}

unsafe extern "C" fn torn_down(_: sys::napi_async_cleanup_hook_handle, watch: *mut c_void) {
    // SAFETY: the hook is removed before the `Watch` is gone.
    unsafe { (*watch.cast::<Watch>()).close() };
}
