//! Generates the files of the Node package from the surface: models, errors, options and
//! operations. The templates next to this file contain their text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::Result;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Deserialize;
use serde_json::json;

use super::surface::{Field, Record, Surface, Type, Unit};
use super::text::{camel, commented, pascal};
use super::{File, MARK, docs, templates, text};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-node/src";

/// The prefix of deprecation notices.
const DEPRECATED: &str = "@deprecated Since 2026-07-28: ";

/// The model that users replace with a schema, and the message for which a string is accepted.
const FORM_MODEL: &str = "FormSchema";
const MESSAGE_MODEL: &str = "SamplingMessage";

/// The differences of this package from the declaration: `typescript/tables.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    /// Models that this package replaces: a form is a schema of the user's library, its result is
    /// generic over that schema, and a server of a group has an error class of this package.
    replaced: BTreeSet<String>,
    /// Types of members, by their owners, that differ from the core's: narrower if the core keeps
    /// unknown strings, or a JavaScript type.
    types: BTreeMap<String, BTreeMap<String, String>>,
    /// Options that this package represents differently.
    omitted: BTreeMap<String, BTreeSet<String>>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("typescript/tables.json")).expect("typescript/tables.json has tables")
});

pub(crate) fn render(workspace: &Workspace, printed: &Value, surface: &Surface) -> Result<Vec<File>> {
    let environment = environment(workspace, surface)?;
    let lists = surface.models.iter().filter_map(|model| Some((&model.name, model.only_list()?)));
    let own = templates::value(json!({ "replaced": TABLES.replaced, "onlyLists": lists.collect::<BTreeMap<_, _>>() }));
    let context = context! { ..own, ..printed.clone() };
    let files = templates::render(&environment, PACKAGE, &context)?;
    Ok(files.into_iter().map(|(path, text)| (path, format!("// {MARK}\n{text}"))).collect())
}

fn environment(workspace: &Workspace, surface: &Surface) -> Result<Environment<'static>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/typescript"))?;
    environment.add_filter("comment", |text: String, indent: usize| commented(indent, &[text], DEPRECATED));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| commented(indent, &docs, DEPRECATED));
    environment.add_filter("type_of", |Serde(ty): Serde<Type>| type_of(&ty));
    environment.add_filter("typed", |Serde(field): Serde<Field>, owner: String| typed(&owner, &field));
    environment.add_filter("fact_type", |Serde(field): Serde<Field>| typed("facts", &field));
    environment.add_filter("default_of", |Serde(field): Serde<Field>| default_of(&field));
    environment.add_filter("given_options", |Serde(record): Serde<Record>| templates::value(given_options(record)));
    environment.add_filter("user_name", |Serde(field): Serde<Field>| user_name(&field).to_owned());
    environment.add_filter("readonly", |ty: String| readonly(&ty));
    environment.add_filter("param_doc", |Serde(field): Serde<Field>| param_doc(&field, argument(&field), ""));
    environment.add_filter("request_argument", |Serde(field): Serde<Field>, owner: String| {
        templates::value(request_argument(&field, &owner))
    });
    environment.add_filter("handler", |name: String| camel(&format!("on_{name}")));
    // The parameters after the first are then members of one object.
    let named = surface.operations.iter().filter(|row| row.params.len() > 3);
    let params = named.map(|row| format!("{}Params", pascal(&row.name)));
    // The operations define their own `InputRequest`.
    let is_imported = |name: &String| !TABLES.replaced.contains(name) && name != "InputRequest";
    let names = surface.models.iter().map(|model| model.name.clone()).filter(is_imported);
    let known: BTreeSet<String> = names.chain(["JsonObject".to_owned()]).chain(params).collect();
    environment.add_filter("models", move |text: String| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
        let words: BTreeSet<_> = code.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric())).collect();
        known.iter().filter(|name| words.contains(name.as_str())).cloned().collect::<Vec<_>>()
    });
    Ok(environment)
}

pub(super) fn param_doc(field: &Field, argument: &str, more: &str) -> String {
    format!("@param {argument} {}{more}", field.doc)
}

/// A parameter of a handler's request: its name, type and documentation, and the member that it
/// becomes. A form has the type `<form>`.
fn request_argument(field: &Field, owner: &str) -> serde_json::Value {
    let plain = argument(field);
    let (name, ty, value, more) = match &field.ty {
        ty if ty.model() == Some(FORM_MODEL) => {
            ("schema", "<form>".into(), "formSchema(schema)".into(), " A JSON Schema or a Standard Schema.")
        }
        Type::List(item) if item.model() == Some(MESSAGE_MODEL) => {
            let ty = "string | SamplingMessage | readonly SamplingMessage[]".into();
            (plain, ty, format!("conversation({plain})"), " A string is a user message.")
        }
        _ if field.json == "url" => ("url", "string | URL".into(), "String(url)".into(), ""),
        _ => (plain, readonly(&typed(owner, field)), plain.to_owned(), ""),
    };
    let member = if value == field.json { value } else { format!("{}: {value}", field.json) };
    json!({ "name": name, "type": ty, "doc": param_doc(field, name, more), "member": member })
}

