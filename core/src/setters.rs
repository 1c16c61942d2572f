//! Setters of option structs, so that a new option breaks no program.

/// Writes a setter for each field: `value` takes the type itself, `into` anything that converts into it.
macro_rules! setters {
    ($options:ident { $($kind:ident $setter:ident $field:ident: $type:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("The same options with another [`Self::", stringify!($field), "`].")]
                #[must_use]
                pub fn $setter(mut self, $field: setters!(@type $kind $type)) -> Self {
                    self.$field = setters!(@value $kind $field);
                    self
                }
            )*
        }
    };
    (@type value $type:ty) => { $type };
    (@type into $type:ty) => { impl Into<$type> };
    (@value value $value:ident) => { $value };
    (@value into $value:ident) => { $value.into() };
}

pub(crate) use setters;
