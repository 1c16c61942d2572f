//! Functions without `trunkline_str` by value: what a server and a client need from a language
//! whose FFI cannot pass structs. Those that only convert their arguments are in
//! `generated/plain.rs`.

use std::ffi::c_char;

use crate::edge::prelude::*;
use crate::listener::{trunkline_listener, trunkline_listener_url};
use crate::texts::{trunkline_text_str, trunkline_version};

/// The bytes of a string passed to a callback or an output argument, and their number. `len` may be
/// NULL. Borrowed: valid as long as the string. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_str(text: *const trunkline_str, len: *mut usize) -> *const c_char {
    lend(value_or(trunkline_str::empty(), || Ok(*handle!(text))), len)
}

/// The bytes of a string created by the library, and their number. `len` may be NULL. Borrowed:
/// valid until the string is freed. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_text(text: *const trunkline_text, len: *mut usize) -> *const c_char {
    // SAFETY: the same arguments under the same conventions, here and below.
    lend(unsafe { trunkline_text_str(text) }, len)
}

/// The version of the library, such as "0.1.0". Static: never freed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_plain_version() -> *const c_char {
    trunkline_version().data
}

/// The URL of an HTTP listener; see `trunkline_listener_url`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_plain_listener_url(listener: *const trunkline_listener) -> *const c_char {
    unsafe { trunkline_listener_url(listener) }.data
}

/// Lends a string as `const char *`.
pub(crate) fn lend(text: trunkline_str, len: *mut usize) -> *const c_char {
    out_or_null!(len)(text.len);
    text.data
}
