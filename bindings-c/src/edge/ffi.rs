//! The FFI layer: panics become a result code, pointers become references, outputs are only written
//! on success.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use trunkline_bridge::ErrorKind;

use crate::edge::failure::{Failure, trunkline_error, trunkline_result};

/// Runs the body of an exported function, and converts its outcome to a result code and, if the
/// caller passed a place for it, an error object.
pub(crate) fn guard(error: *mut *mut trunkline_error, body: impl FnOnce() -> Result<(), Failure>) -> trunkline_result {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return trunkline_result::TRUNKLINE_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = format!("libtrunkline panicked: {}", panic_text(&*panic));
            Failure::new(trunkline_result::TRUNKLINE_PANIC, ErrorKind::Internal, message)
        }
    };
    let result = failure.result;
    match NonNull::new(error) {
        // SAFETY: the conventions of the header: a pointer for output is NULL or points to writable
        // memory of its type.
        Some(error) => unsafe { error.write(give(failure.into_error())) },
        None => crate::edge::last_error::keep(failure),
    }
    result
}

/// [`guard`] for a function without an error argument: `trunkline_last_error` returns the failure.
pub(crate) fn guard_result(body: impl FnOnce() -> Result<(), Failure>) -> trunkline_result {
    guard(std::ptr::null_mut(), body)
}

/// Runs the body of an exported function that returns a value and cannot report a failure; on
/// failure it returns `fallback`.
pub(crate) fn value_or<T>(fallback: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    catch_unwind(AssertUnwindSafe(body)).ok().and_then(Result::ok).unwrap_or(fallback)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// An output location passed by the caller.
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// `pointer` is NULL or valid for a write until the exported function returns.
    pub(crate) unsafe fn new(pointer: *mut T) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    pub(crate) fn put(self, value: T) {
        // SAFETY: `new` was given a pointer that is valid for a write until the exported function
        // returns.
        unsafe { self.0.write(value) }
    }

    /// Writes the value, as the last step of an exported function.
    pub(crate) fn finish(self, value: T) -> Result<(), Failure> {
        self.put(value);
        Ok(())
    }
}

/// An argument that must not be NULL.
pub(crate) fn required<T>(argument: Option<T>, name: &str) -> Result<T, Failure> {
    argument.ok_or_else(|| Failure::null(name))
}

/// Passes an object to the caller, who frees it with its `_free` function.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// A handle argument that may be NULL.
macro_rules! optional {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or an object of this library that was not
        // freed.
        unsafe { $pointer.as_ref() }
    };
}

/// A handle argument as a reference, or the failure that names it.
macro_rules! handle {
    ($pointer:ident) => {
        $crate::edge::ffi::required($crate::edge::ffi::optional!($pointer), stringify!($pointer))?
    };
}

/// An object without a lock, which the function changes.
macro_rules! handle_mut {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or an object that was not freed and that no
        // other thread uses meanwhile.
        $crate::edge::ffi::required(unsafe { $pointer.as_mut() }, stringify!($pointer))?
    };
}

/// A call argument that is kept after the function returns.
macro_rules! kept {
    ($call:ident) => {{
        let call = std::ptr::from_ref($crate::edge::ffi::handle!($call));
        // SAFETY: the conventions of the header: a call that is alive; each one is inside an `Arc`,
        // made when it began.
        unsafe {
            std::sync::Arc::increment_strong_count(call);
            std::sync::Arc::from_raw(call)
        }
    }};
}

/// An output argument that may be NULL.
macro_rules! optional_out {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or writable memory of its type.
        unsafe { $crate::edge::ffi::Out::new($pointer) }
    };
}

/// An output argument.
macro_rules! out {
    ($pointer:ident) => {
        $crate::edge::ffi::required($crate::edge::ffi::optional_out!($pointer), stringify!($pointer))?
    };
}

/// A string argument.
macro_rules! text {
    ($text:ident) => {
        // SAFETY: the conventions of the header: `data` points to `len` readable bytes during the
        // call.
        unsafe { $text.read(stringify!($text)) }?
    };
}

/// A string argument that may contain any bytes.
macro_rules! bytes {
    ($text:ident) => {
        // SAFETY: the conventions of the header: `data` points to `len` readable bytes during the
        // call.
        unsafe { $text.read_bytes(stringify!($text)) }?
    };
}

/// A message for people, such as that of an exception: what is not UTF-8 in it becomes U+FFFD.
macro_rules! lossy {
    ($text:ident) => {
        &String::from_utf8_lossy($crate::edge::ffi::bytes!($text))
    };
}

/// An array argument; NULL is allowed if it is empty.
macro_rules! slice {
    ($pointer:ident, $count:ident) => {
        // SAFETY: the conventions of the header: so many readable elements during the call.
        unsafe { $crate::edge::text::elements($pointer, $count, stringify!($pointer)) }?
    };
}

/// An output argument that may be NULL, as a function that writes it if it isn't.
macro_rules! out_or_null {
    ($pointer:ident) => {{
        let output = $crate::edge::ffi::optional_out!($pointer);
        move |value| _ = output.map(|output| output.put(value))
    }};
}

/// Frees an object that [`give`] passed to the caller.
macro_rules! free {
    ($pointer:ident) => {
        $crate::edge::ffi::value_or((), || {
            if !$pointer.is_null() {
                // SAFETY: the conventions of the header: an object of this library that is not used
                // afterwards.
                drop(unsafe { Box::from_raw($pointer) });
            }
            Ok(())
        })
    };
}

pub(crate) use {bytes, free, handle, handle_mut, kept, lossy, optional, optional_out, out, out_or_null, slice, text};
