//! Setters of option structs, so that a new option breaks no program.

/// Writes a setter for each field: `[]` takes the type itself, `[into]` anything that converts into
/// it, and `[some]` the value of an `Option`.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ident { $([$($kind:ident)?] $setter:ident $field:ident: $type:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("The same options with another [`Self::", stringify!($field), "`].")]
                #[must_use]
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
    (@value [] $value:ident) => { $value };
    (@value [into] $value:ident) => { $value.into() };
    (@value [some] $value:ident) => { Some($value.into()) };
}
