//! Structs outside of the model, and enums of names, that describe themselves
//! ([`crate::protocol::describe`]), so that their equivalents in other languages are generated from
//! the same declaration.

/// Declares structs, each with its JSON names and its description. A field is `required` or
/// `optional` for the side that provides it; `as` gives it a different type in JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! described {
    ($(
        $(#[doc = $doc:literal])*
        #[derive($($derived:ident),*)]
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $(#[serde($($serde:tt)*)])?
                $presence:ident $field:ident: $ty:ty = $json:literal $(as $seen:ty)?,
            )*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, $($derived),*)]
        #[serde(deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $field_doc])* #[serde(rename = $json $(, $($serde)*)?)] pub $field: $ty,)*
        }

        impl $name {
            /// The description for generators.
            #[doc(hidden)]
            pub const OBJECT: &'static $crate::protocol::describe::ObjectDescription = {
                use $crate::protocol::describe::{Described, FieldDescription, ObjectDescription};
                static OBJECT: ObjectDescription = ObjectDescription {
                    name: stringify!($name),
                    doc: &[$($doc),*],
                    tag: None,
                    fields: &[$(FieldDescription {
                        name: stringify!($field),
                        json: $json,
                        doc: &[$($field_doc),*],
                        presence: $crate::described!(@presence $presence),
                        ty: <$crate::described!(@type $ty $(, $seen)?) as Described>::TYPE,
                        ..FieldDescription::EMPTY
                    },)*],
                    open: false,
                };
                &OBJECT
            };
        }

        impl $crate::protocol::describe::Described for $name {
            const TYPE: $crate::protocol::describe::Type = $crate::protocol::describe::Type::Model(Self::OBJECT);
        }
    )*};
    (@presence required) => { $crate::protocol::describe::Presence::Required };
    (@presence optional) => { $crate::protocol::describe::Presence::Optional };
    (@type $ty:ty) => { $ty };
    (@type $ty:ty, $seen:ty) => { $seen };
}

/// Declares enums whose variants are names in JSON: each with its names, its default, its JSON form
/// and its description. `non_exhaustive` after the default allows more variants later.
#[doc(hidden)]
#[macro_export]
macro_rules! json_names {
    ($(
        $(#[doc = $doc:literal])*
        $(#[derive($($derived:ident),*)])?
        pub enum $name:ident, by default $default:ident $(, $extensible:ident)? {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $json:literal,)*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, $($($derived),*)?)]
        $(#[$extensible])?
        pub enum $name {
            $($(#[doc = $variant_doc])* #[serde(rename = $json)] $variant,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }

        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: [Self; [$($json),*].len()] = [$(Self::$variant),*];

            /// The name in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $json,)*
                }
            }
        }

        impl $crate::protocol::describe::Described for $name {
            const TYPE: $crate::protocol::describe::Type =
                $crate::protocol::describe::Type::Values(&$crate::protocol::describe::Values {
                    name: stringify!($name),
                    doc: &[$($doc),*],
                    values: &[$(($json, &[$($variant_doc),*])),*],
                    open: false,
                });
        }
    )*};
}
