//! Detects numbers that JSON cannot represent: `serde_json` writes NaN and infinities as `null`.

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::{Error, Value};

/// Checks that all numbers of a value, which was written as `json`, are finite.
///
/// # Errors
/// The first number that is not finite, with its path: `$.readings[1].celsius: NaN cannot be
/// represented in JSON`.
pub(super) fn check(value: &(impl Serialize + ?Sized), json: &[u8]) -> serde_json::Result<()> {
    let mut numbers = Numbers::default();
    value.serialize(&mut numbers).map_err(|error| {
        let mut part: Value = serde_json::from_slice(json).unwrap_or_default();
        let mut path = String::from("$");
        for position in numbers.positions {
            let (step, below) = match part {
                Value::Object(members) => {
                    members.into_iter().nth(position).map(|(name, below)| (format!(".{name}"), below))
                }
                Value::Array(items) => items.into_iter().nth(position).map(|below| (format!("[{position}]"), below)),
                _ => None,
            }
            .unwrap_or_default();
            path += &step;
            part = below;
        }
        Error::custom(format_args!("{path}: {error}"))
    })
}

/// A serializer that checks numbers and writes nothing.
#[derive(Default)]
struct Numbers {
    /// The position of the current part in each object and list around it.
    positions: Vec<usize>,
}

impl Numbers {
    fn finite(number: f64) -> Result<(), Error> {
        if number.is_finite() {
            Ok(())
        } else {
            Err(Error::custom(format_args!("{number} cannot be represented in JSON")))
        }
    }

    /// Begins so many objects and lists, each in the one before.
    #[inline(never)] // In the code of each type it would be large, and only values with `null` are checked.
    fn begin(&mut self, count: usize) -> Result<Parts<'_>, Error> {
        let around = self.positions.len();
        self.positions.resize(around + count, 0);
        Ok(Parts { numbers: self, around })
    }
}

/// The parts of an object or list.
struct Parts<'a> {
    numbers: &'a mut Numbers,
    /// How many objects and lists are around it.
    around: usize,
}

impl Parts<'_> {
    fn part(&mut self, part: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        part.serialize(&mut *self.numbers)?;
        self.numbers.positions.last_mut().into_iter().for_each(|position| *position += 1);
        Ok(())
    }
}

/// Values that contain no floating-point number.
macro_rules! passed {
    ($($method:ident($($ty:ty),*);)*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<(), Error> {
            Ok(())
        })*
    };
}

/// The beginnings of those with parts. A variant is the only member of an object.
macro_rules! begun {
    ($($method:ident($($ty:ty),*), $count:literal;)*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<Parts<'a>, Error> {
            self.begin($count)
        })*
    };
}

impl<'a> Serializer for &'a mut Numbers {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        Numbers::finite(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        Numbers::finite(number)
    }

    passed! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    begun! {
        serialize_seq(Option<usize>), 1;
        serialize_tuple(usize), 1;
        serialize_tuple_struct(&'static str, usize), 1;
        serialize_tuple_variant(&'static str, u32, &'static str, usize), 2;
        serialize_map(Option<usize>), 1;
        serialize_struct(&'static str, usize), 1;
        serialize_struct_variant(&'static str, u32, &'static str, usize), 2;
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
        let mut variant = self.begin(1)?;
        variant.part(value)?;
        SerializeSeq::end(variant)
    }
}

macro_rules! parts {
    ($($kind:ident $method:ident($($name:ty)?) $($key:ident)?;)*) => {
        $(impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? part: &T) -> Result<(), Error> {
                self.part(part)
            }

            $(fn $key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Error> {
                Ok(())
            })?

            fn end(self) -> Result<(), Error> {
                self.numbers.positions.truncate(self.around);
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
            (drawing(Shape::Round(f64::NAN), 1.0), "$.shapes[1].Round: NaN cannot be represented in JSON"),
            (drawing(Shape::Pair(0.0, f32::INFINITY), 1.0), "$.shapes[1].Pair[1]: inf cannot be represented in JSON"),
            (
                drawing(Shape::Square { side: Some(f64::NAN), unit: "m" }, 1.0),
                "$.shapes[1].Square.side: NaN cannot be represented in JSON",
            ),
            (drawing(Shape::Round(1.0), f64::NEG_INFINITY), "$.by_name.a[1]: -inf cannot be represented in JSON"),
            (RawJson::from_value(&f64::NAN), "$: NaN cannot be represented in JSON"),
            (RawJson::from_value(&[f64::NAN]), "$[0]: NaN cannot be represented in JSON"),
        ] {
            assert_eq!(drawing.unwrap_err().to_string(), path);
        }
    }
}
