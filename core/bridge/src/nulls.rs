//! Removing null members.

use serde_json::Value;

/// Removes members that are null.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}
