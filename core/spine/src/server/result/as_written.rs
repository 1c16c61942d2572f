//! Numbers of results stay as they were written: a `Value` rounds integers beyond 64 bits.

use crate::composition::rewriting::ObjectMembers;
use indexmap::IndexMap;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// Returns whether a value may have rounded an integer.
pub(super) fn may_be_rounded(value: &Value) -> bool {
    const INTEGER_LIMIT: f64 = (1_u64 << 63) as f64;
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|number| number.abs() >= INTEGER_LIMIT),
        Value::Array(items) => items.iter().any(may_be_rounded),
        Value::Object(members) => members.values().any(may_be_rounded),
        _ => false,
    }
}

/// The JSON of a value that was read from `written` as `given` and then changed. What has not been
/// changed stays as it was written.
pub(in crate::server) fn as_written(written: &RawValue, given: &Value, value: &Value) -> Box<RawValue> {
    if given == value {
        return written.to_owned();
    }
    let parts = match (given, value) {
        (Value::Object(given), Value::Object(members)) => {
            serde_json::from_str::<IndexMap<String, &RawValue>>(written.get()).ok().and_then(|written| {
                let member = |(name, member): (&String, &Value)| {
                    let part = written.get(name).zip(given.get(name));
                    (name.clone(), part.map_or_else(|| raw(member), |(part, given)| as_written(part, given, member)))
                };
                to_raw_value(&members.iter().map(member).collect::<ObjectMembers>()).ok()
            })
        }
        (Value::Array(given), Value::Array(items)) if given.len() == items.len() => {
            serde_json::from_str::<Vec<&RawValue>>(written.get()).ok().and_then(|written| {
                let items = written.into_iter().zip(given).zip(items);
                let items = items.map(|((written, given), item)| as_written(written, given, item));
                to_raw_value(&items.collect::<Vec<_>>()).ok()
            })
        }
        _ => None,
    };
    parts.unwrap_or_else(|| raw(value))
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}
