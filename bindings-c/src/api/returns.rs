//! Completion of calls; `generated/returns.rs` has those by shape and the failures by kind.

use trunkline_bridge::Shape;

use crate::calls::trunkline_call;
use crate::edge::prelude::*;

/// A `trunkline_shape` as C may pass it: any number.
pub type trunkline_shape_number = u32;

/// Completes a call with JSON that becomes a result according to `shape`.
/// `TRUNKLINE_INVALID_ARGUMENT` if `json` does not match the shape; the call is still open then.
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

/// Fails a call with the failure of another operation, as received by `trunkline_answer_callback`:
/// a JSON-RPC error is passed on unchanged, anything else like `trunkline_call_fail`. Has no effect
/// after `TRUNKLINE_SUSPENDED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trunkline_call_fail_with(
    call: *mut trunkline_call,
    failure: *const trunkline_error,
) -> trunkline_result {
    guard_result(|| handle!(call).fail_with(&handle!(failure).error))
}
