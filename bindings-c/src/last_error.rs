//! Why a function failed that was given no place for its error.

use std::cell::RefCell;

use crate::error::{Failure, trunkline_error};
use crate::ffi::contain;

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { failure: None, lent: None }) };
}

struct Last {
    /// Made into an error only if somebody asks: many failures, such as of a JSON pointer that leads nowhere, are expected.
    failure: Option<Failure>,
    lent: Option<Box<trunkline_error>>,
}

pub(crate) fn keep(failure: Failure) {
    // A thread that is ending has no place any more, and nobody who asks.
    let _ = LAST.try_with(|last| last.borrow_mut().failure = Some(failure));
}

/// Why the last function of the library that failed on this thread did so, among those that have no `error` or were given NULL for
/// it; success changes nothing. Borrowed: valid until this function is called again on this thread. NULL if none failed.
#[unsafe(no_mangle)]
pub extern "C" fn trunkline_last_error() -> *const trunkline_error {
    contain(std::ptr::null(), || {
        let lent = LAST.try_with(|last| {
            let mut last = last.borrow_mut();
            if let Some(failure) = last.failure.take() {
                last.lent = Some(Box::new(failure.into_error()));
            }
            last.lent.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
        });
        lent.unwrap_or(std::ptr::null())
    })
}
