//! The macros that define the types of the model: objects with named fields and everything else in
//! `extra`, and unions of objects. Each type describes itself ([`crate::protocol::describe`]).
//!
//! Hand-written instead of `#[serde(flatten)]`, which buffers every value and breaks raw values and
//! numbers.

/// Defines structs, each with its serialization, its deserialization and its description.
///
/// Kinds of fields: `required T`; `optional T` (absent and `null` are `None`); `any` (an
/// `Option<Value>` whose `null` is a value); `nullable T` (always written, `None` as `null`); `list
/// T` (always written, absent reads as empty); `flag` (a `bool` written only when true). `in ["a",
/// "b"]` after the JSON name lists the strings that the protocol defines for a member; others are
/// accepted when reading. `since V2025_06_18` at the end names the first revision that has the
/// member, and `until V2025_11_25` after it the last one; projection removes it for the others.
/// `as "text"` after the name is the constant `type` of a content block. `with meta` after the name
/// adds the member `_meta`, optionally followed by its revisions, `with result` the members of
/// every result, and `with page` those of a page of a list.
macro_rules! json_object {
    ($(
        $(#[doc = $doc:tt])*
        pub struct $name:ident $(as $tag:tt)? $(with $common:ident $($span:ident)*)? { $($fields:tt)* }
    )*) => {
        $(json_object!(@struct [$($common $($span)*)?] [$(#[doc = $doc])* pub struct $name $(as $tag)?] $($fields)*);)*
    };
    (@struct [page] $head:tt $($fields:tt)*) => {
        json_object!(@struct [result] $head $($fields)*
            /// Cursor of the next page; absent on the last page.
            optional next_cursor: String = "nextCursor",
            /// How long the page may be cached, in milliseconds (2026-07-28).
            optional ttl_ms: u64 = "ttlMs" since V2026_07_28,
            /// `private` or `public`: which callers may share a cached page (2026-07-28).
            optional cache_scope: String = "cacheScope" since V2026_07_28,
        );
    };
    (@struct [result] $head:tt $($fields:tt)*) => {
        json_object!(@struct [meta] $head $($fields)*
            /// `complete` on 2026-07-28; absent before.
            optional result_type: String = "resultType" since V2026_07_28,
        );
    };
    (@struct [meta $($span:ident)*] $head:tt $($fields:tt)*) => {
        json_object!(@struct [] $head $($fields)*
            /// Metadata, by reverse-domain name.
            optional meta: $crate::protocol::model::JsonObject = "_meta" $($span)*,
        );
    };
    (@struct [] [$(#[doc = $doc:literal])* pub struct $name:ident $(as $tag:literal)?]
        $(
            $(#[doc = $field_doc:literal])*
            $kind:ident $field:ident $(: $ty:ty)? = $wire:literal $(in [$($value:literal),*])?
            $(since $since:ident $(until $until:ident)?)?,
        )*
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: json_object!(@type $kind $($ty)?),)*
            /// Fields that this model does not know, kept as received.
            pub extra: $crate::protocol::model::JsonObject,
        }

        impl $crate::protocol::describe::Described for $name {
            const TYPE: $crate::protocol::describe::Type = {
                use $crate::protocol::describe::{FieldDescription, ObjectDescription, Type};
                static OBJECT: ObjectDescription = ObjectDescription {
                    name: stringify!($name),
                    doc: &[$($doc),*],
                    tag: json_object!(@tag $($tag)?),
                    fields: &[$(FieldDescription {
                        name: stringify!($field),
                        json: $wire,
                        doc: &[$($field_doc),*],
                        presence: json_object!(@presence $kind),
                        ty: json_object!(@values [$($($value),*)?] $kind $($ty)?),
                        nullable: json_object!(@nullable $kind),
                        span: json_object!(@span $($since $($until)?)?),
                        ..FieldDescription::EMPTY
                    },)*],
                    open: true,
                };
                Type::Model(&OBJECT)
            };
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

    (@tag) => { None };
    (@tag $tag:literal) => { Some($tag) };

    (@presence required) => { $crate::protocol::describe::Presence::Required };
    (@presence list) => { $crate::protocol::describe::Presence::List };
    (@presence flag) => { $crate::protocol::describe::Presence::Flag };
    (@presence $other:ident) => { $crate::protocol::describe::Presence::Optional };

    (@nullable any) => { true };
    (@nullable nullable) => { true };
    (@nullable $other:ident) => { false };

    (@span) => { None };
    (@span $since:ident) => { json_object!(@span $since LATEST) };
    (@span $since:ident $until:ident) => {
        Some(($crate::protocol::Revision::$since, $crate::protocol::Revision::$until))
    };

    (@values [] $kind:ident $($ty:ty)?) => { json_object!(@described $kind $($ty)?) };
    (@values [$($value:literal),*] $kind:ident $ty:ty) => { $crate::protocol::describe::Type::OneOf(&[$($value),*]) };
    (@described any) => { $crate::protocol::describe::Type::Json };
    (@described flag) => { $crate::protocol::describe::Type::Boolean };
    (@described list $ty:ty) => {
        $crate::protocol::describe::Type::List(&<$ty as $crate::protocol::describe::Described>::TYPE)
    };
    (@described $other:ident $ty:ty) => { <$ty as $crate::protocol::describe::Described>::TYPE };

    (@type optional $ty:ty) => { Option<$ty> };
    (@type nullable $ty:ty) => { Option<$ty> };
    (@type any) => { Option<serde_json::Value> };
    (@type $other:ident $($ty:ty)?) => { json_object!(@read_type $other $($ty)?) };

    (@read_type any) => { serde_json::Value };
    (@read_type list $ty:ty) => { Vec<$ty> };
    (@read_type flag) => { bool };
    (@read_type $other:ident $ty:ty) => { $ty };

    (@read required $map:ident) => { $map.next_value().map(Some) };
    (@read any $map:ident) => { $map.next_value().map(Some) };
    (@read $other:ident $map:ident) => { $map.next_value() };

    (@finish required $field:ident, $wire:literal) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($wire))?
    };
    (@finish list $field:ident, $wire:literal) => { $field.unwrap_or_default() };
    (@finish flag $field:ident, $wire:literal) => { $field.unwrap_or_default() };
    (@finish $other:ident $field:ident, $wire:literal) => { $field };

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

/// Defines an enum of objects with its serialization, deserialization and description.
///
/// `by "type"` names the member that distinguishes the variants. A variant's `= "text"` is the
/// value of that member; `= "form" or absent` also selects the variant if the member is absent. A
/// last variant `Unknown` keeps objects of other kinds unchanged. `by default` names the variant of
/// [`Default`].
macro_rules! json_union {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident by $member:literal $(, by default $default:ident)?, else $problem:literal {
            $($(#[doc = $variant_doc:literal])* $variant:ident($ty:ty) = $tag:literal $(or $absent:ident)?,)*
            $(; $(#[doc = $unknown_doc:literal])* $unknown:ident,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[doc = $variant_doc])* $variant($ty),)*
            $($(#[doc = $unknown_doc])* $unknown($crate::protocol::model::JsonObject),)?
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default(Default::default())
            }
        })?

        impl $crate::protocol::describe::Described for $name {
            const TYPE: $crate::protocol::describe::Type = {
                use $crate::protocol::describe::{Described, Type, Union};
                static UNION: Union = Union {
                    name: stringify!($name),
                    doc: &[$($doc),*],
                    tag: Some($member),
                    variants: &[$(($tag, <$ty as Described>::TYPE)),*],
                    open: json_union!(@open $($unknown)?),
                };
                Type::Union(&UNION)
            };
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(value) => value.serialize(serializer),)*
                    $(Self::$unknown(value) => value.serialize(serializer),)?
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let fields = <$crate::protocol::model::JsonObject as serde::Deserialize>::deserialize(deserializer)?;
                match fields.get($member).map(serde_json::Value::as_str) {
                    $(Some(Some($tag)) $(| json_union!(@$absent))? => <$ty as serde::Deserialize>::deserialize(fields).map(Self::$variant),)*
                    $(Some(Some(_)) => return Ok(Self::$unknown(fields)),)?
                    _ => return Err(serde::de::Error::custom($problem)),
                }
                .map_err(serde::de::Error::custom)
            }
        }
    };

    (@absent) => { None };
    (@open) => { false };
    (@open $unknown:ident) => { true };
}
