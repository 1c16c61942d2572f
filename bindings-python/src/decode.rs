//! Decodes JSON to Python objects, without an intermediate tree.
//!
//! Hand-written, because serde_json passes on numbers as `u64`, `i64` or `f64`, which rounds large
//! integers (and, without features that change its behavior in the whole workspace, the last bit
//! of floats). Python users expect both to be exact. The JSON comes from the core, which has
//! already parsed it, so errors are unusual; it never panics.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use trunkline_bridge::mended;

/// Maximum nesting, so that no peer can exhaust a thread's stack.
pub(crate) const MAX_DEPTH: usize = 512;

/// Decodes one JSON value to a Python object.
pub(crate) fn decode<'py>(py: Python<'py>, json: &[u8]) -> Result<Bound<'py, PyAny>, String> {
    let text = std::str::from_utf8(json).map_err(|error| format!("JSON is not valid UTF-8: {error}"))?;
    let mut reader = BodyReader { py, text, at: 0 };
    let value = reader.value(0)?;
    if reader.peek().is_some() { Err(reader.unexpected()) } else { Ok(value) }
}

struct BodyReader<'py, 'text> {
    py: Python<'py>,
    text: &'text str,
    at: usize,
}

impl<'py, 'text> BodyReader<'py, 'text> {
    fn value(&mut self, depth: usize) -> Result<Bound<'py, PyAny>, String> {
        match self.peek() {
            Some(b'"') => Ok(self.string()?.into_any()),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", PyBool::new(self.py, true).to_owned().into_any()),
            Some(b'f') => self.word("false", PyBool::new(self.py, false).to_owned().into_any()),
            Some(b'n') => self.word("null", self.py.None().into_bound(self.py)),
            _ => Err(self.unexpected()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Bound<'py, PyAny>, String> {
        let object = PyDict::new(self.py);
        self.items(b'}', depth, |reader| {
            if reader.peek() != Some(b'"') {
                return Err(reader.unexpected());
            }
            let key = reader.string()?;
            reader.expect(b':')?;
            object.set_item(key, reader.value(depth + 1)?).map_err(|error| error.to_string())
        })?;
        Ok(object.into_any())
    }

    fn array(&mut self, depth: usize) -> Result<Bound<'py, PyAny>, String> {
        let array = PyList::empty(self.py);
        self.items(b']', depth, |reader| array.append(reader.value(depth + 1)?).map_err(|error| error.to_string()))?;
        Ok(array.into_any())
    }

    /// Reads what is between brackets, of which `end` is the closing one.
    fn items(&mut self, end: u8, depth: usize, item: impl Fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if depth >= MAX_DEPTH {
            return Err(format!("JSON nested deeper than {MAX_DEPTH} levels"));
        }
        self.at += 1;
        if self.peek() != Some(end) {
            item(self)?;
            while self.peek() == Some(b',') {
                self.at += 1;
                item(self)?;
            }
        }
        self.expect(end)
    }

    fn string(&mut self) -> Result<Bound<'py, PyString>, String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(_) => end += 1,
                None => return Err("JSON ends inside a string".to_owned()),
            }
        }
        self.at = end + 1;
        if escaped {
            let quoted = self.text.get(start..=end).unwrap_or_default();
            // As in outgoing messages, lone surrogates become U+FFFD.
            let unescaped: String = serde_json::from_slice(&mended(quoted.as_bytes()))
                .map_err(|_| format!("invalid escape in a JSON string at byte {start}"))?;
            return Ok(PyString::new(self.py, &unescaped));
        }
        // Quotes are ASCII, so both ends are character boundaries.
        Ok(PyString::new(self.py, self.text.get(start + 1..end).unwrap_or_default()))
    }

    fn number(&mut self) -> Result<Bound<'py, PyAny>, String> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let digits = &rest[..length];
        let wrong = || match digits.len() {
            0..=64 => format!("JSON with an invalid number {digits:?} at byte {}", self.at),
            // Python itself rejects numbers with more than 4,300 digits.
            length => format!("JSON with a number of {length} characters at byte {}", self.at),
        };
        let value = if digits.contains(['.', 'e', 'E']) {
            PyFloat::new(self.py, digits.parse().map_err(|_| wrong())?).into_any()
        } else if let Ok(small) = digits.parse::<i64>() {
            small.into_pyobject(self.py).map(Bound::into_any).map_err(|error| error.to_string())?
        } else {
            self.py.get_type::<PyInt>().call1((digits,)).map_err(|_| wrong())?
        };
        self.at += length;
        Ok(value)
    }

    fn word(&mut self, word: &str, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, String> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(value)
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    /// The next byte that is not whitespace; `at` then points to it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn unexpected(&self) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => format!("JSON with an unexpected {found:?} at byte {}", self.at),
            None => "unexpected end of JSON".to_owned(),
        }
    }
}
