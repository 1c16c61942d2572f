//! Detects numbers that JSON cannot represent: `serde_json` writes NaN and infinities as `null`.

use super::located::path_text;
use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::Error;

/// Checks that all numbers of a value are finite.
///
/// # Errors
/// The first number that is not finite, with its path: `$.readings[1].celsius: NaN cannot be
/// represented in JSON`.
pub(super) fn check(value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    serde_path_to_error::serialize(value, Numbers).map_err(|error| {
        let path = path_text(error.path());
        let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        Error::custom(format_args!("${separator}{path}: {}", error.inner()))
    })
}

/// A serializer that checks numbers and writes nothing.
#[derive(Default)]
struct Numbers;

fn finite(number: f64) -> Result<(), Error> {
    if number.is_finite() { Ok(()) } else { Err(Error::custom(format_args!("{number} cannot be represented in JSON"))) }
}

/// Values that contain no floating-point number, and the beginnings of those with parts.
macro_rules! passed {
    ($($method:ident($($ty:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<$ok, Error> {
            Ok(Default::default())
        })*
    };
}

impl Serializer for Numbers {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        finite(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        finite(number)
    }

    passed! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_i128(i128) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_u128(u128) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self;
        serialize_tuple(usize) -> Self;
        serialize_tuple_struct(&'static str, usize) -> Self;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self;
        serialize_map(Option<usize>) -> Self;
        serialize_struct(&'static str, usize) -> Self;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }
}

macro_rules! parts {
    ($($kind:ident $method:ident($($name:ty)?) $($key:ident)?;)*) => {
        $(impl $kind for Numbers {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? part: &T) -> Result<(), Error> {
                part.serialize(Self)
            }

            $(fn $key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
                key.serialize(Self)
            })?

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeMap serialize_value() serialize_key;
    SerializeStruct serialize_field(&'static str);
    SerializeStructVariant serialize_field(&'static str);
}

#[cfg(test)]
mod tests {
    use super::super::RawJson;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Round(f64),
        Square { side: Option<f64>, unit: &'static str },
        Pair(f32, f32),
    }

    #[derive(Serialize)]
    struct Drawing {
        shapes: Vec<Shape>,
        by_name: BTreeMap<&'static str, (u8, f64)>,
    }

    fn drawing(shape: Shape, number: f64) -> Result<RawJson, serde_json::Error> {
        let nothing = Shape::Square { side: None, unit: "cm" };
        RawJson::from_value(&Drawing { shapes: vec![nothing, shape], by_name: BTreeMap::from([("a", (1, number))]) })
    }

    #[test]
    fn numbers_that_json_does_not_have_are_refused_with_their_path() {
        let text = r#"{"shapes":[{"Square":{"side":null,"unit":"cm"}},{"Pair":[0.5,1.0]}],"by_name":{"a":[1,2.0]}}"#;
        assert_eq!(drawing(Shape::Pair(0.5, 1.0), 2.0).unwrap().as_str(), text);
        for (drawing, path) in [
            (drawing(Shape::Round(f64::NAN), 1.0), "$.shapes[1]: NaN cannot be represented in JSON"),
            (drawing(Shape::Pair(0.0, f32::INFINITY), 1.0), "$.shapes[1][1]: inf cannot be represented in JSON"),
            (
                drawing(Shape::Square { side: Some(f64::NAN), unit: "m" }, 1.0),
                "$.shapes[1].side: NaN cannot be represented in JSON",
            ),
            (drawing(Shape::Round(1.0), f64::NEG_INFINITY), "$.by_name.a[1]: -inf cannot be represented in JSON"),
            (RawJson::from_value(&f64::NAN), "$: NaN cannot be represented in JSON"),
            (RawJson::from_value(&[f64::NAN]), "$[0]: NaN cannot be represented in JSON"),
        ] {
            assert_eq!(drawing.unwrap_err().to_string(), path);
        }
    }
}
