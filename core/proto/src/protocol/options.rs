//! Options: structs whose members are declared once, with their JSON form, unit and default.
//!
//! `options!` generates the struct, its default, its JSON deserialization and its description. A
//! member that is absent or `null` gets its default; an unknown member is an error.

use super::{
    describe::{Described, ObjectDescription, Presence, Type, Unit},
    fault::Fault,
    known_names::unknown_name,
    located::LocatedError,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error, MapAccess, Visitor},
};
use serde_json::Value;
use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

/// A struct of options.
pub trait Options: Default {
    /// The description, with the members of flattened structs.
    const OBJECT: &'static ObjectDescription;

    /// Reads the next value of a map into the option with that name. Returns `false`, without
    /// reading anything, if there is no such option.
    ///
    /// # Errors
    /// If the value is invalid for the option.
    fn set<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

    /// The JSON names of the options that differ from their default.
    fn changed(&self) -> Vec<&'static str>;
}

/// Reads options.
///
/// # Errors
/// If an option is unknown or its value invalid.
pub fn read<'de, T: Options, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    members(T::default(), deserializer)
}

/// Reads options over those of `base`, which are the defaults.
///
/// # Errors
/// As for [`read`]; the error has the path of the option.
pub fn read_over<T: Options>(base: T, given: &Value) -> Result<T, Fault> {
    let json = given.to_string();
    let over = |base, json| members(base, &mut serde_json::Deserializer::from_str(json));
    over(base, &json).map_err(|error| {
        let error = LocatedError::new(&json, &error, &|json| over(T::default(), json).err());
        Fault::of(Type::Model(T::OBJECT), given, error)
    })
}

fn members<'de, T: Options, D: Deserializer<'de>>(base: T, deserializer: D) -> Result<T, D::Error> {
    struct Members<T>(T);

    impl<'de, T: Options> Visitor<'de> for Members<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object of options ({})", T::OBJECT.name)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut options = self.0;
            while let Some(MemberName(name)) = map.next_key()? {
                if !options.set(&name, &mut map)? {
                    return Err(unknown(&name, T::OBJECT));
                }
            }
            Ok(options)
        }
    }

    deserializer.deserialize_map(Members(base))
}

/// Creates the error for an unknown member.
pub fn unknown<E: Error>(name: &str, of: &ObjectDescription) -> E {
    let known: Vec<_> = of.fields.iter().map(|field| field.json).collect();
    E::custom(unknown_name(name, &known))
}

/// The name of a member, borrowed from the JSON if it has no escapes.
#[doc(hidden)]
#[derive(Deserialize)]
#[serde(transparent)]
pub struct MemberName<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A JSON form of a type's values.
pub trait JsonForm<T> {
    /// The type in JSON.
    const TYPE: Type;
    /// The unit.
    const UNIT: Option<Unit> = None;
    /// The presence of a member of this type.
    const PRESENCE: Presence = Presence::Optional;

    /// Reads a value.
    ///
    /// # Errors
    /// If the value does not have this form.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;

    /// Reads the next value of a map; `null` counts as absent.
    ///
    /// # Errors
    /// If the value does not have this form.
    fn take<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<T>, A::Error>
    where
        Self: Sized,
    {
        Ok(map.next_value::<Option<Formed<T, Self>>>()?.map(|Formed(value, _)| value))
    }

    /// Writes a value, to document a default.
    fn write(value: &T) -> Value;
}

/// The type's own form. The default of a required member is meaningless and rejected.
pub struct Plain<const IS_REQUIRED: bool = false, const IS_SIZE: bool = false>;

/// The type's own form, for a required member.
pub type Required = Plain<true>;

/// The type's own form, for a size in bytes.
pub type Bytes = Plain<false, true>;

