//! Errors of the bridge in Python: one exception with the error object, which Python code maps to
//! classes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use trunkline_bridge::BridgeError;

create_exception!(
    trunkline._internal._native,
    NativeError,
    PyException,
    "A failure of the bridge. `args` is `(kind, message, code, data)`."
);

/// The exception for an error of this crate.
pub(crate) fn raise(kind: &'static str, message: impl Into<String>) -> PyErr {
    NativeError::new_err((kind, message.into(), None::<i64>, None::<String>))
}

/// The exception for an error of the bridge.
pub(crate) fn from_bridge(py: Python<'_>, error: BridgeError) -> PyErr {
    let data = error.data.as_ref().and_then(|data| crate::decode::decode(py, data.to_string().as_bytes()).ok());
    NativeError::new_err((error.kind.as_str(), error.message, error.code, data.map(Bound::unbind)))
}

/// Runs `body` and converts a panic to an ordinary exception (PyO3's own is a `BaseException`,
/// which `except Exception` misses).
pub(crate) fn contained<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        Err(raise("internal", format!("a bug in the native module: {}", text_of(panic.as_ref()))))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "panic without a message",
    }
}
