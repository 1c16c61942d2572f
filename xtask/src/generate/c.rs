//! Generates the files of the C library from the surface: result codes, options, operations. The
//! templates next to this file contain their text, and their comments become the header's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::{Result, bail};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::surface::{Field, Model, Surface, Type, Unit};
use super::text::{lowered, marked, prefixed, snake, wrapped, wrapped_items};
use super::{File, MARK, templates};
use crate::stamp::files_under;
use crate::workspace::Workspace;

const FOLDER: &str = "bindings-c/src";

/// The tag for documentation of deprecated items.
const DEPRECATED: &str = "@deprecated Since 2026-07-28: ";

/// The width of a comment's text.
const WIDTH: usize = 94;

pub(crate) fn render(workspace: &Workspace, printed: &Value, surface: &Surface) -> Result<Vec<File>> {
    let mut environment = environment(workspace)?;
    let (objects, limits) = option_objects(surface);
    // A retired number has no name.
    let mut names = vec![""; limits.iter().filter_map(|field| field.limit).max().unwrap_or(0)];
    for (number, field) in limits.iter().filter_map(|field| Some((field.limit?, field))) {
        names[number - 1] = &field.json;
    }
    let rows = surface.operations.iter().filter(|row| row.fixed.is_empty());
    let methods: BTreeMap<String, &str> = rows.map(|row| (row.name.to_uppercase(), &*row.method)).collect();
    let own = templates::value(json!({
        "methods": methods,
        "limitNames": names,
        "limits": numbered(&limits)?,
        "optionObjects": objects,
    }));
    let mut files = templates::render(&environment, FOLDER, &context! { ..own, ..printed.clone() })?;
    // After the others, because it depends on signatures in them.
    let sources = sources(workspace, &files)?;
    environment.add_function("signature", move |name: String| signature(&sources, &name));
    files.push((format!("{FOLDER}/generated/plain.rs"), environment.get_template("plain.j2")?.render(())?));
    let marked = |(path, text): File| match path.ends_with(".h") {
        true => (path, format!("/* {MARK} */\n\n{text}")),
        false => (path, format!("//! {MARK}\n//!\n{text}")),
    };
    Ok(files.into_iter().map(marked).collect())
}

/// The sources of the library, those in `generated` first.
pub(super) fn sources(workspace: &Workspace, generated: &[File]) -> Result<String> {
    let mut sources: String = generated.iter().map(|(_, text)| text.as_str()).collect();
    for path in files_under(&workspace.path(FOLDER))? {
        sources += &std::fs::read_to_string(path)?;
    }
    Ok(sources)
}

/// The parameters of an exported function, each with its type.
type Params<'a> = Vec<(&'a str, &'a str)>;

/// The parameters of an exported function, and the type of its result, if it has one.
pub(super) fn declaration<'a>(sources: &'a str, name: &str) -> Option<(Params<'a>, Option<&'a str>)> {
    let (_, rest) = sources.split_once(&format!("fn trunkline_{name}("))?;
    let (params, rest) = rest.split_once(')')?;
    let (result, _) = rest.split_once('{')?;
    let params = params.split(',').filter_map(|param| param.trim().split_once(": ")).collect();
    Some((params, result.trim().strip_prefix("-> ")))
}

fn signature(sources: &str, name: &str) -> Value {
    let (params, result) = declaration(sources, name).expect("the function is exported");
    templates::value(json!({ "params": params, "result": result }))
}

fn environment(workspace: &Workspace) -> Result<Environment<'static>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/c"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&text, indent));
    let lines = |doc: &str| wrapped(&marked(doc, DEPRECATED), WIDTH).join("\n * ").replace(" \n", "\n");
    environment.add_filter("lines", move |doc: String| lines(&doc));
    environment.add_filter("sets", |doc: String| sets(&doc));
    environment.add_filter("sets_whether", |doc: String| sets_whether(&doc));
    environment.add_filter("adds", |doc: String| adds(&doc));
    environment.add_filter("with_default", |doc: String, Serde(field): Serde<Field>| with_default(&field, &doc));
    environment.add_filter("lowered", |doc: String| lowered(&doc));
    environment.add_filter("singular", |member: String| singular_of(&member));
    environment.add_filter("given_by", |Serde(field): Serde<Field>| given_by(&field));
    environment.add_filter("setter_name", |Serde(field): Serde<Field>| setter_name(&field));
    environment.add_filter("result_name", |kind: String| result_name(&kind));
    Ok(environment)
}

