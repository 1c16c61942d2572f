//! Generates the files of the Python package from the surface: models, errors, options, and
//! clients' requests. The templates next to this file contain their text; blocking code is
//! generated from `async` sources (`unasync.rs`).

mod unasync;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::Result;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::surface::{Caller, Field, Model, Operation, Presence, Surface, Type, Unit};
use super::text::{marked, pascal, snake, wrapped};
use super::{File, MARK, templates};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-python/python/trunkline/_internal";

/// The model that Python creates from a class or a JSON Schema.
const FORM_MODEL: &str = "FormSchema";
/// The list item models for which Python also accepts a string.
const MESSAGE_MODELS: [&str; 2] = ["PromptMessage", "SamplingMessage"];
/// The model of a handler's result with a list of them.
const PROMPT_RESULT_MODEL: &str = "GetPromptResult";

/// Line width of prose in docstrings, without the quotes.
const PROSE_WIDTH: usize = 94;

/// Optional members that are positional parameters.
const BY_PLACE: [(&str, &str); 1] = [("Identity", "subject")];

/// Members of registrations that users do not set.
const INTERNAL: [&str; 9] =
    ["server", "lane", "wrap_output", "explains", "tool", "resource", "resource_template", "prompt", "replaces"];

/// The differences of Python from the declaration: `python/tables.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tables {
    /// Models that users write as literals: they are `TypedDict`s with the names of the protocol.
    dicts: BTreeSet<String>,
    /// Models without a generated class: those with hand-written, idiomatic ones, the one in a
    /// module of its own, and the parts of these, of forms, and of a group.
    without_class: BTreeSet<String>,
    /// Models that are internal to the bridge, and choices for which Python accepts any string;
    /// nothing here imports them.
    not_in_python: BTreeSet<String>,
    /// Unions without a Python alias.
    without_alias: BTreeSet<String>,
    /// Base classes that add more than fields.
    bases: BTreeMap<String, String>,
    /// The options that Python does not pass differently.
    options: Vec<Options>,
    /// Options of features. Resources and templates are added by one method.
    feature_options: Vec<Options>,
    /// Options of features with a different default, meaning or type than in the core.
    feature_docs: BTreeMap<String, String>,
    /// Defaults of a mounted endpoint, whose path is chosen by a framework.
    mount_defaults: BTreeMap<String, String>,
    /// Options whose Python type is more precise, or more permissive, than that of the core.
    option_types: BTreeMap<String, String>,
}

/// A `TypedDict` of options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    name: String,
    /// The options of the core, or the descriptor of a feature.
    record: String,
    /// The message with further options of a feature.
    #[serde(default)]
    registration: String,
    /// Members that are passed differently, or that are not options.
    #[serde(default)]
    without: BTreeSet<String>,
}

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| serde_json::from_str(include_str!("python/tables.json")).expect("python/tables.json has tables"));

pub(crate) fn render(workspace: &Workspace, printed: &Value, surface: &Surface) -> Result<Vec<File>> {
    let environment = environment(workspace, surface)?;
    let name = |model: &Model| model.name.clone();
    let (public, hidden): (Vec<_>, Vec<_>) = surface.models.iter().partition(|model| is_public(surface, model));
    let names: Vec<_> = public.into_iter().map(name).collect();
    let classes = surface.models.iter().filter(|model| model.fields.is_some() && has_class(&model.name));
    let mut known = BTreeSet::new();
    let params = surface.host.iter().filter(|row| known.insert(&row.params));
    let params = params.filter_map(|row| surface.object(&row.params));
    let aliased = |name: &str| if name == "ContentBlock" { "Content".to_owned() } else { name.to_owned() };
    let own = templates::value(json!({
        "names": names,
        "classes": classes.map(name).collect::<Vec<_>>(),
        "public": names.iter().map(|name| aliased(name)).collect::<Vec<_>>(),
        "hidden": hidden.into_iter().map(name).collect::<Vec<_>>(),
        "dicts": TABLES.dicts,
        "hostParams": params.map(request_model).collect::<Vec<_>>(),
        "promptResult": surface.object(PROMPT_RESULT_MODEL).map(request_model),
        "optionDicts": option_dicts(surface),
        "handlerRequests": handler_requests(surface),
    }));
    let context = context! { ..own, ..printed.clone() };
    let mut files = templates::render(&environment, PACKAGE, &context)?;
    let folders: BTreeSet<_> = files.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0.to_owned())).collect();
    files.extend(folders.into_iter().map(|folder| (format!("{folder}/__init__.py"), String::new())));
    files.extend(unasync::twins(workspace, PACKAGE, &files)?);
    Ok(files.into_iter().map(|(path, text)| (path, format!("# {MARK}\n{text}"))).collect())
}