impl<T, const IS_REQUIRED: bool, const IS_SIZE: bool> JsonForm<T> for Plain<IS_REQUIRED, IS_SIZE>
where
    T: Described + DeserializeOwned + Serialize,
{
    const TYPE: Type = T::TYPE;
    const UNIT: Option<Unit> = if IS_SIZE { Some(Unit::Bytes) } else { None };
    const PRESENCE: Presence = if IS_REQUIRED { Presence::Required } else { Presence::Optional };

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }

    fn write(value: &T) -> Value {
        serde_json::to_value(value).unwrap_or_default()
    }
}

/// A duration in whole milliseconds, bounded so that adding one to a time cannot overflow.
pub struct Millis;

/// Maximum duration that hosts can specify: a century.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// For a [`Duration`], and for an optional one.
impl<T: Copy + From<Duration> + Into<Option<Duration>>> JsonForm<T> for Millis {
    const TYPE: Type = Type::Duration;
    const UNIT: Option<Unit> = Some(Unit::Milliseconds);

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        u64::deserialize(deserializer).map(|given| Duration::from_millis(given).min(CENTURY).into())
    }

    fn write(value: &T) -> Value {
        let value: Option<Duration> = (*value).into();
        value.map(|value| u64::try_from(value.as_millis()).unwrap_or(u64::MAX)).into()
    }
}

/// A string, or `false` for none. `true` is the default.
pub struct OrFalse;

impl JsonForm<Option<String>> for OrFalse {
    const TYPE: Type = Type::OrFalse(&Type::String);

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(false) => Ok(None),
            Value::String(text) => Ok(Some(text)),
            other => Err(D::Error::custom(format_args!("{other} is neither a string nor false"))),
        }
    }

    fn write(value: &Option<String>) -> Value {
        value.as_ref().map_or(Value::Bool(false), |text| text.as_str().into())
    }
}

/// The permissions of a file in octal digits, such as `"660"`.
pub struct Permissions;

impl JsonForm<u32> for Permissions {
    const TYPE: Type = Type::String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 8)
            .ok()
            .filter(|mode| *mode <= 0o777)
            .ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a file mode such as \"660\"")))
    }

    fn write(value: &u32) -> Value {
        format!("{value:o}").into()
    }
}

/// A port number.
pub struct PortNumber;

impl JsonForm<u16> for PortNumber {
    const TYPE: Type = Type::Integer;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
        let port = u64::deserialize(deserializer)?;
        u16::try_from(port)
            .map_err(|_| D::Error::custom(format_args!("{port} is not a valid port: the maximum is 65535")))
    }

    fn write(value: &u16) -> Value {
        (*value).into()
    }
}

/// A value together with its JSON form.
struct Formed<T, F>(T, PhantomData<F>);

impl<'de, T, F: JsonForm<T>> Deserialize<'de> for Formed<T, F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        F::read(deserializer).map(|value| Self(value, PhantomData))
    }
}