/// Converts a Rust doc comment to a C comment. List items begin with a hyphen.
fn comment(text: &str, indent: usize) -> String {
    let lines = wrapped_items(&marked(text, DEPRECATED), WIDTH - indent, &["- "]);
    prefixed(&lines, &format!("{}/// ", " ".repeat(indent))).trim_end().to_owned()
}

pub(super) fn result_name(kind: &str) -> String {
    let name = if kind == "version" { "version_mismatch".to_owned() } else { snake(kind) };
    format!("TRUNKLINE_{}", name.to_uppercase())
}

/// How C sets the options: `c/options.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    objects: Vec<Object>,
    /// Options that functions in `options.rs` set, with those functions.
    by_hand: BTreeMap<String, String>,
}

/// An options object of C: its name, and where its members are declared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    name: String,
    sources: Vec<Source>,
    #[serde(default)]
    together: Vec<Together>,
}

/// Members generated from a declaration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// The name of the options, message or model.
    record: String,
    /// The member of the Rust struct that stores them.
    place: String,
    /// Members without a generated setter: they are passed as other arguments, or several are set
    /// by one function.
    #[serde(default)]
    except: BTreeSet<String>,
    /// Numeric members are limits, set by one function.
    #[serde(default)]
    limits: bool,
    /// Appended to each comment.
    #[serde(default)]
    note: String,
}

/// Options set by one function, because one is of little use without the others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Together {
    /// The record that declares the options.
    record: String,
    members: Vec<String>,
    /// The name after `set_`.
    name: String,
    doc: String,
}

static OPTIONS: LazyLock<Options> =
    LazyLock::new(|| serde_json::from_str(include_str!("c/options.json")).expect("c/options.json has options"));

/// Lists that are passed as a whole, as a JSON array.
const WHOLE_LISTS: [&str; 1] = ["scopes"];

/// The objects of options with their members, and the limits of servers.
fn option_objects(surface: &Surface) -> (Vec<Json>, Vec<&Field>) {
    let (mut objects, mut limits) = (Vec::new(), Vec::new());
    for Object { name, sources, together } in &OPTIONS.objects {
        let mut set = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            // A message also has the fields of its options.
            let follows = |field: &Field| {
                let mut later = sources[number + 1..].iter().flat_map(|later| fields(surface, &later.record));
                ["Request", "RegisterTool"].contains(&&*source.record) && later.any(|other| other.json == field.json)
            };
            let given = fields(surface, &source.record).iter();
            let given = given.filter(|field| !source.except.contains(&field.json) && !follows(field));
            let (numbers, others): (Vec<_>, Vec<_>) = given.partition(|field| source.limits && is_number(field));
            limits.extend(numbers);
            set.push(json!({ "place": source.place, "note": source.note, "fields": others }));
        }
        let together = together.iter().map(|Together { record, members, name, doc }| {
            let of = |json: &String| fields(surface, record).iter().find(|field| field.json == *json);
            let fields: Vec<_> = members.iter().map(|json| of(json).expect("the option is declared")).collect();
            json!({ "name": name, "doc": doc, "fields": fields })
        });
        objects.push(json!({ "name": name, "sources": set, "together": together.collect::<Vec<_>>() }));
    }
    (objects, limits)
}

fn fields<'a>(surface: &'a Surface, name: &str) -> &'a [Field] {
    let record = surface.options.iter().chain(&surface.messages).find(|record| record.name == name);
    let found = record.map(|record| &*record.fields).or_else(|| surface.object(name).map(Model::fields));
    found.unwrap_or_else(|| panic!("the surface has no {name}"))
}

fn is_number(field: &Field) -> bool {
    matches!(field.ty, Type::Integer | Type::Duration)
}

/// The limits by number, which does not depend on the order of the options.
fn numbered(limits: &[&Field]) -> Result<Vec<Json>> {
    let mut numbered = BTreeMap::new();
    for field in limits {
        let Some(number) = field.limit else {
            bail!("the limit {0} has no number in C: write `\"{0}\" limit {1}`", field.json, limits.len());
        };
        if numbered.insert(number, field).is_some() {
            bail!("the limit {} has the number {number} of another one in C", field.json);
        }
    }
    let limit = |(number, field): (usize, &&Field)| json!({ "number": number, "name": field.json, "doc": with_default(field, &field.doc) });
    Ok(numbered.into_iter().map(limit).collect())
}

