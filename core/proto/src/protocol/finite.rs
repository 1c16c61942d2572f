//! Detects numbers that JSON cannot represent: `serde_json` writes NaN and infinities as `null`.

use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use std::fmt::Display;

/// Checks that all numbers of a value are finite.
///
/// # Errors
/// The first number that is not finite, with its path: `$.readings[1].celsius: NaN cannot be
/// represented in JSON`.
pub(super) fn check(value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    value.serialize(Numbers).map_err(serde_json::Error::custom)
}

/// A number that JSON cannot represent, and its path within the value.
#[derive(Debug, thiserror::Error)]
#[error("${path}: {problem}")]
struct NotFinite {
    path: String,
    problem: String,
}

impl NotFinite {
    fn below(self, part: impl Display) -> Self {
        Self { path: format!("{part}{}", self.path), ..self }
    }
}

impl serde::ser::Error for NotFinite {
    fn custom<T: Display>(problem: T) -> Self {
        Self { path: String::new(), problem: problem.to_string() }
    }
}

type FiniteCheck = Result<(), NotFinite>;

/// A serializer that checks numbers and writes nothing.
struct Numbers;

/// The parts of a list, a map, a struct, or a variant of one of these shapes.
#[derive(Default)]
struct FiniteParts {
    /// The name of the variant, which is serialized as a member.
    variant: Option<&'static str>,
    /// Number of parts checked so far.
    count: usize,
    /// The key of the next value of a map.
    key: String,
}

impl FiniteParts {
    fn item(&mut self, item: &(impl Serialize + ?Sized)) -> FiniteCheck {
        self.count += 1;
        self.part(format_args!("[{}]", self.count - 1), item)
    }

    fn member(&self, name: &str, value: &(impl Serialize + ?Sized)) -> FiniteCheck {
        self.part(format_args!(".{name}"), value)
    }

    fn part(&self, name: impl Display, value: &(impl Serialize + ?Sized)) -> FiniteCheck {
        value.serialize(Numbers).map_err(|error| {
            let error = error.below(name);
            match self.variant {
                Some(variant) => error.below(format_args!(".{variant}")),
                None => error,
            }
        })
    }
}

fn finite(number: f64) -> FiniteCheck {
    if number.is_finite() {
        Ok(())
    } else {
        Err(NotFinite::custom(format_args!("{number} cannot be represented in JSON")))
    }
}

/// Values that contain no floating-point number.
macro_rules! plain {
    ($($method:ident($($ty:ty),*);)*) => {
        $(fn $method(self, $(_: $ty),*) -> FiniteCheck {
            Ok(())
        })*
    };
}

/// Starts a value with parts.
macro_rules! parts {
    ($($method:ident($($ty:ty),*);)*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<FiniteParts, NotFinite> {
            Ok(FiniteParts::default())
        })*
    };
}

/// Starts a variant with parts, which is serialized as a member.
macro_rules! variants {
    ($($method:ident)*) => {
        $(fn $method(self, _: &'static str, _: u32, name: &'static str, _: usize) -> Result<FiniteParts, NotFinite> {
            Ok(FiniteParts { variant: Some(name), ..FiniteParts::default() })
        })*
    };
}

impl Serializer for Numbers {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = FiniteParts;
    type SerializeTuple = FiniteParts;
    type SerializeTupleStruct = FiniteParts;
    type SerializeTupleVariant = FiniteParts;
    type SerializeMap = FiniteParts;
    type SerializeStruct = FiniteParts;
    type SerializeStructVariant = FiniteParts;

    fn serialize_f32(self, number: f32) -> FiniteCheck {
        finite(number.into())
    }

    fn serialize_f64(self, number: f64) -> FiniteCheck {
        finite(number)
    }

    plain! {
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

    parts! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
    }

    variants! {
        serialize_tuple_variant
        serialize_struct_variant
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> FiniteCheck {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> FiniteCheck {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> FiniteCheck {
        FiniteParts::default().member(name, value)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> FiniteCheck {
        Ok(())
    }
}

/// Parts identified by their position.
macro_rules! items {
    ($($kind:ident $method:ident)*) => {
        $(impl $kind for FiniteParts {
            type Ok = ();
            type Error = NotFinite;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> FiniteCheck {
                self.item(item)
            }

            fn end(self) -> FiniteCheck {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

/// Parts identified by their name.
macro_rules! fields {
    ($($kind:ident)*) => {
        $(impl $kind for FiniteParts {
            type Ok = ();
            type Error = NotFinite;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> FiniteCheck {
                self.member(name, value)
            }

            fn end(self) -> FiniteCheck {
                Ok(())
            }
        })*
    };
}

fields! {
    SerializeStruct
    SerializeStructVariant
}

impl SerializeMap for FiniteParts {
    type Ok = ();
    type Error = NotFinite;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> FiniteCheck {
        // As the key would be written, but without quotes.
        self.key = serde_json::to_string(key).unwrap_or_default().trim_matches('"').to_owned();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> FiniteCheck {
        self.member(&self.key, value)
    }

    fn end(self) -> FiniteCheck {
        Ok(())
    }
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
