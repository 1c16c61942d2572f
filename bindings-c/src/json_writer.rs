//! JSON written value by value.

use serde_json::Value;

use crate::edge::prelude::*;
use crate::json;

/// A JSON writer for values, and for objects and arrays around them. It keeps the first failure,
/// which `trunkline_json_writer_finish` returns, so the other functions need not be checked one by
/// one. Not thread-safe. Free it with `trunkline_json_writer_free`.
#[derive(Default)]
pub struct trunkline_json_writer {
    text: String,
    /// The ends of the open objects and arrays, innermost last.
    open: Vec<char>,
    wrong: Option<Failure>,
}

/// Maximum nesting depth, the same as for messages.
const MAX_NESTING: usize = 128;

impl trunkline_json_writer {
    fn begin(&mut self, begin: &str, end: char) -> Result<(), Failure> {
        if self.open.len() == MAX_NESTING {
            return Err(Failure::invalid(format!("JSON writer: more than {MAX_NESTING} objects and arrays are open")));
        }
        self.value(begin)?;
        self.open.push(end);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let end = self.open.pop().ok_or_else(|| Failure::invalid("JSON writer: no object or array is open"))?;
        if self.text.ends_with(':') {
            return Err(Failure::invalid("JSON writer: the last key of the object has no value"));
        }
        self.text.push(end);
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Failure> {
        if self.open.last() != Some(&'}') || self.text.ends_with(':') {
            return Err(Failure::invalid(format!("JSON writer: no object is open for the key {key:?}")));
        }
        self.append(&Value::from(key).to_string());
        self.text.push(':');
        Ok(())
    }

    /// Writes a value that is already JSON.
    fn value(&mut self, json: &str) -> Result<(), Failure> {
        match self.open.last() {
            Some('}') if !self.text.ends_with(':') => {
                return Err(Failure::invalid("JSON writer: a value in an object needs a key"));
            }
            None if !self.text.is_empty() => {
                return Err(Failure::invalid("JSON writer: there is already a value; begin an array"));
            }
            _ => self.append(json),
        }
        Ok(())
    }

    /// Writes a key or a value, with a comma unless it is the first.
    fn append(&mut self, json: &str) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[', ':']) {
            self.text.push(',');
        }
        self.text.push_str(json);
    }

    /// Takes the JSON, and empties the writer.
    fn finish(&mut self) -> Result<Text, Failure> {
        let Self { text, open, wrong } = std::mem::take(self);
        match wrong {
            Some(wrong) => Err(wrong),
            None if !open.is_empty() => {
                Err(Failure::invalid(format!("JSON writer: {} objects or arrays are still open", open.len())))
            }
            None if text.is_empty() => Err(Failure::invalid("JSON writer: nothing was written")),
            None => Ok(Text::new(text)),
        }
    }
}

/// Performs one step. The first failure is kept, and skips all later steps.
fn step(
    writer: *mut trunkline_json_writer,
    step: impl FnOnce(&mut trunkline_json_writer) -> Result<(), Failure>,
) -> trunkline_result {
    guard_result(|| {
        let writer = handle_mut!(writer);
        if let Some(wrong) = &writer.wrong {
            return Err(wrong.clone());
        }
        step(writer).inspect_err(|failure| writer.wrong = Some(failure.clone()))
    })
}

/// Creates a JSON writer. The caller owns `writer`; free it with `trunkline_json_writer_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_new(
    writer: *mut *mut trunkline_json_writer,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || out!(writer).finish(give(trunkline_json_writer::default())))
}

/// Begins an object: keys and values follow, then `trunkline_json_writer_end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_begin_object(writer: *mut trunkline_json_writer) -> trunkline_result {
    step(writer, |writer| writer.begin("{", '}'))
}

/// Begins an array: values follow, then `trunkline_json_writer_end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_begin_array(writer: *mut trunkline_json_writer) -> trunkline_result {
    step(writer, |writer| writer.begin("[", ']'))
}

/// Ends the innermost object or array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_end(writer: *mut trunkline_json_writer) -> trunkline_result {
    step(writer, |writer| writer.end())
}

/// Writes the key of the next value of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_key(
    writer: *mut trunkline_json_writer,
    key: trunkline_str,
) -> trunkline_result {
    step(writer, |writer| writer.key(text!(key)))
}

/// Writes a string; quotes and escapes are added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_text(
    writer: *mut trunkline_json_writer,
    text: trunkline_str,
) -> trunkline_result {
    step(writer, |writer| writer.value(&Value::from(text!(text)).to_string()))
}

/// Writes a number, with as many digits as needed to read back the same value. Infinities and NaN
/// give `TRUNKLINE_INVALID_ARGUMENT`: JSON has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_number(
    writer: *mut trunkline_json_writer,
    number: f64,
) -> trunkline_result {
    step(writer, |writer| {
        if !number.is_finite() {
            return Err(Failure::invalid(format!("JSON writer: JSON cannot represent the number {number}")));
        }
        writer.value(&Value::from(number).to_string())
    })
}

/// Writes an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_int64(
    writer: *mut trunkline_json_writer,
    number: i64,
) -> trunkline_result {
    step(writer, |writer| writer.value(&number.to_string()))
}

/// Writes `true` or `false`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_bool(
    writer: *mut trunkline_json_writer,
    value: bool,
) -> trunkline_result {
    step(writer, |writer| writer.value(if value { "true" } else { "false" }))
}

/// Writes `null`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_null(writer: *mut trunkline_json_writer) -> trunkline_result {
    step(writer, |writer| writer.value("null"))
}

/// Writes a value that is already JSON, such as one from `trunkline_json_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_json(
    writer: *mut trunkline_json_writer,
    json: trunkline_str,
) -> trunkline_result {
    step(writer, |writer| writer.value(json::required("json", text!(json))?.get()))
}

/// Returns the JSON, and empties the writer for reuse. The caller owns `json`; free it with
/// `trunkline_text_free`. Fails with the first failure of an earlier function, or with
/// `TRUNKLINE_INVALID_ARGUMENT` if something was not ended or nothing was written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_finish(
    writer: *mut trunkline_json_writer,
    json: *mut *mut trunkline_text,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || out!(json).finish(handle_mut!(writer).finish()?.give()))
}

/// Frees a writer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_free(writer: *mut trunkline_json_writer) {
    free!(writer)
}
