//! Errors of the bridge in Python: the package creates the exception of its kind.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use trunkline_bridge::BridgeError;

/// The function that creates the exception for a kind, message, code and data.
static MAKE_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Sets the function that creates exceptions.
#[pyfunction]
pub(crate) fn raise_with(py: Python<'_>, make: Py<PyAny>) {
    MAKE_ERROR.get_or_init(py, || make);
}

/// The exception for an error of this crate.
pub(crate) fn raise(kind: &str, message: impl AsRef<str>) -> PyErr {
    Python::attach(|py| exception(py, kind, message.as_ref(), None, None))
}

/// The exception for an error of the bridge.
pub(crate) fn from_bridge(error: BridgeError) -> PyErr {
    Python::attach(|py| {
        let data = error.data.as_ref().and_then(|data| crate::decode::decode(py, data.to_string().as_bytes()).ok());
        exception(py, error.kind.as_str(), &error.message, error.code, data)
    })
}

fn exception(py: Python<'_>, kind: &str, message: &str, code: Option<i64>, data: Option<Bound<'_, PyAny>>) -> PyErr {
    let Some(make) = MAKE_ERROR.get(py) else { return PyRuntimeError::new_err(message.to_owned()) };
    make.bind(py).call1((kind, message, code, data)).map_or_else(|error| error, PyErr::from_value)
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