/// Declares structs of options.
///
/// A row is `name: Type => "nameInJson" = default,`. `as Form` after the JSON name gives it a JSON
/// form other than its own ([`JsonForm`]); a row without `=>` exists in Rust only. Rows `name:
/// Type,` after a `;` include the options of another such struct. The struct is `non_exhaustive`;
/// each row has a setter `with_name`. The setter of `@into name: Type` takes anything that converts
/// into the type, that of `@some(Value) name: Option<Value>` anything that converts into the value,
/// and that of `@each(Item) name: Vec<Item>` a list of anything that converts into items. `limit 7`
/// after the JSON name is the number of a limit in C. It never changes and is never reused: a new
/// limit gets the next one.
///
/// `setters name` after the struct defines a macro. `name!(self, self.options)` in the `impl` of a
/// type that holds the struct gives the type a setter for each row with a JSON name.
#[macro_export]
macro_rules! options {
    ($(
        $(#[doc = $doc:literal])*
        $(#[derive($($derived:ident),* $(,)?)])?
        pub struct $name:ident {
            $($(#[doc = $field_doc:literal])* $(#[deprecated(note = $field_note:literal)])? $(@$into:ident $(($given:ty))?)? $field:ident: $ty:ty $(=> $json:literal $(limit $limit:literal)? $(as $form:path)?)? = $default:expr,)*
            $(; $($(#[doc = $flat_doc:literal])* $flat:ident: $flat_ty:ty,)*)?
        }
        $(setters $setters:ident)?
    )*) => {$(
        $(#[doc = $doc])*
        $(#[derive($($derived),*)])?
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $field_doc])* #[doc = concat!("\n\nDefault: `", stringify!($default), "`.")] $(#[deprecated(note = $field_note)])? pub $field: $ty,)*
            $($($(#[doc = $flat_doc])* pub $flat: $flat_ty,)*)?
        }

        #[allow(deprecated, reason = "a row may be")]
        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* $($($flat: <$flat_ty>::default(),)*)? }
            }
        }

        $crate::pastey::paste! {
            $crate::setters!($name {
                $($(#[deprecated(note = $field_note)])? [$($into)?] [<with_ $field>] $field: $crate::options!(@given [$ty] [$($($given)?)?]),)*
                $($([] [<with_ $flat>] $flat: $flat_ty,)*)?
            });
        }

        #[allow(deprecated, reason = "a row may be")]
        impl $crate::protocol::options::Options for $name {
            const OBJECT: &'static $crate::protocol::describe::ObjectDescription = {
                use $crate::protocol::describe::{FieldDescription, ObjectDescription, count, joined};
                const PARTS: &[&[FieldDescription]] = &[
                    $($crate::options!(@row $field [$($field_doc)* $(deprecated $field_note)?] [$ty] [$($json [$($limit)?] $(as $form)?)?] [$default]),)*
                    $($(<$flat_ty as $crate::protocol::options::Options>::OBJECT.fields,)*)?
                ];
                static FIELDS: [FieldDescription; count(PARTS)] = joined(PARTS);
                static OBJECT: ObjectDescription =
                    ObjectDescription { name: stringify!($name), doc: &[$($doc),*], tag: None, fields: &FIELDS, open: false };
                &OBJECT
            };

            fn set<'de, A: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
                $($(if name == $json {
                    if let Some(given) = <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::take(map)? {
                        self.$field = given;
                    }
                    return Ok(true);
                })?)*
                $($(if $crate::protocol::options::Options::set(&mut self.$flat, name, map)? {
                    return Ok(true);
                })*)?
                Ok(false)
            }

            fn changed(&self) -> Vec<&'static str> {
                let default = Self::default();
                let mut changed = Vec::new();
                $($(
                    let json = <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::write;
                    if json(&self.$field) != json(&default.$field) {
                        changed.push($json);
                    }
                )?)*
                $($(changed.extend($crate::protocol::options::Options::changed(&self.$flat));)*)?
                changed
            }
        }

        impl $crate::protocol::describe::Described for $name {
            const TYPE: $crate::protocol::describe::Type =
                $crate::protocol::describe::Type::Model(<Self as $crate::protocol::options::Options>::OBJECT);
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::protocol::options::read(deserializer)
            }
        }

        $crate::options!(@setters [$($setters)?] [] $([$($into)?] $field [$($field_doc)*] [$crate::options!(@given [$ty] [$($($given)?)?])] [$($json)?];)*);
    )*};

    (@given [$ty:ty] []) => { $ty };
    (@given [$ty:ty] [$given:ty]) => { $given };

    (@form) => { $crate::protocol::options::Plain };
    (@form $form:path) => { $form };

    // Rust only.
    (@row $field:ident $doc:tt [$ty:ty] [] [$default:expr]) => { &[] };
    (@row $field:ident [$($doc:literal)* $(deprecated $note:literal)?] [$ty:ty] [$json:literal [$($limit:literal)?] $(as $form:path)?] [$default:expr]) => {
        &[$crate::protocol::describe::FieldDescription {
            name: stringify!($field),
            json: $json,
            doc: &[$($doc,)* $(concat!(" Deprecated ", $note, "."))?],
            presence: <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::PRESENCE,
            ty: <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::TYPE,
            unit: <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::UNIT,
            limit: $crate::options!(@limit $($limit)?),
            default: match <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::PRESENCE {
                $crate::protocol::describe::Presence::Required => None,
                _ => Some(|| {
                    let default: $ty = $default;
                    <$crate::options!(@form $($form)?) as $crate::protocol::options::JsonForm<$ty>>::write(&default)
                }),
            },
            ..$crate::protocol::describe::FieldDescription::EMPTY
        }]
    };

    (@limit) => { None };
    (@limit $limit:literal) => { Some($limit) };

    (@setters [] $($rows:tt)*) => {};
    // Rust only.
    (@setters $name:tt [$($done:tt)*] $kind:tt $field:ident $doc:tt $given:tt []; $($rest:tt)*) => {
        $crate::options!(@setters $name [$($done)*] $($rest)*);
    };
    (@setters $name:tt [$($done:tt)*] $kind:tt $field:ident $doc:tt $given:tt [$json:literal]; $($rest:tt)*) => {
        $crate::options!(@setters $name [$($done)* $kind $field $doc $given;] $($rest)*);
    };
    (@setters [$name:ident] [$([$($kind:ident)?] $field:ident [$($doc:literal)*] [$given:ty];)*]) => {
        macro_rules! $name {
            ($this:ident, $place:expr) => {
                $(
                    $(#[doc = $doc])*
                    pub fn $field(mut $this, $field: $crate::setters!(@type [$($kind)?] $given)) -> Self {
                        $place.$field = $crate::setters!(@value [$($kind)?] $field);
                        $this
                    }
                )*
            };
        }
        #[allow(unused_imports, reason = "the module may have the only holder")]
        pub(crate) use $name;
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{ElicitAction, Root};
    use serde_json::json;
    use std::collections::BTreeMap;

    options! {
        /// Inner.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Inner {
            /// A size.
            max_bytes: usize => "maxBytes" limit 3 as Bytes = 4 << 20,
        }
        setters inner_setters
    }

    #[derive(Default)]
    struct Holder {
        inner: Inner,
    }

    impl Holder {
        inner_setters!(self, self.inner);
    }

    options! {
        /// Outer.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Outer {
            /// A number.
            page_size: usize => "pageSize" = 1000,
            /// A time.
            idle: Duration => "idleMs" as Millis = Duration::from_secs(5),
            /// A port.
            port: u16 => "port" as PortNumber = 1,
            /// A path.
            @into path: Option<String> => "path" as OrFalse = Some("/sse".into()),
            /// A name.
            action: ElicitAction => "action" = ElicitAction::Cancel,
            /// Names.
            names: Vec<String> => "names" = Vec::new(),
            /// Lists by name.
            lists: BTreeMap<String, Vec<String>> => "lists" = BTreeMap::new(),
            /// Roots.
            roots: Option<Vec<Root>> => "roots" = None,
            /// Not in JSON.
            hook: Option<u8> = None,
            ;
            /// The others.
            inner: Inner,
        }
    }

    fn read(value: Value) -> Result<Outer, String> {
        read_over(Outer::default(), &value).map_err(|fault| fault.to_string())
    }

    #[test]
    fn absent_and_null_members_have_their_default() {
        assert_eq!(read(json!({})), Ok(Outer::default()));
        assert_eq!(read(json!({"pageSize": null, "idleMs": null})), Ok(Outer::default()));
    }

    #[test]
    fn members_are_read_in_their_form_and_flattened_ones_among_them() {
        let given = read(json!({"idleMs": 20, "path": false, "maxBytes": 7})).unwrap();
        assert_eq!((given.idle, given.path, given.inner.max_bytes), (Duration::from_millis(20), None, 7));
    }

    #[test]
    fn each_row_has_its_setter() {
        let set = Outer::default().with_page_size(2).with_idle(Duration::ZERO).with_path(None).with_hook(Some(1));
        let set = set.with_action(ElicitAction::Accept).with_inner(Inner::default().with_max_bytes(7));
        let set = set.with_names(Vec::new()).with_lists(BTreeMap::new()).with_roots(None).with_port(2);
        let inner = Inner { max_bytes: 7 };
        let action = ElicitAction::Accept;
        let rest = Outer::default();
        let expected =
            Outer { page_size: 2, idle: Duration::ZERO, port: 2, path: None, action, hook: Some(1), inner, ..rest };
        assert_eq!(set, expected);
        assert_eq!(set.with_path("/x".to_owned()).path.as_deref(), Some("/x"));
    }

    #[test]
    fn a_type_that_holds_options_has_their_setters() {
        assert_eq!(Holder::default().max_bytes(7).inner, Inner { max_bytes: 7 });
    }

    #[test]
    fn changes_are_named() {
        assert_eq!(Outer::default().changed(), [""; 0]);
        let given = read(json!({"pageSize": 1000, "idleMs": 20, "path": false, "maxBytes": 7})).unwrap();
        assert_eq!(given.changed(), ["idleMs", "path", "maxBytes"]);
    }

    #[test]
    fn errors_name_the_member() {
        for (given, problem) in [
            (json!({"pageSize": "x"}), r#"pageSize: must be a non-negative integer, not "x""#),
            (
                json!({"pageSize": "8000"}),
                r#"pageSize: must be a non-negative integer, not "8000": give the number 8000"#,
            ),
            (json!({"pageSize": -3}), "pageSize: must be a non-negative integer, not -3"),
            (json!({"pageSize": 2.5}), "pageSize: must be a non-negative integer, not 2.5"),
            (json!({"idleMs": [1]}), "idleMs: must be a non-negative duration, not a list"),
            (json!({"idleMs": -1}), "idleMs: must be a non-negative duration, not -1"),
            (json!({"port": 70000}), "port: 70000 is not a valid port: the maximum is 65535"),
            (json!({"port": -1, "action": "accept"}), "port: must be a non-negative integer, not -1"),
            (json!({"action": 3}), r#"action: must be "accept" or "decline" or "cancel", not 3"#),
            (json!({"action": "no"}), r#"action: must be "accept" or "decline" or "cancel", not "no""#),
            (json!({"path": 3}), "path: must be a string or false, not 3"),
            (json!({"names": ["a", 3]}), "names[1]: must be a string, not 3"),
            (json!({"names": "a"}), r#"names: must be a list, not "a""#),
            (json!({"lists": {"a": "b"}}), r#"lists.a: must be a list, not "b""#),
            (json!({"roots": [{"uri": "file:///a"}, {"uri": 3}]}), "roots[1].uri: must be a string, not 3"),
            (json!({"roots": [{}]}), "roots[0].uri: is missing"),
        ] {
            assert_eq!(read(given).unwrap_err(), problem);
        }
        for (name, is_close) in [("pagesize", true), ("pageSizes", true), ("maxByte", true), ("hook", false)] {
            let unknown = read(json!({name: 1})).unwrap_err();
            assert!(unknown.contains(&format!("unknown option `{name}`: ")), "{unknown}");
            assert_eq!(unknown.contains(": did you mean `"), is_close, "{unknown}");
            assert_eq!(unknown.contains("valid options are `pageSize`"), !is_close, "{unknown}");
        }
    }

    #[test]
    fn descriptions_know_unit_default_and_limit() {
        let fields = Outer::OBJECT.fields;
        assert_eq!(
            fields.iter().map(|field| field.json).collect::<Vec<_>>(),
            ["pageSize", "idleMs", "port", "path", "action", "names", "lists", "roots", "maxBytes"]
        );
        assert_eq!((fields[1].unit, fields[1].default.unwrap()()), (Some(Unit::Milliseconds), json!(5000)));
        assert_eq!((fields[8].unit, fields[8].default.unwrap()()), (Some(Unit::Bytes), json!(4 << 20)));
        assert_eq!((fields[0].limit, fields[8].limit), (None, Some(3)));
    }
}
