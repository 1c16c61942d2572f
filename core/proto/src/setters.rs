//! Setters of option structs, so that a new option is not a breaking change.

/// Generates a setter for each field: `[]` takes the type itself, `[into]` anything that converts
/// into it, `[some]` anything that converts into the value of an `Option`, and `[each]` anything
/// that converts into the items of a list. The type is that of the value.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ident { $($(#[deprecated(note = $note:literal)])? [$($kind:ident)?] $setter:ident $field:ident: $type:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("The same options with another [`Self::", stringify!($field), "`].")]
                $(#[deprecated(note = $note)])?
                #[must_use]
                #[allow(deprecated, reason = "the member is as well")]
                pub fn $setter(mut self, $field: $crate::setters!(@type [$($kind)?] $type)) -> Self {
                    self.$field = $crate::setters!(@value [$($kind)?] $field);
                    self
                }
            )*
        }
    };
    (@type [] $type:ty) => { $type };
    (@type [into] $type:ty) => { impl Into<$type> };
    (@type [some] $type:ty) => { impl Into<$type> };
    (@type [each] $type:ty) => { impl IntoIterator<Item: Into<$type>> };
    (@value [] $value:ident) => { $value };
    (@value [into] $value:ident) => { $value.into() };
    (@value [some] $value:ident) => { Some($value.into()) };
    (@value [each] $value:ident) => { $value.into_iter().map(Into::into).collect() };
}
