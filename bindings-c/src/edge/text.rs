//! Strings: borrowed (`trunkline_str`) and owned (`trunkline_text`).

use std::ffi::c_char;

use crate::edge::failure::Failure;

/// A borrowed UTF-8 string: a pointer and a length. A string that you pass needs no final NUL byte,
/// and is only read during the call. A string from the library is followed by a NUL byte that `len`
/// does not count (except for slices of your own strings).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct trunkline_str {
    /// The first byte; may be NULL if `len` is 0.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

/// A string that the library created for you. Free it with `trunkline_text_free`.
pub struct trunkline_text(pub(crate) Text);

impl trunkline_str {
    /// The text as the caller passed it.
    ///
    /// # Safety
    /// `data` is NULL or points to `len` bytes that are readable and unchanged for `'a`.
    pub(crate) unsafe fn read<'a>(self, name: &str) -> Result<&'a str, Failure> {
        // SAFETY: promised by the caller.
        std::str::from_utf8(unsafe { self.read_bytes(name) }?)
            .map_err(|reason| Failure::invalid(format!("the argument `{name}` is not UTF-8: {reason}")))
    }

    /// The bytes as the caller passed them.
    ///
    /// # Safety
    /// As [`trunkline_str::read`].
    pub(crate) unsafe fn read_bytes<'a>(self, name: &str) -> Result<&'a [u8], Failure> {
        // SAFETY: promised by the caller.
        unsafe { elements(self.data.cast(), self.len, name) }
    }

    pub(crate) fn empty() -> Self {
        Self { data: c"".as_ptr(), len: 0 }
    }

    /// A slice of a string that the caller already has.
    pub(crate) fn slice(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }
}

/// An owned string with the final NUL byte that the header promises.
#[derive(Debug, Clone)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        let mut bytes = text.into();
        bytes.reserve_exact(1);
        bytes.push(0);
        Self(bytes)
    }

    pub(crate) fn copy(bytes: impl AsRef<[u8]>) -> Self {
        Self([bytes.as_ref(), b"\0"].concat())
    }

    pub(crate) fn as_str(&self) -> Result<&str, Failure> {
        std::str::from_utf8(&self.0[..self.0.len() - 1]).map_err(Failure::internal)
    }

    /// Lends the string; valid while `self` is alive and not moved out.
    pub(crate) fn lend(&self) -> trunkline_str {
        trunkline_str { data: self.0.as_ptr().cast(), len: self.0.len() - 1 }
    }

    pub(crate) fn give(self) -> *mut trunkline_text {
        Box::into_raw(Box::new(trunkline_text(self)))
    }
}

/// The elements of an array; NULL is allowed if it is empty.
///
/// # Safety
/// `first` is NULL or points to `count` elements that are readable and unchanged for `'a`.
pub(crate) unsafe fn elements<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    match count.checked_mul(size_of::<T>()).map(isize::try_from) {
        _ if count == 0 => Ok(&[]),
        _ if first.is_null() => Err(Failure::null(name)),
        // SAFETY: promised by the caller.
        Some(Ok(_)) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
        _ => Err(Failure::invalid(format!("the length of the argument `{name}` is impossible: {count}"))),
    }
}
