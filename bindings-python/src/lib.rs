//! The native half of the Python package: moves values and manages lifetimes between the
//! interpreter and the core's bridge.
//!
//! It contains no protocol names. The public API, its defaults and its errors are written in
//! Python, in `python/trunkline`.

mod bell;
mod decode;
mod descriptor;
mod encode;
mod error;
mod port;
mod schema;

use pyo3::prelude::*;

// Nothing here relies on the GIL: objects are frozen, their contents have their own locks, and no
// lock is held while Python runs.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(error::raise_with, module)?)?;
    module.add_function(wrap_pyfunction!(port::to_json, module)?)?;
    module.add_function(wrap_pyfunction!(port::from_json, module)?)?;
    module.add_function(wrap_pyfunction!(port::write_stderr, module)?)?;
    module.add_function(wrap_pyfunction!(schema::form_schema, module)?)?;
    module.add_class::<schema::SchemaObject>()?;
    module.add_class::<schema::AlternativesObject>()?;
    module.add_class::<port::Port>()
}
