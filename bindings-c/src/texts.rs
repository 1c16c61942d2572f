//! Exported functions of strings and errors.

use std::ffi::{CStr, c_char};

use crate::edge::last_error;
use crate::edge::prelude::*;
use crate::generated::errors::NAMES;

/// Wraps a NUL-terminated string without copying it. NULL gives the empty string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_str_of(string: *const c_char) -> trunkline_str {
    if string.is_null() {
        return trunkline_str::empty();
    }
    // SAFETY: the conventions of the header: a `const char *` is NULL or ends with a NUL byte.
    trunkline_str { data: string, len: unsafe { CStr::from_ptr(string) }.count_bytes() }
}

/// Borrows the string; valid until the text is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_text_str(text: *const trunkline_text) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(text).0.lend()))
}

/// Copies a string. The caller owns the copy; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_text_copy(from: trunkline_str, text: *mut *mut trunkline_text) -> trunkline_result {
    guard_result(|| out!(text).finish(Text::copy(text!(from)).give()))
}

/// Frees a string. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_text_free(text: *mut trunkline_text) {
    free!(text)
}

/// The version of the library, such as "0.1.0". Static: never freed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_version() -> trunkline_str {
    let version = concat!(env!("CARGO_PKG_VERSION"), "\0");
    trunkline_str { data: version.as_ptr().cast(), len: version.len() - 1 }
}

/// The result code of the failure, as returned by the function. `TRUNKLINE_OK` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_error_kind(error: *const trunkline_error) -> trunkline_result {
    value_or(trunkline_result::TRUNKLINE_OK, || Ok(handle!(error).result))
}

/// The NUL-terminated message: what was wrong, where, and what to do. Borrowed: valid until the
/// error is freed. "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_error_message(error: *const trunkline_error) -> *const c_char {
    value_or(c"".as_ptr(), || Ok(handle!(error).message.as_ptr()))
}

/// The JSON-RPC error code of a `TRUNKLINE_PROTOCOL` failure, otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_error_code(error: *const trunkline_error) -> i64 {
    value_or(0, || Ok(handle!(error).error.code.unwrap_or(0)))
}

/// The error as JSON: `{"kind", "message", "code", "data"}`, `code` only for
/// `TRUNKLINE_PROTOCOL`, `data` also for `TRUNKLINE_TRANSPORT` and `TRUNKLINE_INPUT_REQUIRED`.
/// Borrowed: `json` is valid until the error is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_error_json(
    error: *const trunkline_error,
    json: *mut trunkline_str,
) -> trunkline_result {
    guard_result(|| out!(json).finish(handle!(error).json.lend()))
}

/// A `trunkline_result` as C may pass it: any number.
pub type trunkline_result_number = u32;

/// The NUL-terminated name of a result code, such as "timeout". Static: never freed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_result_name(result: trunkline_result_number) -> *const c_char {
    let known = NAMES.iter().find(|(known, _)| *known as u32 == result);
    known.map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// Frees an error. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_error_free(error: *mut trunkline_error) {
    free!(error)
}

/// The failure of the last function that failed on this thread and had no `error` parameter, or got
/// NULL for it. Success does not change it. Borrowed: valid until this function is called again on
/// this thread. NULL if no function has failed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_last_error() -> *const trunkline_error {
    last_error::lend()
}
