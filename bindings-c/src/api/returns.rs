//! Answers of calls; `generated/returns.rs` has those by shape and the failures by kind.

use trunkline_bridge::Shape;

use crate::calls::trunkline_call;
use crate::edge::prelude::*;

/// A `trunkline_shape` as C may pass it: any number.
pub type trunkline_shape_number = u32;

/// Answers with JSON that becomes a result as `shape` says.
/// `TRUNKLINE_INVALID_ARGUMENT` if `json` is not what the shape says: the call is still open then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_return_json(
    call: *mut trunkline_call,
    shape: trunkline_shape_number,
    json: trunkline_str,
    error: *mut *mut trunkline_error,
) -> trunkline_result {
    guard(error, || {
        let (call, json) = (handle!(call), text!(json));
        let shape = u8::try_from(shape).ok().and_then(Shape::from_number);
        let shape = shape.ok_or_else(|| Failure::invalid("the argument `shape` is not a trunkline_shape"))?;
        call.complete(shape, json.as_bytes())
    })
}

/// Answers with the failure that something else ended in, as `trunkline_answer_callback` gets it: a
/// JSON-RPC error as it came, anything else as `trunkline_call_fail` does. Does no harm after
/// `TRUNKLINE_SUSPENDED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_with(
    call: *mut trunkline_call,
    failure: *const trunkline_error,
) -> trunkline_result {
    guard_result(|| handle!(call).fail_with(&handle!(failure).error))
}