/// The function that sets an option, without `trunkline_`, or its limit, if C has one.
pub(crate) fn option(record: &str, field: &Field) -> Option<String> {
    let name = &field.json;
    for object in &OPTIONS.objects {
        if let Some(row) = object.together.iter().find(|row| row.record == record && row.members.contains(name)) {
            return Some(format!("{}_options_set_{}", object.name, row.name));
        }
    }
    let message = record.strip_suffix("Options").unwrap_or(record);
    let (object, source) = OPTIONS.objects.iter().find_map(|object| {
        let mut sources = object.sources.iter().filter(|source| [record, message].contains(&&*source.record));
        let source = sources.clone().find(|source| !source.except.contains(name)).or_else(|| sources.next())?;
        Some((&object.name, source))
    })?;
    if source.limits && is_number(field) {
        Some(format!("TRUNKLINE_LIMIT_{}", snake(name).to_uppercase()))
    } else if source.except.contains(name) {
        OPTIONS.by_hand.get(name).cloned()
    } else {
        Some(format!("{object}_options_{}", setter_name(field)))
    }
}

/// The argument of an option's setter: one of several items, members by name, or the whole value.
fn given_by(field: &Field) -> &'static str {
    match &field.ty {
        Type::List(items) if **items == Type::String && !WHOLE_LISTS.contains(&&*field.json) => "item",
        // Input responses are passed together.
        Type::Map(_) if field.json != "inputResponses" => "name",
        // Empty by default.
        Type::Object if field.default.as_ref().is_some_and(Json::is_object) => "name",
        _ => "value",
    }
}

/// The name of a setter, without that of its object.
fn setter_name(field: &Field) -> String {
    let member = snake(&field.json);
    let singular = singular_of(&member);
    match (given_by(field), singular.strip_prefix("allowed_")) {
        ("item", Some(allowed)) => format!("allow_{allowed}"),
        ("item", None) => format!("add_{singular}"),
        ("name", _) => format!("set_{singular}"),
        _ => format!("set_{member}"),
    }
}

/// The singular of a list's name.
fn singular_of(member: &str) -> String {
    match member.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => member.strip_suffix('s').unwrap_or(member).to_owned(),
    }
}

/// The comment of a boolean option.
fn sets_whether(doc: &str) -> String {
    let sentence = match ["Whether ", "`true` if ", "`true` "].iter().find_map(|start| doc.strip_prefix(start)) {
        Some(rest) => rest.to_owned(),
        None if doc.starts_with("The ") || doc.starts_with("On ") => lowered(doc),
        None => format!("to {}", lowered(doc)),
    };
    format!("Sets whether {sentence}")
}

fn sets(doc: &str) -> String {
    if doc.starts_with("Where ") {
        return format!("Sets {}", lowered(doc));
    }
    let noun = ["The ", "A "].iter().find_map(|article| doc.strip_prefix(article)).unwrap_or(doc);
    format!("Sets the {}", lowered(noun))
}

fn adds(doc: &str) -> String {
    format!("Adds one of the {}", lowered(doc.strip_prefix("The ").unwrap_or(doc)))
}

/// The description of an option, with its unit and default.
fn with_default(field: &Field, doc: &str) -> String {
    let unit = match field.unit {
        Some(Unit::Ms) => " In milliseconds.",
        Some(Unit::Bytes) => " In bytes.",
        None => "",
    };
    let default = match &field.default {
        None | Some(Json::Null) => String::new(),
        Some(default) => format!(" Default {default}."),
    };
    format!("{doc}{unit}{default}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_from_one_line_or_several() {
        let sources = "fn trunkline_plain_log(a: u8) -> u8 {}\nfn trunkline_log(\n    level: trunkline_str,\n    \
                       call: *mut trunkline_call,\n) -> bool {\nfn trunkline_end() -> u64 { 0 }";
        let expected = json!({
            "params": [["level", "trunkline_str"], ["call", "*mut trunkline_call"]], "result": "bool",
        });
        assert_eq!(signature(sources, "log"), templates::value(expected));
        assert_eq!(signature(sources, "end"), templates::value(json!({ "params": [], "result": "u64" })));
    }

    #[test]
    fn a_limit_without_a_number_is_refused() {
        let field = |json: &str, limit: Option<u8>| -> Field {
            let field = json!({
                "name": "x", "json": json, "type": "integer", "presence": "optional", "doc": "X.", "limit": limit,
            });
            serde_json::from_value(field).unwrap()
        };
        let first = field("pageSize", Some(1));
        assert_eq!(numbered(&[&first]).unwrap()[0]["number"], 1);
        for new in [field("maxMoons", None), field("maxMoons", Some(1))] {
            assert!(numbered(&[&first, &new]).unwrap_err().to_string().contains("maxMoons"));
        }
    }
}
