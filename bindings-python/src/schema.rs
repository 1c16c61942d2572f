//! JSON Schemas for values that the core does not check: strings parsed by the package, and the
//! members of unions.

use pyo3::prelude::*;
use serde_json::Value;

use crate::decode::decode;
use crate::encode::encode;
use crate::error::{contained, raise};

/// A compiled schema.
#[pyclass(name = "Schema", frozen, module = "trunkline._internal._native")]
pub(crate) struct SchemaObject(trunkline_bridge::Schema);

#[pymethods]
impl SchemaObject {
    #[new]
    fn new(json: &Bound<'_, PyAny>) -> PyResult<Self> {
        contained(|| trunkline_bridge::Schema::compile(&read(json)?).map(Self).map_err(|error| refused(&error)))
    }

    /// The location (a JSON pointer) and description of the first error in a value, or `None` if it
    /// is valid.
    fn problem(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<(String, String)>> {
        contained(|| {
            let fault = self.0.validate(&read(value)?).err();
            Ok(fault.and_then(|fault| fault.failures().first().map(|one| (one.path.clone(), one.text.clone()))))
        })
    }
}

/// The members of an `anyOf`.
#[pyclass(name = "Alternatives", frozen, module = "trunkline._internal._native")]
pub(crate) struct AlternativesObject(trunkline_bridge::Alternatives);

#[pymethods]
impl AlternativesObject {
    #[new]
    fn new(json: &Bound<'_, PyAny>) -> PyResult<Self> {
        contained(|| trunkline_bridge::Alternatives::compile(read(json)?).map(Self).map_err(|error| refused(&error)))
    }

    /// The positions of the members that a value matches, best match first.
    fn fitting(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        contained(|| Ok(self.0.fitting(&read(value)?)))
    }
}

/// The schema of an elicitation form from that of the class `name`.
#[pyfunction]
pub(crate) fn form_schema<'py>(py: Python<'py>, name: &str, schema: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    contained(|| {
        let form = trunkline_bridge::form_schema(name, &read(schema)?).map_err(|error| refused(&error))?;
        decode(py, form.to_string().as_bytes()).map_err(|error| refused(&error))
    })
}

fn read(json: &Bound<'_, PyAny>) -> PyResult<Value> {
    serde_json::from_slice(&encode(json)?).map_err(|error| refused(&error))
}

fn refused(error: &dyn std::fmt::Display) -> PyErr {
    raise("invalidArgument", error.to_string())
}