fn environment(workspace: &Workspace, surface: &Surface) -> Result<Environment<'static>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/python"))?;
    environment.add_filter("given", |Serde(ty): Serde<Type>| given(&ty));
    environment.add_filter("docstring", |text: String, indent: usize| docstring(indent, &text));
    environment.add_filter("open_docstring", |text: String, indent: usize| open_docstring(indent, &text));
    environment.add_filter("imperative", |text: String| imperative(&text));
    environment.add_filter("arguments", |rows: Vec<Vec<String>>, indent: usize| arguments(indent, &rows));
    let values = surface.models.iter().filter(|model| model.values.is_some()).map(|model| &model.name);
    let plain: BTreeSet<String> = values.chain(&TABLES.dicts).cloned().collect();
    environment.add_filter("members", move |Serde(object): Serde<Model>| templates::value(members(&object, &plain)));
    environment.add_filter("bases", |name: String, tag: Option<String>| bases(&name, tag.is_some()));
    environment.add_filter("argument", |Serde(field): Serde<Field>| vec![field.name, field.doc]);
    environment.add_filter("fact_type", |Serde(field): Serde<Field>| or_none(&field));
    environment.add_filter("without_unit", |name: String| name.trim_end_matches("_ms").to_owned());
    Ok(environment)
}

/// Returns whether programs may import a model or an alias of one.
fn is_public(surface: &Surface, Model { name, fields, values, .. }: &Model) -> bool {
    if values.is_some() {
        !TABLES.not_in_python.contains(name)
    } else if fields.is_some() {
        surface.host.iter().all(|row| row.params != *name) && (TABLES.dicts.contains(name) || has_class(name))
    } else {
        !TABLES.without_alias.contains(name)
    }
}

fn has_class(name: &str) -> bool {
    let Tables { dicts, without_class, not_in_python, .. } = &*TABLES;
    [dicts, without_class, not_in_python].iter().all(|others| !others.contains(name))
}

/// The directive for documentation of deprecated items; its continuation lines are indented.
const DEPRECATED: &str = ".. deprecated:: 2026-07-28 ";

/// The lines of a docstring without the closing quotes.
fn open_docstring(indent: usize, text: &str) -> String {
    let text = marked(&text.replace('\\', "\\\\"), DEPRECATED);
    let (text, directive) = text.split_at(text.find(DEPRECATED).unwrap_or(text.len()));
    let mut lines = wrapped(text.trim_end(), PROSE_WIDTH - indent);
    for line in wrapped(directive, PROSE_WIDTH - indent - 4).into_iter().filter(|line| !line.is_empty()) {
        let is_first = line.starts_with(DEPRECATED);
        lines.extend(is_first.then(String::new));
        lines.push(if is_first { line } else { format!("    {line}") });
    }
    let margin = format!("\n{}", " ".repeat(indent));
    let joined = lines.join(&margin).replace(&format!("{margin}\n"), "\n\n");
    format!("{}\"\"\"{joined}", " ".repeat(indent))
}

fn docstring(indent: usize, text: &str) -> String {
    let open = open_docstring(indent, text);
    let end = if open.contains('\n') { format!("\n{}", " ".repeat(indent)) } else { String::new() };
    format!("{open}{end}\"\"\"")
}

/// A function's documentation with its first verb in the imperative, as in PEP 257.
fn imperative(text: &str) -> String {
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    format!("{} {rest}", verb.strip_suffix('s').unwrap_or(verb))
}

