//! The failures of functions called without an error parameter.

use std::cell::RefCell;

use crate::edge::failure::{Failure, trunkline_error};

thread_local! {
    static LAST_ERROR: RefCell<Last> = const { RefCell::new(Last { failure: None, lent: None }) };
}

struct Last {
    /// Converted to an error only on request, because many failures, such as a JSON pointer without
    /// a value, are expected.
    failure: Option<Failure>,
    lent: Option<Box<trunkline_error>>,
}

pub(crate) fn keep(failure: Failure) {
    // A thread that is ending has no thread-local storage.
    let _ = LAST_ERROR.try_with(|last| last.borrow_mut().failure = Some(failure));
}

/// The last failure of this thread as an error; valid until the next call on this thread. NULL if
/// there was none.
pub(crate) fn lend() -> *const trunkline_error {
    let lent = LAST_ERROR.try_with(|last| {
        let mut last = last.borrow_mut();
        if let Some(failure) = last.failure.take() {
            last.lent = Some(Box::new(failure.into_error()));
        }
        last.lent.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    });
    lent.unwrap_or(std::ptr::null())
}
