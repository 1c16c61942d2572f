//! Writes JSON value by value.

use serde_json::Value;

use crate::edge::failure::Failure;

/// A JSON writer for values, and for objects and arrays around them. It keeps the first failure,
/// which `trunkline_json_writer_finish` returns, so the other functions need not be checked one by
/// one. Not thread-safe. Free it with `trunkline_json_writer_free`.
#[derive(Default)]
pub struct trunkline_json_writer {
    text: Vec<u8>,
    /// The open objects and arrays, innermost last.
    open: Vec<Container>,
    wrong: Option<Failure>,
}

struct Container {
    is_object: bool,
    is_empty: bool,
    /// True after a key, before its value.
    has_key: bool,
}

/// Maximum nesting depth, the same as for messages.
const MAX_NESTING: usize = 128;

impl trunkline_json_writer {
    /// Performs one step. The first failure is kept, and skips all later steps.
    pub(crate) fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<(), Failure>) -> Result<(), Failure> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        step(self).inspect_err(|failure| self.wrong = Some(failure.clone()))
    }

    pub(crate) fn begin(&mut self, is_object: bool) -> Result<(), Failure> {
        if self.open.len() == MAX_NESTING {
            return Err(Failure::invalid(format!("JSON writer: more than {MAX_NESTING} objects and arrays are open")));
        }
        self.value(if is_object { b"{" } else { b"[" })?;
        self.open.push(Container { is_object, is_empty: true, has_key: false });
        Ok(())
    }

    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        let ended = self.open.pop().ok_or_else(|| Failure::invalid("JSON writer: no object or array is open"))?;
        if ended.has_key {
            return Err(Failure::invalid("JSON writer: the last key of the object has no value"));
        }
        self.text.push(if ended.is_object { b'}' } else { b']' });
        Ok(())
    }

    pub(crate) fn key(&mut self, key: &str) -> Result<(), Failure> {
        let Some(object) = self.open.last_mut().filter(|container| container.is_object && !container.has_key) else {
            return Err(Failure::invalid(format!("JSON writer: no object is open for the key {key:?}")));
        };
        if !object.is_empty {
            self.text.push(b',');
        }
        (object.is_empty, object.has_key) = (false, true);
        self.text.extend_from_slice(Value::from(key).to_string().as_bytes());
        self.text.push(b':');
        Ok(())
    }

    /// Writes a value that is already JSON.
    pub(crate) fn value(&mut self, json: &[u8]) -> Result<(), Failure> {
        match self.open.last_mut() {
            Some(object) if object.is_object && !object.has_key => {
                return Err(Failure::invalid("JSON writer: a value in an object needs a key"));
            }
            Some(object) if object.is_object => object.has_key = false,
            Some(array) => {
                if !array.is_empty {
                    self.text.push(b',');
                }
                array.is_empty = false;
            }
            None if !self.text.is_empty() => {
                return Err(Failure::invalid("JSON writer: there is already a value; begin an array"));
            }
            None => {}
        }
        self.text.extend_from_slice(json);
        Ok(())
    }

    /// Takes the JSON, and empties the writer.
    pub(crate) fn finish(&mut self) -> Result<Vec<u8>, Failure> {
        let Self { text, open, wrong } = std::mem::take(self);
        match wrong {
            Some(wrong) => Err(wrong),
            None if !open.is_empty() => {
                Err(Failure::invalid(format!("JSON writer: {} objects or arrays are still open", open.len())))
            }
            None if text.is_empty() => Err(Failure::invalid("JSON writer: nothing was written")),
            None => Ok(text),
        }
    }
}