/// The arguments section of a docstring, with each name and description.
fn arguments(indent: usize, rows: &[Vec<String>]) -> String {
    let margin = " ".repeat(indent);
    let lines =
        rows.iter().map(|row| wrapped(&row.join(": "), PROSE_WIDTH - 2 - indent).join(&format!("\n{margin}        ")));
    lines.fold(format!("{margin}Args:"), |text, line| format!("{text}\n{margin}    {line}"))
}

/// The type of a value passed in by users.
fn given(ty: &Type) -> String {
    match ty {
        Type::String => "str".into(),
        Type::Boolean => "bool".into(),
        Type::Integer => "int".into(),
        Type::Number | Type::Duration => "float".into(),
        Type::Json => "Any".into(),
        Type::Object => "Mapping[str, Any]".into(),
        Type::OrFalse(inner) => format!("{} | Literal[False]", given(inner)),
        Type::OneOrList(inner) => format!("{0} | Sequence[{0}]", given(inner)),
        Type::List(inner) => format!("Sequence[{}]", given(inner)),
        Type::Map(inner) => format!("Mapping[str, {}]", given(inner)),
        Type::Model(name) if name == "ContentBlock" || name == "SamplingBlock" => "Content".into(),
        Type::Model(name) => name.clone(),
        Type::Values(values) => {
            let values: Vec<_> = values.iter().map(|value| format!("\"{value}\"")).collect();
            format!("Literal[{}]", values.join(", "))
        }
    }
}

/// The type of a parameter or result of a host function; times are in seconds.
fn or_none(field: &Field) -> String {
    let ty = if field.name.ends_with("_ms") { "float".to_owned() } else { given(&field.ty) };
    if field.presence == Presence::Optional { ty + " | None" } else { ty }
}

/// The base classes of a model's class.
fn bases(name: &str, has_tag: bool) -> String {
    let base = if has_tag { "Block" } else { "Model" };
    TABLES.bases.get(name).map_or_else(|| base.to_owned(), |first| format!("{first}, {base}"))
}

/// The members of a model; values of `plain` models stay JSON.
fn members(object: &Model, plain: &BTreeSet<String>) -> Vec<Json> {
    // Set by the core, and of no interest to users.
    let fields = object.fields().iter().filter(|field| field.name != "result_type");
    fields.map(|field| member(object, field, plain)).collect()
}

fn member(object: &Model, field: &Field, plain: &BTreeSet<String>) -> Json {
    // Times are in seconds in Python.
    let time = field.name.strip_suffix("_ms").filter(|_| field.ty == Type::Integer);
    let is_time = time.is_some() || field.unit == Some(Unit::Ms);
    let ty = match &field.ty {
        _ if is_time => "float".into(),
        Type::Json if field.name.ends_with("_schema") => "Mapping[str, Any]".into(),
        Type::OneOrList(inner) => format!("list[{}]", given(inner)),
        Type::List(inner) if field.presence == Presence::List => format!("list[{}]", given(inner)),
        other => given(other),
    };
    let model = match &field.ty {
        Type::List(inner) | Type::OneOrList(inner) => inner.model(),
        ty => ty.model(),
    };
    let name = time.unwrap_or(&field.name);
    let presence = field.presence;
    json!({
        "name": name,
        "json": field.json,
        "type": ty,
        "doc": if is_time { field.doc.replace("milliseconds", "seconds") } else { field.doc.clone() },
        "presence": presence,
        // True if it is a positional parameter; required ones come first.
        "byPlace": matches!(presence, Presence::Required | Presence::List)
            || BY_PLACE.contains(&(object.name.as_str(), name)),
        "order": u8::from(presence != Presence::Required),
        // The function that converts it, or its items, from JSON.
        "reader": model.and_then(|name| match name {
            "ContentBlock" | "SamplingBlock" => Some("content_from_json".to_owned()),
            name => (!plain.contains(name)).then(|| format!("{name}.from_json")),
        }),
        "isDict": model.is_some_and(|name| TABLES.dicts.contains(name)),
        "isList": matches!(field.ty, Type::List(_)),
        "isOneOrList": matches!(field.ty, Type::OneOrList(_)),
        "isString": field.ty == Type::String,
        "isTime": is_time,
        "isBase64": name == "data" && TABLES.bases.get(&object.name).is_some_and(|base| base == "HasData"),
        // True if items may be strings.
        "takesText": object.name == PROMPT_RESULT_MODEL && name == "messages",
        // True if an absent list is an error by the peer. Early servers returned tool results
        // without content; the lists of other results are essential.
        "isNeeded": presence == Presence::List && object.name != "CallToolResult",
    })
}

