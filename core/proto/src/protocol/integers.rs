//! Integers that are written with a fraction or an exponent, such as `5.0` and `1e3`. They are
//! integers in a JSON Schema, but not in serde and many other readers.

use serde::{Serializer, de::DeserializeOwned};
use serde_json::{Number, Value};

/// The number as an integer, if it is one.
pub(super) fn integer(number: &Number) -> Option<Number> {
    match number.as_f64().filter(|_| number.is_f64()) {
        None => Some(number.clone()),
        Some(float) => exact(float).map(Number::from),
    }
}

/// The float as an integer, if it is one.
fn exact(float: f64) -> Option<i64> {
    // Below it, 2^53, no integer has been rounded.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() < LIMIT).then_some(float as i64)
}

/// Writes an integer without a fraction: a peer may read it into an integer.
///
/// # Errors
/// If the serializer fails.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn serialize<S: Serializer>(float: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match exact(*float) {
        Some(integer) => serializer.serialize_i64(integer),
        None => serializer.serialize_f64(*float),
    }
}

/// The same for a number that may be missing.
///
/// # Errors
/// If the serializer fails.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(crate) fn serialize_optional<S: Serializer>(float: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match float {
        Some(float) => serialize(float, serializer),
        None => serializer.serialize_none(),
    }
}

/// Deserializes a value, in which integers may be written so.
///
/// # Errors
/// If the value does not match the type.
#[doc(hidden)]
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, serde_json::Error> {
    T::deserialize(value).or_else(|_| T::deserialize(&without_fractions(value.clone())))
}

/// The value with its integers in digits only.
#[doc(hidden)]
pub fn without_fractions(mut value: Value) -> Value {
    write_integers(&mut value);
    value
}

fn write_integers(value: &mut Value) {
    match value {
        Value::Number(number) => *number = integer(number).unwrap_or_else(|| number.clone()),
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(members) => members.values_mut().for_each(write_integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[test]
    fn integers_may_have_a_fraction_of_zero_or_an_exponent() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Numbers {
            whole: Vec<i64>,
            fraction: f64,
        }
        let read = |text: &str| from_value::<Numbers>(&serde_json::from_str(text).unwrap());
        let numbers = read(r#"{"whole":[5.0,1e3,-0.0,7],"fraction":2}"#).unwrap();
        assert_eq!(numbers, Numbers { whole: vec![5, 1000, 0, 7], fraction: 2.0 });
        let error = read(r#"{"whole":[5.5],"fraction":2.5}"#).unwrap_err().to_string();
        assert_eq!(error, "invalid type: floating point `5.5`, expected i64");
        assert!(from_value::<Vec<i64>>(&json!([9_007_199_254_740_992.0])).is_err());
    }
}
