//! The FFI layer: panics become a result code, pointers become references, outputs are only written
//! on success.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::edge::failure::{Failure, trunkline_error, trunkline_result};

/// Runs the body of an exported function, and converts its outcome to a result code and, if the
/// caller passed a place for it, an error object.
pub(crate) fn guard(error: *mut *mut trunkline_error, body: impl FnOnce() -> Result<(), Failure>) -> trunkline_result {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return trunkline_result::TRUNKLINE_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::panicked(panic_text(&*panic)),
    };
    let result = failure.result;
    match NonNull::new(error) {
        // SAFETY: the conventions of the header: a pointer for output is NULL or points to writable
        // memory of its type.
        Some(error) => unsafe { error.write(failure.into_raw()) },
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

/// Runs the body of an exported function that cannot fail; a panic returns `fallback`.
pub(crate) fn contain<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// An output location passed by the caller.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    pub(crate) fn put(self, value: T) {
        // SAFETY: `output` was given a pointer that is valid for a write until the exported
        // function returns.
        unsafe { self.0.write(value) }
    }

    /// Writes the value, as the last step of an exported function.
    pub(crate) fn finish(self, value: T) -> Result<(), Failure> {
        self.put(value);
        Ok(())
    }
}

/// # Safety
/// `pointer` is NULL or valid for a write until the exported function returns.
pub(crate) unsafe fn output<T>(pointer: *mut T, name: &str) -> Result<Out<T>, Failure> {
    NonNull::new(pointer).map(Out).ok_or_else(|| Failure::null(name))
}

/// # Safety
/// `pointer` is NULL or came from this library, was not freed, and stays alive for `'a`.
pub(crate) unsafe fn borrow<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: promised by the caller.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// # Safety
/// As [`borrow`], and nobody else uses the object meanwhile.
pub(crate) unsafe fn borrow_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: promised by the caller.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::null(name))
}

/// # Safety
/// `pointer` is NULL or came from [`give`] and is not used afterwards.
pub(crate) unsafe fn take<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: promised by the caller; `give` made the box.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Passes an object to the caller, who frees it with its `_free` function.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// A handle argument as a reference, or the failure that names it.
macro_rules! handle {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or an object of this library that was not
        // freed.
        unsafe { $crate::edge::ffi::borrow($pointer, stringify!($pointer)) }?
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

/// An object that may be NULL.
macro_rules! optional {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or an object of this library that was not
        // freed.
        unsafe { $pointer.as_ref() }
    };
}

/// An output argument.
macro_rules! out {
    ($pointer:ident) => {
        // SAFETY: the conventions of the header: NULL, or writable memory of its type.
        unsafe { $crate::edge::ffi::output($pointer, stringify!($pointer)) }?
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

/// An array argument; NULL is allowed if it is empty.
macro_rules! slice {
    ($pointer:ident, $count:ident) => {
        match ($pointer.is_null(), $count) {
            (_, 0) => &[],
            (true, _) => return Err($crate::edge::failure::Failure::null(stringify!($pointer))),
            // SAFETY: the conventions of the header: so many readable elements during the call.
            (false, count) => unsafe { std::slice::from_raw_parts($pointer, count) },
        }
    };
}

/// An output argument that may be NULL: returns a function that writes it, or does nothing if it is
/// NULL.
macro_rules! out_or_null {
    ($pointer:ident) => {{
        // SAFETY: the conventions of the header: NULL, or writable memory of its type.
        let output = unsafe { $crate::edge::ffi::output($pointer, stringify!($pointer)) }.ok();
        |value| {
            if let Some(output) = output {
                output.put(value);
            }
        }
    }};
}

/// Frees an object that the library passed to the caller.
macro_rules! free {
    ($pointer:ident) => {
        $crate::edge::ffi::contain((), || {
            // SAFETY: the conventions of the header: NULL, or an object of this library that is not
            // used afterwards.
            unsafe { $crate::edge::ffi::take($pointer) }
        })
    };
}

pub(crate) use {bytes, free, handle, kept, optional, out, out_or_null, slice, text};