fn option_dicts(surface: &Surface) -> Vec<Json> {
    let mut dicts = Vec::new();
    for Options { name, record, without, .. } in &TABLES.options {
        let Some(record) = surface.options.iter().find(|found| found.name == *record) else { continue };
        let fields = record.fields.iter().filter(|field| !without.contains(&field.name));
        dicts.push(option_dict(name, &record.doc, fields));
    }
    for operation in surface.operations.iter().filter(|operation| operation.name == "sample") {
        let fields = operation.params.iter();
        let fields = fields.filter(|field| field.presence == Presence::Optional && field.name != "meta");
        let doc = format!("Options of `{}`. {}", operation.name, operation.doc);
        dicts.push(option_dict(&options_name(operation), &doc, fields));
    }
    dicts.extend(TABLES.feature_options.iter().filter_map(|feature| feature_options(surface, feature)));
    dicts
}

fn options_name(operation: &Operation) -> String {
    format!("{}Options", pascal(&operation.name))
}

/// The options of a feature.
fn feature_options(surface: &Surface, feature: &Options) -> Option<Json> {
    let descriptor = surface.object(&feature.record)?;
    let registration = surface.messages.iter().find(|record| record.name == feature.registration)?;
    let mut fields: Vec<Field> =
        descriptor.fields().iter().filter(|field| !feature.without.contains(&field.name)).cloned().collect();
    for field in &registration.fields {
        let is_new = fields.iter().all(|known| known.name != field.name);
        if is_new && !INTERNAL.contains(&field.name.as_str()) {
            fields.push(field.clone());
        }
    }
    for field in &mut fields {
        if let Some(doc) = TABLES.feature_docs.get(&field.name) {
            field.doc.clone_from(doc);
        }
    }
    let doc = format!("Options of `add_{}`. {}", snake(&descriptor.name), descriptor.doc);
    let mut dict = option_dict(&feature.name, &doc, fields.iter());
    // JSON names of members of the registration; the others belong to the descriptor.
    let options = surface.options.iter().filter(|record| record.name == feature.name);
    dict["registration"] = options.flat_map(|record| &record.fields).map(|field| field.json.as_str()).collect();
    Some(dict)
}

fn option_dict<'a>(name: &str, doc: &str, fields: impl Iterator<Item = &'a Field>) -> Json {
    let fields: Vec<_> = fields.map(|field| option_field(name, field)).collect();
    json!({ "name": name, "doc": doc, "fields": fields, "registration": [] })
}

fn option_field(dict: &str, field: &Field) -> Json {
    let name = match field.json.as_str() {
        "_meta" => "meta".into(),
        json => snake(json.strip_suffix("Ms").unwrap_or(json)),
    };
    let ty = TABLES.option_types.get(&name).cloned();
    let ty = ty.unwrap_or_else(|| given(&field.ty).replace("[Tool]", "[Tool | Mapping[str, Any]]"));
    let ty = if (dict, &*name) == ("ServerOptions", "store") { format!("{ty} | Store") } else { ty };
    let none = if ty == "Any" { "" } else { " | None" };
    let default = match TABLES.mount_defaults.get(&name).filter(|_| dict == "MountOptions") {
        Some(default) => format!(" Default: {default}."),
        None => field.default.as_ref().and_then(|value| default(field, value)).unwrap_or_else(|| absent(field)),
    };
    let seconds = if field.unit == Some(Unit::Ms) { " In seconds." } else { "" };
    let doc = format!("{}{seconds}{default}", field.doc);
    json!({ "name": name, "json": field.json, "type": format!("{ty}{none}"), "doc": doc })
}

