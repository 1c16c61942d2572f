//! The macro that defines a JSON object type: named fields, and everything else in `extra`.
//!
//! Hand-written rather than `#[serde(flatten)]`, which buffers every value and breaks raw values and numbers.

/// Defines a struct, its serialization and its deserialization.
///
/// Kinds of fields: `required T`; `optional T` (absent and `null` are `None`); `any` (an `Option<Value>` whose `null` is a value);
/// `nullable T` (always written, `None` as `null`); `list T` (always written, absent reads as empty); `flag` (a `bool` written
/// only when true). `as "text"` after the name is the constant `type` of a content block.
macro_rules! json_object {
    (
        $(#[$attr:meta])*
        pub struct $name:ident $(as $tag:literal)? {
            $($(#[$field_attr:meta])* $kind:ident $field:ident $(: $ty:ty)? = $wire:literal,)*
        }
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_attr])* pub $field: json_object!(@type $kind $($ty)?),)*
            /// Fields that this model does not know, kept as they came.
            pub extra: $crate::protocol::model::JsonObject,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry("type", $tag)?;)?
                $(json_object!(@write $kind map, $wire, self.$field);)*
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($name), " object"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        $(let mut $field: Option<json_object!(@read_type $kind $($ty)?)> = None;)*
                        let mut extra = $crate::protocol::model::JsonObject::new();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $($wire => {
                                    $field = json_object!(@read $kind map)
                                        .map_err(|e| serde::de::Error::custom(format_args!(concat!("`", $wire, "`: {}"), e)))?;
                                })*
                                $("type" => {
                                    let found = map.next_value::<String>()?;
                                    if found != $tag {
                                        return Err(serde::de::Error::custom(format_args!(
                                            concat!("`type` must be \"", $tag, "\", not \"{}\""), found
                                        )));
                                    }
                                })?
                                _ => {
                                    extra.insert(key, map.next_value()?);
                                }
                            }
                        }
                        Ok($name { $($field: json_object!(@finish $kind $field, $wire),)* extra })
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };

    (@type required $ty:ty) => { $ty };
    (@type optional $ty:ty) => { Option<$ty> };
    (@type nullable $ty:ty) => { Option<$ty> };
    (@type any) => { Option<serde_json::Value> };
    (@type list $ty:ty) => { Vec<$ty> };
    (@type flag) => { bool };

    (@read_type required $ty:ty) => { $ty };
    (@read_type optional $ty:ty) => { $ty };
    (@read_type nullable $ty:ty) => { $ty };
    (@read_type any) => { serde_json::Value };
    (@read_type list $ty:ty) => { Vec<$ty> };
    (@read_type flag) => { bool };

    (@read required $map:ident) => { $map.next_value().map(Some) };
    (@read any $map:ident) => { $map.next_value().map(Some) };
    (@read $other:ident $map:ident) => { $map.next_value() };

    (@finish required $field:ident, $wire:literal) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($wire))?
    };
    (@finish optional $field:ident, $wire:literal) => { $field };
    (@finish nullable $field:ident, $wire:literal) => { $field };
    (@finish any $field:ident, $wire:literal) => { $field };
    (@finish $other:ident $field:ident, $wire:literal) => { $field.unwrap_or_default() };

    (@write required $map:ident, $wire:literal, $value:expr) => { $map.serialize_entry($wire, &$value)? };
    (@write nullable $map:ident, $wire:literal, $value:expr) => { $map.serialize_entry($wire, &$value)? };
    (@write list $map:ident, $wire:literal, $value:expr) => { $map.serialize_entry($wire, &$value)? };
    (@write flag $map:ident, $wire:literal, $value:expr) => {
        if $value {
            $map.serialize_entry($wire, &true)?;
        }
    };
    (@write $other:ident $map:ident, $wire:literal, $value:expr) => {
        if let Some(value) = &$value {
            $map.serialize_entry($wire, value)?;
        }
    };
}
