//! Descriptions of declared types, from which `cargo xtask generate` writes these types in other
//! languages.
//!
//! The macros that declare models, options and messages emit one of these next to each struct. They
//! are constant data: nothing runs and nothing is allocated for them.

use super::Revision;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Number, Value};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// A type with a known JSON form.
pub trait Described {
    /// The form.
    const TYPE: Type;
    /// When a member of the type is present, if it is not required.
    const PRESENCE: Presence = Presence::Optional;
}

/// The form of a value in JSON.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// A string.
    String,
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// Any number.
    Number,
    /// Any JSON value.
    Json,
    /// An object with members of any kind.
    Object,
    /// A duration; in JSON, milliseconds as a whole number.
    Duration,
    /// A value, or `false` for none.
    OrFalse(&'static Type),
    /// A string, which writers choose from these; readers accept others.
    OneOf(&'static [&'static str]),
    /// One value, or an array of them.
    OneOrList(&'static Type),
    /// An array.
    List(&'static Type),
    /// An object whose members all have one type, under arbitrary names.
    Map(&'static Type),
    /// One of a few strings.
    Values(&'static Values),
    /// An object with known members.
    Model(&'static ObjectDescription),
    /// One of several objects.
    Union(&'static Union),
}

/// An object with known members.
#[derive(Debug)]
pub struct ObjectDescription {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// The constant member `type`, if there is one.
    pub tag: Option<&'static str>,
    /// The members.
    pub fields: &'static [FieldDescription],
    /// `true` if readers keep unknown members.
    pub open: bool,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct FieldDescription {
    /// The name in Rust.
    pub name: &'static str,
    /// The name in JSON.
    pub json: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// When it is present.
    pub presence: Presence,
    /// The type.
    pub ty: Type,
    /// `true` if `null` is a value; otherwise it means that the member is missing.
    pub nullable: bool,
    /// The first and last revision that has it; `None` if it exists wherever the object does.
    pub span: Option<(Revision, Revision)>,
    /// The unit of a number.
    pub unit: Option<Unit>,
    /// The number of a limit in C.
    pub limit: Option<u8>,
    /// Its default.
    pub default: Option<fn() -> Value>,
}

impl FieldDescription {
    /// The type of the values that readers accept: a JSON Schema may be any value here, but the
    /// specification has it as an object, and so have languages with types.
    #[doc(hidden)]
    pub fn readable(&self) -> Type {
        if matches!(self.ty, Type::Json) && self.json.ends_with("Schema") { Type::Object } else { self.ty }
    }

    /// A member of which nothing is known.
    #[doc(hidden)]
    pub const EMPTY: Self = Self {
        name: "",
        json: "",
        doc: &[],
        presence: Presence::Optional,
        ty: Type::Json,
        nullable: false,
        span: None,
        unit: None,
        limit: None,
        default: None,
    };
}

/// The number of members of an object and of those that are flattened into it.
#[doc(hidden)]
pub const fn count(parts: &[&[FieldDescription]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// The members of an object and of those that are flattened into it.
#[doc(hidden)]
pub const fn joined<const COUNT: usize>(parts: &[&[FieldDescription]]) -> [FieldDescription; COUNT] {
    let mut fields = [FieldDescription::EMPTY; COUNT];
    let (mut next, mut part) = (0, 0);
    while part < parts.len() {
        let mut field = 0;
        while field < parts[part].len() {
            fields[next] = parts[part][field];
            next += 1;
            field += 1;
        }
        part += 1;
    }
    fields
}

/// When a member is present. Serialized as its name in the surface, as is [`Unit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Always.
    Required,
    /// May be absent.
    Optional,
    /// An array; empty if absent.
    List,
    /// A boolean; false if absent.
    Flag,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
}

/// One of a few strings.
#[derive(Debug)]
pub struct Values {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// The strings, each with its documentation.
    pub values: &'static [(&'static str, &'static [&'static str])],
    /// `true` if readers keep unknown strings.
    pub open: bool,
}

/// One of several objects.
#[derive(Debug)]
pub struct Union {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The documentation, one line per item.
    pub doc: &'static [&'static str],
    /// The member that distinguishes the variants; `None` if each variant has its own member.
    pub tag: Option<&'static str>,
    /// The variants, each with the tag's value, or the member that identifies it.
    pub variants: &'static [(&'static str, Type)],
    /// `true` if readers keep unknown objects.
    pub open: bool,
}

macro_rules! described {
    ($($shape:ident: $($ty:ty),+;)*) => {
        $($(impl Described for $ty {
            const TYPE: Type = Type::$shape;
        })+)*
    };
}

described! {
    String: String, str, PathBuf;
    Integer: u16, u32, u64, usize, i64;
    Number: f64, Number;
    Json: Value, super::RawJson;
    Object: Map<String, Value>, super::RpcError;
    Duration: Duration;
}

impl<T: Described> Described for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
    const PRESENCE: Presence = Presence::List;
}

impl<T: Described> Described for BTreeMap<String, T> {
    const TYPE: Type = Type::Map(&T::TYPE);
}

impl<T: Described> Described for IndexMap<String, T> {
    const TYPE: Type = Type::Map(&T::TYPE);
}

impl<T: Described> Described for Option<T> {
    const TYPE: Type = T::TYPE;
}

impl Described for bool {
    const TYPE: Type = Type::Boolean;
    const PRESENCE: Presence = Presence::Flag;
}

impl Described for (String, String) {
    const TYPE: Type = Type::List(&Type::String);
}
