//! Encodes Python objects as JSON by walking the built-in types.
//!
//! Models, dataclasses, enums and dates are converted to built-in types in Python first; anything
//! else is an error that names the path. Lone surrogates, which UTF-8 cannot represent, become
//! U+FFFD.

use std::borrow::Cow;
use std::fmt::Write;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;

use crate::decode::MAX_DEPTH;

/// Encodes `value` as JSON.
///
/// # Errors
/// `TypeError` for a type that JSON does not have, `ValueError` for NaN, infinities and excessive
/// nesting.
pub(crate) fn encode(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    encode_or(value, Wrong::into_exception)
}

/// Encodes a message with options. `refused` creates the exception from a path, such as
/// `options.pageSize`, and the problem there.
///
/// # Errors
/// As for `encode`.
pub(crate) fn encode_options(value: &Bound<'_, PyAny>, refused: impl FnOnce(&str, &str) -> PyErr) -> PyResult<Vec<u8>> {
    encode_or(value, |wrong| {
        // Without a path, the whole message is invalid.
        if wrong.steps.is_empty() || !wrong.is_of_value(value.py()) {
            return wrong.into_exception();
        }
        let (path, what) = (wrong.path(), wrong.what.value(value.py()).to_string());
        refused(path.trim_start_matches(['$', '.']), &what)
    })
}

fn encode_or(value: &Bound<'_, PyAny>, refused: impl FnOnce(Wrong) -> PyErr) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, value, 0).map_err(refused)?;
    Ok(out)
}

/// An error and its path. The path is built as the walk returns, so that a valid value costs
/// nothing.
struct Wrong {
    steps: Vec<EncodeStep>,
    what: PyErr,
}

enum EncodeStep {
    Key(String),
    Index(usize),
}

fn write(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Wrong> {
    if let Ok(text) = value.cast::<PyString>() {
        write_text(out, text)?;
    } else if value.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if let Ok(integer) = value.cast::<PyInt>() {
        write_integer(out, integer)?;
    } else if let Ok(float) = value.cast::<PyFloat>() {
        write_float(out, float.value())?;
    } else if let Ok(object) = value.cast::<PyDict>() {
        // Without the GIL, other threads could modify it concurrently.
        with_critical_section(object, || write_members(out, object, depth))?;
    } else if let Ok(list) = value.cast::<PyList>() {
        write_array(out, list.iter(), depth)?;
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        write_array(out, tuple.iter(), depth)?;
    } else {
        let message = format!("a value of type {} cannot be written as JSON", type_name(value));
        return Err(PyTypeError::new_err(message).into());
    }
    Ok(())
}

fn write_members(out: &mut Vec<u8>, object: &Bound<'_, PyDict>, depth: usize) -> Result<(), Wrong> {
    check_depth(depth)?;
    out.push(b'{');
    for (position, (key, value)) in object.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err(format!("keys must be str, not {}", type_name(&key))).into());
        };
        write_text(out, key)?;
        out.push(b':');
        write(out, &value, depth + 1).map_err(|wrong| wrong.under(EncodeStep::Key(key.to_string())))?;
    }
    out.push(b'}');
    Ok(())
}

fn write_array<'py>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Result<(), Wrong> {
    check_depth(depth)?;
    out.push(b'[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(out, &item, depth + 1).map_err(|wrong| wrong.under(EncodeStep::Index(position)))?;
    }
    out.push(b']');
    Ok(())
}

fn write_text(out: &mut Vec<u8>, text: &Bound<'_, PyString>) -> Result<(), Wrong> {
    write_json(out, &*utf8(text)?)
}

fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), Wrong> {
    serde_json::to_writer(out, value).map_err(|error| PyValueError::new_err(error.to_string()).into())
}

/// The string as UTF-8, with each lone surrogate replaced by U+FFFD.
///
/// # Errors
/// If the interpreter runs out of memory.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = text.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let units: Vec<u8> = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?.extract()?;
    let units = units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn write_integer(out: &mut Vec<u8>, integer: &Bound<'_, PyInt>) -> Result<(), Wrong> {
    if let Ok(small) = integer.extract::<i64>() {
        return write_json(out, &small);
    }
    // `int.__repr__`, because a subclass such as an enum may override it.
    let digits = integer.py().get_type::<PyInt>().call_method1("__repr__", (integer,))?;
    out.extend_from_slice(digits.extract::<String>()?.as_bytes());
    Ok(())
}

fn write_float(out: &mut Vec<u8>, float: f64) -> Result<(), Wrong> {
    if float.is_finite() {
        return write_json(out, &float);
    }
    let message = format!("{float} cannot be represented in JSON: give None or a string");
    Err(PyValueError::new_err(message).into())
}

fn check_depth(depth: usize) -> Result<(), Wrong> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    let message = format!("nested deeper than {MAX_DEPTH} levels (does it contain itself?)");
    // The path would be as long as the nesting, so only report where the walk stopped.
    Err(PyValueError::new_err(message).into())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().qualname().map_or_else(|_| "value".to_owned(), |name| name.to_string())
}

impl From<PyErr> for Wrong {
    fn from(what: PyErr) -> Self {
        Self { steps: Vec::new(), what }
    }
}

impl Wrong {
    /// Longer paths are truncated.
    const MAX_PATH_STEPS: usize = 16;

    fn under(mut self, step: EncodeStep) -> Self {
        self.steps.push(step);
        self
    }

    /// The path in Python syntax, with `$` for the value itself.
    fn path(&self) -> String {
        let mut path = String::from("$");
        for step in self.steps.iter().rev().take(Self::MAX_PATH_STEPS) {
            let _ = match step {
                EncodeStep::Key(key) => write!(path, ".{key}"),
                EncodeStep::Index(index) => write!(path, "[{index}]"),
            };
        }
        if self.steps.len() > Self::MAX_PATH_STEPS {
            path.push('…');
        }
        path
    }

    /// Returns whether the error is about the value rather than the interpreter.
    fn is_of_value(&self, py: Python<'_>) -> bool {
        self.what.is_instance_of::<PyTypeError>(py) || self.what.is_instance_of::<PyValueError>(py)
    }

    fn into_exception(self) -> PyErr {
        Python::attach(|py| {
            let message = format!("{}: {}", self.path(), self.what.value(py));
            if self.what.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err(message)
            } else if self.what.is_instance_of::<PyValueError>(py) {
                PyValueError::new_err(message)
            } else {
                self.what
            }
        })
    }
}