/// The options of a record that this package uses unchanged.
fn given_options(record: Record) -> Vec<Field> {
    let omitted = TABLES.omitted.get(&record.name);
    record.fields.into_iter().filter(|field| omitted.is_none_or(|names| !names.contains(&field.json))).collect()
}

/// The default, unless it is obvious.
fn default_of(field: &Field) -> String {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String as Text};

    let Some(value) = &field.default else { return String::new() };
    let text = match value {
        Text(text) => format!("`{text}`"),
        Bool(_) => value.to_string(),
        Number(number) => match (number.as_u64(), field.unit) {
            (Some(number), Some(unit)) => in_unit(number, unit),
            (Some(number), None) => grouped(number),
            (None, _) => number.to_string(),
        },
        Null | Array(_) | Object(_) => return String::new(),
    };
    format!(" Default: {text}.")
}

/// A number with its value in a larger unit.
fn in_unit(number: u64, unit: Unit) -> String {
    let named = docs::in_unit(number, unit);
    let is_larger = !named.starts_with(&number.to_string());
    if is_larger { format!("{} ({named})", grouped(number)) } else { grouped(number) }
}

/// A number with thousands separators, if it has five digits or more.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 { digits } else { text::grouped(&digits) }
}

/// The name for users, who pass times as numbers of milliseconds.
pub(super) fn user_name(field: &Field) -> &str {
    field.json.strip_suffix("Ms").filter(|_| field.ty == Type::Duration).unwrap_or(&field.json)
}

/// Makes lists and maps of options readonly.
fn readonly(ty: &str) -> String {
    if let Some((one, list)) = ty.split_once(" | ").filter(|(_, list)| list.ends_with("[]") && !ty.starts_with('(')) {
        format!("{one} | readonly {list}")
    } else if ty.ends_with("[]") {
        format!("readonly {ty}")
    } else if ty.starts_with("Record<") {
        format!("Readonly<{ty}>")
    } else {
        ty.to_owned()
    }
}

/// `arguments` is reserved in JavaScript.
fn argument(field: &Field) -> &str {
    if field.json == "arguments" { "args" } else { &field.json }
}

fn typed(owner: &str, field: &Field) -> String {
    let ty = [owner, "*"].iter().find_map(|owner| TABLES.types.get(*owner)?.get(&field.json));
    ty.cloned().unwrap_or_else(|| type_of(&field.ty))
}

fn type_of(ty: &Type) -> String {
    match ty {
        Type::String => "string".into(),
        Type::Boolean => "boolean".into(),
        Type::Integer | Type::Number | Type::Duration => "number".into(),
        Type::Json => "unknown".into(),
        Type::Object => "JsonObject".into(),
        Type::OrFalse(inner) => format!("{} | false", type_of(inner)),
        Type::OneOrList(inner) => format!("{} | {}", type_of(inner), list_of(inner)),
        Type::List(inner) => list_of(inner),
        Type::Map(inner) => format!("Record<string, {}>", type_of(inner)),
        Type::Model(name) => name.clone(),
        Type::Values(values) => literals(values),
    }
}

fn list_of(inner: &Type) -> String {
    let inner = type_of(inner);
    if inner.contains(" | ") { format!("({inner})[]") } else { format!("{inner}[]") }
}

fn literals(values: &[String]) -> String {
    values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_typescript() {
        let icons = Type::List(Box::new(Type::Model("Icon".into())));
        assert_eq!(type_of(&icons), "Icon[]");
        assert_eq!(
            type_of(&Type::OneOrList(Box::new(Type::Model("SamplingBlock".into())))),
            "SamplingBlock | SamplingBlock[]"
        );
        assert_eq!(type_of(&Type::Map(Box::new(Type::String))), "Record<string, string>");
        assert_eq!(type_of(&Type::List(Box::new(Type::Values(vec!["a".into(), "b".into()])))), "(\"a\" | \"b\")[]");
    }

    #[test]
    fn defaults_are_readable() {
        assert_eq!((grouped(500), grouped(65_536)), ("500".into(), "65,536".into()));
        assert_eq!(in_unit(1_800_000, Unit::Ms), "1,800,000 (30 min)");
        assert_eq!(in_unit(4 << 20, Unit::Bytes), "4,194,304 (4 MiB)");
        assert_eq!(in_unit(0, Unit::Ms), "0");
    }
}
