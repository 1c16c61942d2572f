//! The native half of the Python package: moves values and lifetimes between the interpreter and
//! the core's bridge.
//!
//! It knows no protocol word. The public API, its defaults and its errors are written in Python, in
//! `python/trunkline`.

mod bell;
mod decode;
mod encode;
mod error;
mod port;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("NativeError", module.py().get_type::<error::NativeError>())?;
    module.add_function(wrap_pyfunction!(port::to_json, module)?)?;
    module.add_function(wrap_pyfunction!(port::from_json, module)?)?;
    module.add_class::<port::Port>()
}