/// The default of an option without a value, unless its description mentions it.
fn absent(field: &Field) -> String {
    let is_told = ["efault", "Without", "therwise"].iter().any(|word| field.doc.contains(word));
    match field.ty {
        _ if is_told => String::new(),
        Type::Boolean => " Default: False.".into(),
        _ => " Default: none.".into(),
    }
}

/// The default in human-readable form, unless it is obvious.
fn default(field: &Field, value: &Json) -> Option<String> {
    use Json::{Array, Bool, Null, Number, Object, String};

    let shown = match (field.unit, value) {
        (_, Null | Object(_)) => return None,
        (_, Array(items)) if items.is_empty() => return None,
        (Some(Unit::Ms), Number(ms)) => format!("{}", ms.as_f64()? / 1000.0),
        (Some(Unit::Bytes), Number(bytes)) if bytes.as_u64()? % (1 << 20) == 0 => {
            format!("{} MiB", bytes.as_u64()? >> 20)
        }
        (_, Bool(flag)) => if *flag { "True" } else { "False" }.into(),
        (_, String(text)) => format!("`\"{text}\"`"),
        (_, other) => other.to_string(),
    };
    Some(format!(" Default: {shown}."))
}

/// The parameters of a server's request, as passed to a Python handler, or a result with messages.
fn request_model(params: &Model) -> Model {
    let fields = params.fields().iter().filter(|field| field.name != "mode").map(|field| Field {
        ty: match &field.ty {
            ty if ty.model() == Some(FORM_MODEL) => Type::Object,
            Type::List(item) if is_message(item) => Type::List(Box::new(Type::Model("Message".into()))),
            other => other.clone(),
        },
        // Messages are never empty.
        presence: if field.name == "messages" { Presence::List } else { field.presence },
        ..field.clone()
    });
    let (name, doc) = (params.name.clone(), params.doc.clone());
    Model { name, doc, tag: None, fields: Some(fields.collect()), values: None }
}

fn is_message(item: &Type) -> bool {
    item.model().is_some_and(|name| MESSAGE_MODELS.contains(&name))
}

/// The requests of handlers to their client. If there are many optional parameters, they are
/// keywords in a `TypedDict`.
fn handler_requests(surface: &Surface) -> Vec<Json> {
    let rows = surface.operations.iter().filter(|row| row.caller == Caller::Handler);
    let request = |row: &Operation| {
        let many = row.params.len() > 3;
        let given = row.params.iter().filter(|field| !many || field.presence != Presence::Optional);
        let params: Vec<_> = given.enumerate().map(|(index, field)| request_param(field, many && index > 0)).collect();
        json!({
            "name": row.name,
            "doc": row.doc,
            "fixed": row.fixed,
            "result": row.result,
            "onlyList": row.result.as_deref().and_then(|name| surface.object(name)?.only_list()),
            "hasForm": params.iter().any(|param| param["kind"] == "form"),
            "options": many.then(|| options_name(row)),
            "arguments": params.iter().map(|param| [&param["name"], &param["doc"]]).collect::<Vec<_>>(),
            "params": params,
        })
    };
    rows.map(request).collect()
}

fn request_param(field: &Field, by_keyword: bool) -> Json {
    let (kind, ty, more) = match &field.ty {
        ty if ty.model() == Some(FORM_MODEL) => {
            ("form", None, " A dataclass, TypedDict or pydantic model, or a JSON Schema.")
        }
        Type::List(item) if is_message(item) => {
            ("messages", Some("Messages".to_owned()), " A string is a user message.")
        }
        ty => ("", Some(given(ty)), ""),
    };
    let optional = field.presence == Presence::Optional;
    json!({
        "name": if kind == "form" { "schema" } else { &field.name },
        "json": field.json,
        "doc": format!("{}{more}", field.doc),
        "kind": kind,
        "type": ty,
        "optional": optional,
        "keyword": optional || by_keyword,
    })
}
