//! JSON written value by value.

use crate::edge::prelude::*;
use crate::json::required;
use crate::json_writer::trunkline_json_writer;

/// A library object that the function modifies.
macro_rules! writer {
    ($writer:ident, $step:expr) => {
        guard_result(|| {
            // SAFETY: the conventions of the header: NULL, or a writer that was not freed and that
            // nothing else uses now.
            unsafe { $crate::edge::ffi::borrow_mut($writer, "writer") }?.step($step)
        })
    };
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
    writer!(writer, |writer| writer.begin(true))
}

/// Begins an array: values follow, then `trunkline_json_writer_end`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_begin_array(writer: *mut trunkline_json_writer) -> trunkline_result {
    writer!(writer, |writer| writer.begin(false))
}

/// Ends the innermost object or array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_end(writer: *mut trunkline_json_writer) -> trunkline_result {
    writer!(writer, trunkline_json_writer::end)
}

/// Writes the key of the next value of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_key(
    writer: *mut trunkline_json_writer,
    key: trunkline_str,
) -> trunkline_result {
    writer!(writer, |writer| writer.key(text!(key)))
}

/// Writes a string; quotes and escapes are added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_text(
    writer: *mut trunkline_json_writer,
    text: trunkline_str,
) -> trunkline_result {
    writer!(writer, |writer| writer.value(serde_json::Value::from(text!(text)).to_string().as_bytes()))
}

/// Writes a number, with as many digits as needed to read back the same value. Infinities and NaN
/// give `TRUNKLINE_INVALID_ARGUMENT`: JSON has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_number(
    writer: *mut trunkline_json_writer,
    number: f64,
) -> trunkline_result {
    writer!(writer, |writer| {
        let json = serde_json::Number::from_f64(number);
        let json =
            json.ok_or_else(|| Failure::invalid(format!("JSON writer: JSON cannot represent the number {number}")))?;
        writer.value(json.to_string().as_bytes())
    })
}

/// Writes an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_int64(
    writer: *mut trunkline_json_writer,
    number: i64,
) -> trunkline_result {
    writer!(writer, |writer| writer.value(number.to_string().as_bytes()))
}

/// Writes `true` or `false`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_bool(
    writer: *mut trunkline_json_writer,
    value: bool,
) -> trunkline_result {
    writer!(writer, |writer| writer.value(if value { b"true" } else { b"false" }))
}

/// Writes `null`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_null(writer: *mut trunkline_json_writer) -> trunkline_result {
    writer!(writer, |writer| writer.value(b"null"))
}

/// Writes a value that already is JSON, such as one from `trunkline_json_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_json(
    writer: *mut trunkline_json_writer,
    json: trunkline_str,
) -> trunkline_result {
    writer!(writer, |writer| writer.value(required("json", text!(json))?.get().as_bytes()))
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
    guard(error, || {
        // SAFETY: the conventions of the header: NULL, or a writer that was not freed and that
        // nothing else uses now.
        let writer = unsafe { crate::edge::ffi::borrow_mut(writer, "writer") }?;
        let json = out!(json);
        json.finish(Text::new(writer.finish()?).give())
    })
}

/// Frees a writer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_json_writer_free(writer: *mut trunkline_json_writer) {
    free!(writer)
}
