//! Descriptors that the host passes to the core and back.

use std::fs::File;

#[cfg(unix)]
use pyo3::PyResult;

/// Duplicates a descriptor, so the host may close its own at any time.
#[cfg(unix)]
pub(crate) fn duplicate(descriptor: i32) -> PyResult<std::os::fd::OwnedFd> {
    use std::os::fd::BorrowedFd;

    let unusable = |reason: &dyn std::fmt::Display| {
        crate::error::raise("invalidArgument", format!("the descriptor {descriptor} is not open: {reason}"))
    };
    if descriptor < 0 {
        return Err(unusable(&"it is negative"));
    }
    // SAFETY: the descriptor is not negative, and it is only borrowed for the duplication, which
    // fails if it is not open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().map_err(|reason| unusable(&reason))
}

/// Gives a descriptor to the host, which closes it.
#[cfg(unix)]
pub(crate) fn given_away(descriptor: File) -> Option<i32> {
    use std::os::fd::IntoRawFd;
    Some(descriptor.into_raw_fd())
}

/// Pipes are not handed over on this platform.
#[cfg(not(unix))]
pub(crate) fn given_away(_: File) -> Option<i32> {
    None
}
