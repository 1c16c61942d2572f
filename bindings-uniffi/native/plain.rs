//! The part of a port that every call needs, as functions of numbers and memory. The functions of
//! uniffi pass buffers and a status as structs, which a virtual machine allocates and frees for
//! each of them.
//!
//! A function that returns [`OTHERWISE`] has done nothing: the host calls the one of uniffi, which
//! does it without these limits, or says why it cannot.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use trunkline_bridge::Shape;
use uniffi::{Handle, Lift};

use crate::{Port, UniFfiTag};

const OTHERWISE: i64 = -1;

/// Returns what the functions below take for a port, of which it consumes a handle as functions of
/// uniffi do. Never freed, so that a late call finds no port there instead of freed memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_uniffi_plain_port(handle: Handle) -> *const c_void {
    let weak = catch_unwind(|| <Arc<Port> as Lift<UniFfiTag>>::try_lift(handle).map(|port| Arc::downgrade(&port)));
    match weak {
        Ok(Ok(weak)) => Box::into_raw(Box::new(weak)).cast_const().cast(),
        _ => std::ptr::null(),
    }
}

/// Takes events as `drain` does, and writes them in the form that `drain` gives them. Returns its
/// length, or [`OTHERWISE`] if they do not fit: `drain` returns them next.
///
/// # Safety
/// `port` is from [`trunkline_uniffi_plain_port`], and `buffer` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_uniffi_plain_drain(
    port: *const c_void,
    max: u32,
    wait_ms: u32,
    buffer: *mut u8,
    size: u32,
) -> i64 {
    // SAFETY: promised by the host.
    let port = unsafe { port_of(port) };
    contained(port, |port| {
        let written = port.take_if_they_fit(max, wait_ms, usize::try_from(size).ok()?).ok()??;
        // SAFETY: promised by the host, and these are not more.
        unsafe { std::ptr::copy_nonoverlapping(written.as_ptr(), buffer, written.len()) }
        i64::try_from(written.len()).ok()
    })
}

/// Waits until an event has been pending for `grace_us` while nobody drained it, or the port has
/// ended. Returns 1 then, and 0 after `wait_ms`.
///
/// # Safety
/// `port` is from [`trunkline_uniffi_plain_port`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_uniffi_plain_stand_by(port: *const c_void, grace_us: u32, wait_ms: u32) -> i64 {
    // SAFETY: promised by the host.
    let port = unsafe { port_of(port) };
    contained(port, |port| port.core.stand_by(grace_us.into(), wait_ms.into()).ok().map(i64::from))
}

/// Answers a call as `complete` does. Returns 1, or 0 if it is already done.
///
/// # Safety
/// `port` is from [`trunkline_uniffi_plain_port`], and `body` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_uniffi_plain_complete(
    port: *const c_void,
    ticket: u64,
    shape: u8,
    body: *const u8,
    size: u32,
) -> i64 {
    // SAFETY: promised by the host.
    let (port, body) = unsafe { (port_of(port), bytes_at(body, size)) };
    contained(port, |port| {
        let shape = Shape::from_number(shape)?;
        port.core.complete(ticket, shape, Bytes::copy_from_slice(body)).ok().map(i64::from)
    })
}

/// Sends a notification as `notify` does. Returns 0.
///
/// # Safety
/// `port` is from [`trunkline_uniffi_plain_port`], and `json` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_uniffi_plain_notify(
    port: *const c_void,
    target: u64,
    json: *const u8,
    size: u32,
) -> i64 {
    // SAFETY: promised by the host.
    let (port, json) = unsafe { (port_of(port), bytes_at(json, size)) };
    contained(port, |port| port.core.notify(target, json).ok().map(|()| 0))
}

/// # Safety
/// `port` is from [`trunkline_uniffi_plain_port`].
unsafe fn port_of(port: *const c_void) -> Option<Arc<Port>> {
    // SAFETY: promised by the caller; it is never freed.
    unsafe { port.cast::<Weak<Port>>().as_ref() }?.upgrade()
}

/// # Safety
/// There are `size` bytes, which stay as they are during the call.
unsafe fn bytes_at<'a>(first: *const u8, size: u32) -> &'a [u8] {
    match usize::try_from(size) {
        // SAFETY: promised by the caller.
        Ok(size) if size > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, size) },
        _ => &[],
    }
}

/// A panic must not unwind into the host.
fn contained(port: Option<Arc<Port>>, run: impl FnOnce(&Port) -> Option<i64>) -> i64 {
    let found = catch_unwind(AssertUnwindSafe(|| port.and_then(|port| run(&port))));
    found.ok().flatten().unwrap_or(OTHERWISE)
}
