//! Text.

use std::ffi::{CStr, c_char};

use crate::edge::prelude::*;

/// Wraps a NUL-terminated string without copying it. NULL gives the empty string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_str_of(string: *const c_char) -> trunkline_str {
    contain(trunkline_str::empty(), || {
        if string.is_null() {
            return trunkline_str::empty();
        }
        // SAFETY: the conventions of the header: a `const char *` is NULL or ends with a NUL byte.
        trunkline_str { data: string, len: unsafe { CStr::from_ptr(string) }.count_bytes() }
    })
}

/// Borrows the string; valid until the text is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_text_str(text: *const trunkline_text) -> trunkline_str {
    value_or(trunkline_str::empty(), || Ok(handle!(text).0.lend()))
}

/// Copies a string. The caller owns the copy; free it with `trunkline_text_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_text_copy(from: trunkline_str, text: *mut *mut trunkline_text) -> trunkline_result {
    guard_result(|| {
        let (from, text) = (text!(from), out!(text));
        text.finish(Text::copy(from.as_bytes()).give())
    })
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
