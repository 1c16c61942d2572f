//! Generates the files of the Python package from the surface: models, errors, options, and
//! clients' requests. The templates next to this file contain their text; blocking code is
//! generated from `async` sources (`unasync.rs`).

mod unasync;

use std::collections::BTreeSet;

use anyhow::Result;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;
use serde_json::json;

use super::surface::{Caller, Field, Model, ObjectModel, Operation, Presence, Surface, Type, Unit};
use super::text::{marked, pascal, snake, wrapped};
use super::{File, MARK, templates};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-python/python/trunkline/_internal";

/// Directories in which every file is generated.
const FOLDERS: [&str; 10] = [
    "bindings-python/python/trunkline/_internal/_generated",
    "bindings-python/python/trunkline/_internal/client/_async/_generated",
    "bindings-python/python/trunkline/_internal/client/_generated",
    "bindings-python/python/trunkline/_internal/client/_sync",
    "bindings-python/python/trunkline/_internal/client_group/_async/_generated",
    "bindings-python/python/trunkline/_internal/client_group/_generated",
    "bindings-python/python/trunkline/_internal/client_group/_sync",
    "bindings-python/python/trunkline/_internal/client_requests/_generated",
    "bindings-python/python/trunkline/_internal/context/_async/_generated",
    "bindings-python/python/trunkline/_internal/context/_sync",
];

/// The model that Python creates from a class or a JSON Schema.
const FORM: &str = "FormSchema";
/// The list item models for which Python also accepts a string.
const MESSAGES: [&str; 2] = ["PromptMessage", "SamplingMessage"];
/// The model of a handler's result with a list of them.
const PROMPT_RESULT: &str = "GetPromptResult";

/// Line width of prose in docstrings, without the quotes.
const PROSE: usize = 94;

/// Models that users write as literals: they are `TypedDict`s with the names of the protocol.
const DICTS: [&str; 11] = [
    "Annotations",
    "CompleteArgument",
    "CompleteContext",
    "Icon",
    "ModelHint",
    "ModelPreferences",
    "PromptReference",
    "ResourceTemplateReference",
    "ToolAnnotations",
    "ToolChoice",
    "ToolExecution",
];

/// Models with hand-written, idiomatic Python classes, and the one in a module of its own.
const BY_HAND: [&str; 4] = ["ElicitResult", "EmbeddedResource", PROMPT_RESULT, "ResourceContents"];

/// Models without a Python class: parts of those above, of forms, and of a group, which has its
/// own.
const WITHOUT_CLASS: [&str; 12] = [
    "BlobResourceContents",
    "Choice",
    "Choices",
    "Field",
    "FormSchema",
    "GroupServer",
    "GroupServers",
    "PromptMessage",
    "SamplingMessage",
    "TextResourceContents",
    "ToolResultContent",
    "ToolUseContent",
];

/// Models that are internal to the bridge, and choices for which Python accepts any string; nothing
/// here imports them.
const NOT_IN_PYTHON: [&str; 6] = ["FailKind", "InputRequest", "Lane", "Once", "RevisionChoice", "SkillFile"];

/// Unions without a Python alias.
const WITHOUT_ALIAS: [&str; 2] = ["ResourceContents", "SamplingBlock"];

/// Base classes that add more than fields.
const BASES: [(&str, &str); 5] = [
    ("AccessToken", "HasToken"),
    ("AudioContent", "HasData"),
    ("CallToolResult", "HasText"),
    ("CreateMessageResult", "HasText"),
    ("ImageContent", "HasData"),
];

/// Optional members that are positional parameters.
const BY_PLACE: [(&str, &str); 1] = [("Identity", "subject")];

/// A `TypedDict` of options: its name, its record, and the options that it omits because Python
/// passes them differently.
const OPTIONS: [(&str, &str, &[&str]); 11] = [
    ("AuthOptions", "AuthOptions", &["resource", "verifier"]),
    ("ChildOptions", "ChildOptions", &["command"]),
    ("ClientOptions", "ClientOptions", &["info", "listen"]),
    ("DirectoryOptions", "DirectoryOptions", &[]),
    ("EndpointOptions", "EndpointOptions", &["url"]),
    ("HttpOptions", "HttpOptions", &[]),
    ("OAuth", "OAuthOptions", &[]),
    ("ProxyOptions", "ProxyOptions", &[]),
    ("RequestHandlerOptions", "RequestHandlerOptions", &[]),
    ("SkillOptions", "SkillOptions", &[]),
    ("MountOptions", "HttpOptions", &["host", "port", "unix", "unix_mode", "max_connections"]),
];

/// The options of servers are separate because of line width.
const SERVER_OPTIONS: (&str, &str, &[&str]) = ("ServerOptions", "ServerOptions", &[]);

/// Options of a feature: their name, the descriptor, the registration, and the members of the
/// descriptor that are not options, because they are required or taken from functions.
const FEATURE_OPTIONS: [(&str, &str, &str, &[&str]); 3] = [
    ("PromptOptions", "Prompt", "RegisterPrompt", &["arguments"]),
    // Resources and templates are added by one method.
    ("ResourceOptions", "Resource", "RegisterResourceTemplate", &["uri"]),
    ("ToolOptions", "Tool", "RegisterTool", &["execution"]),
];

/// Members of registrations that users do not set.
const INTERNAL: [&str; 9] =
    ["server", "lane", "wrap_output", "explains", "tool", "resource", "resource_template", "prompt", "replaces"];

/// Options of features with a different default, meaning or type than in the core.
const FEATURE_DOCS: [(&str, &str); 7] = [
    (
        "complete",
        "Functions that suggest values while a user types, by the arguments or variables. Each takes the text so far and, if it has a second parameter, the other arguments; it returns texts, or a `Completion`.",
    ),
    ("name", "The name for programs. Default: that of the function."),
    ("description", "The purpose. Default: the docstring."),
    (
        "input_schema",
        "Replaces the schema made from the parameters, which is the default; arguments are then passed as JSON has them.",
    ),
    ("output_schema", "Replaces the schema made from the return annotation, which is the default."),
    ("size", "The size in bytes. Not for templates."),
    (
        "visible",
        "Decides who sees and calls it, for each request: a function of the context and dependencies that returns a `bool`. For others it is not there; an exception, which is logged, counts as False. Default: everybody.",
    ),
];

/// Defaults of a mounted endpoint, whose path is chosen by a framework.
const MOUNT_DEFAULTS: [(&str, &str); 3] = [
    ("path", "every path that the framework gives to the server"),
    ("sse", "every path that ends with `/sse`"),
    ("messages", "every path that ends with `/messages`"),
];

/// Options whose Python type is more precise, or more permissive, than that of the core.
const OPTION_TYPES: [(&str, &str); 15] = [
    ("capabilities", "Mapping[str, Any]"),
    ("complete", "Mapping[str, Callable[..., Any]]"),
    ("visible", "Callable[..., bool | Awaitable[bool]]"),
    ("cwd", "str | os.PathLike[str]"),
    ("dpop_nonce", "bool | bytes | str"),
    ("input_schema", "Mapping[str, Any]"),
    ("jwks", "Mapping[str, Any]"),
    ("output_schema", "Mapping[str, Any]"),
    ("params_schema", "Mapping[str, Any]"),
    ("requires", "Mapping[str, Any]"),
    ("revision", "str"),
    ("stderr_file", "str | os.PathLike[str]"),
    ("store", "str | os.PathLike[str]"),
    ("state_keys", "Sequence[bytes | str]"),
    ("unix", "str | os.PathLike[str]"),
];

pub(crate) fn render(workspace: &Workspace, printed: &Value, surface: &Surface) -> Result<Vec<File>> {
    let environment = environment(workspace, surface)?;
    let host: Vec<_> = surface.host.iter().map(|row| row.params.as_str()).collect();
    let names: Vec<_> = surface.models.iter().map(Model::name).filter(|name| is_public(surface, name)).collect();
    let classes = surface.models.iter().filter(|model| matches!(model, Model::Object(_)));
    let classes: Vec<_> = classes.map(Model::name).filter(|name| has_class(name)).collect();
    let mut known = BTreeSet::new();
    let params = host.iter().filter(|name| known.insert(**name)).filter_map(|name| surface.object(name));
    let aliased = |name: &str| if name == "ContentBlock" { "Content".to_owned() } else { name.to_owned() };
    let own = templates::value(json!({
        "names": names,
        "classes": classes,
        "public": names.iter().map(|name| aliased(name)).collect::<Vec<_>>(),
        "hidden": surface.models.iter().map(Model::name).filter(|name| !names.contains(name)).collect::<Vec<_>>(),
        "dicts": DICTS,
        "hostParams": params.map(request_model).collect::<Vec<_>>(),
        "promptResult": surface.object(PROMPT_RESULT).map(request_model),
        "optionDicts": option_dicts(surface),
        "handlerRequests": handler_requests(surface),
    }));
    let context = context! { ..own, ..printed.clone() };
    let mut files = templates::render(&environment, PACKAGE, &context)?;
    let folders = FOLDERS.iter().filter(|folder| !folder.ends_with("_sync"));
    files.extend(folders.map(|folder| (format!("{folder}/__init__.py"), String::new())));
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
    let values = surface.models.iter().filter(|model| matches!(model, Model::Values(_))).map(Model::name);
    let plain: BTreeSet<String> = values.chain(DICTS).map(str::to_owned).collect();
    environment
        .add_filter("members", move |Serde(object): Serde<ObjectModel>| templates::value(members(&object, &plain)));
    environment.add_filter("bases", |name: String, tag: Option<String>| bases(&name, tag.is_some()));
    environment.add_filter("argument", |Serde(field): Serde<Field>| vec![field.name, field.doc]);
    environment.add_filter("fact_type", |Serde(field): Serde<Field>| or_none(&field));
    environment.add_filter("without_unit", |name: String| name.trim_end_matches("_ms").to_owned());
    Ok(environment)
}

/// Returns whether programs may import a model or an alias of one.
fn is_public(surface: &Surface, name: &str) -> bool {
    match surface.models.iter().find(|model| model.name() == name) {
        Some(Model::Values(_)) => !NOT_IN_PYTHON.contains(&name),
        Some(Model::Object(_)) => {
            surface.host.iter().all(|row| row.params != name) && (DICTS.contains(&name) || has_class(name))
        }
        Some(Model::Union(_)) => !WITHOUT_ALIAS.contains(&name),
        None => false,
    }
}

fn has_class(name: &str) -> bool {
    ![&WITHOUT_CLASS[..], &NOT_IN_PYTHON].concat().contains(&name) && !DICTS.contains(&name) && !BY_HAND.contains(&name)
}

/// The directive for documentation of deprecated items; its continuation lines are indented.
const DEPRECATED: &str = ".. deprecated:: 2026-07-28 ";

/// The lines of a docstring without the closing quotes.
fn open_docstring(indent: usize, text: &str) -> String {
    let text = marked(&text.replace('\\', "\\\\"), DEPRECATED);
    let (text, directive) = text.split_at(text.find(DEPRECATED).unwrap_or(text.len()));
    let mut lines = wrapped(text.trim_end(), PROSE - indent);
    for line in wrapped(directive, PROSE - indent - 4).into_iter().filter(|line| !line.is_empty()) {
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
        rows.iter().map(|row| wrapped(&row.join(": "), PROSE - 2 - indent).join(&format!("\n{margin}        ")));
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
    let first = BASES.iter().find(|(class, _)| *class == name);
    first.map_or_else(|| base.to_owned(), |(_, first)| format!("{first}, {base}"))
}

/// A field of a class.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Member {
    name: String,
    json: String,
    #[serde(rename = "type")]
    ty: String,
    doc: String,
    presence: Presence,
    /// Whether it is a positional parameter; required ones come first.
    by_place: bool,
    order: u8,
    /// The function that converts it, or its items, from JSON.
    reader: Option<String>,
    is_dict: bool,
    is_list: bool,
    is_one_or_list: bool,
    is_string: bool,
    is_time: bool,
    is_base64: bool,
    /// Whether items may be strings.
    takes_text: bool,
    /// Whether an absent list is an error by the peer.
    is_needed: bool,
}

/// The members of a model; values of `plain` models stay JSON.
fn members(object: &ObjectModel, plain: &BTreeSet<String>) -> Vec<Member> {
    // Set by the core, and of no interest to users.
    let fields = object.fields.iter().filter(|field| field.name != "result_type");
    fields.map(|field| member(object, field, plain)).collect()
}

fn member(object: &ObjectModel, field: &Field, plain: &BTreeSet<String>) -> Member {
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
    let name = time.unwrap_or(&field.name).to_owned();
    let presence = field.presence;
    Member {
        by_place: matches!(presence, Presence::Required | Presence::List)
            || BY_PLACE.contains(&(object.name.as_str(), &*name)),
        order: u8::from(presence != Presence::Required),
        is_base64: name == "data" && BASES.contains(&(object.name.as_str(), "HasData")),
        takes_text: object.name == PROMPT_RESULT && name == "messages",
        name,
        json: field.json.clone(),
        ty,
        doc: if is_time { field.doc.replace("milliseconds", "seconds") } else { field.doc.clone() },
        presence,
        is_dict: model.is_some_and(|name| DICTS.contains(&name)),
        reader: model.and_then(|name| match name {
            "ContentBlock" | "SamplingBlock" => Some("content_from_json".to_owned()),
            name => (!plain.contains(name)).then(|| format!("{name}.from_json")),
        }),
        is_list: matches!(field.ty, Type::List(_)),
        is_one_or_list: matches!(field.ty, Type::OneOrList(_)),
        is_string: field.ty == Type::String,
        is_time,
        // Early servers returned tool results without content; the lists of other results are
        // essential.
        is_needed: presence == Presence::List && object.name != "CallToolResult",
    }
}
/// A `TypedDict` of options.
#[derive(Serialize)]
struct OptionDict {
    name: String,
    doc: String,
    fields: Vec<OptionField>,
    /// JSON names of members of the registration; the others belong to the descriptor.
    registration: Vec<String>,
}

#[derive(Serialize)]
struct OptionField {
    name: String,
    json: String,
    #[serde(rename = "type")]
    ty: String,
    doc: String,
}

fn option_dicts(surface: &Surface) -> Vec<OptionDict> {
    let mut dicts = Vec::new();
    for (name, record, without) in OPTIONS.into_iter().chain([SERVER_OPTIONS]) {
        let Some(record) = surface.options.iter().find(|found| found.name == record) else { continue };
        let fields = record.fields.iter().filter(|field| !without.contains(&field.name.as_str()));
        dicts.push(option_dict(name, &record.doc, fields));
    }
    for operation in surface.operations.iter().filter(|operation| operation.name == "sample") {
        let fields = operation.params.iter();
        let fields = fields.filter(|field| field.presence == Presence::Optional && field.name != "meta");
        let doc = format!("Options of `{}`. {}", operation.name, operation.doc);
        dicts.push(option_dict(&options_name(operation), &doc, fields));
    }
    dicts.extend(FEATURE_OPTIONS.iter().filter_map(|feature| feature_options(surface, *feature)));
    dicts
}

fn options_name(operation: &Operation) -> String {
    format!("{}Options", pascal(&operation.name))
}

/// The options of a feature.
fn feature_options(
    surface: &Surface,
    (name, descriptor, registration, without): (&str, &str, &str, &[&str]),
) -> Option<OptionDict> {
    let descriptor = surface.object(descriptor)?;
    let registration = surface.messages.iter().find(|record| record.name == registration)?;
    let mut fields: Vec<Field> =
        descriptor.fields.iter().filter(|field| !without.contains(&field.name.as_str())).cloned().collect();
    for field in &registration.fields {
        let is_new = fields.iter().all(|known| known.name != field.name);
        if is_new && !INTERNAL.contains(&field.name.as_str()) {
            fields.push(field.clone());
        }
    }
    for field in &mut fields {
        if let Some((_, doc)) = FEATURE_DOCS.iter().find(|(name, _)| *name == field.name) {
            field.doc = (*doc).into();
        }
    }
    let doc = format!("Options of `add_{}`. {}", snake(&descriptor.name), descriptor.doc);
    let options = surface.options.iter().filter(|record| record.name == name).flat_map(|record| &record.fields);
    let registration = options.map(|field| field.json.clone()).collect();
    Some(OptionDict { registration, ..option_dict(name, &doc, fields.iter()) })
}

fn option_dict<'a>(name: &str, doc: &str, fields: impl Iterator<Item = &'a Field>) -> OptionDict {
    let fields = fields.map(|field| option_field(name, field)).collect();
    OptionDict { name: name.to_owned(), doc: doc.to_owned(), fields, registration: Vec::new() }
}

fn option_field(dict: &str, field: &Field) -> OptionField {
    let name = match field.json.as_str() {
        "_meta" => "meta".into(),
        json => snake(json.strip_suffix("Ms").unwrap_or(json)),
    };
    let ty = OPTION_TYPES.iter().find(|(option, _)| *option == name).map(|(_, ty)| (*ty).to_owned());
    let ty = ty.unwrap_or_else(|| given(&field.ty).replace("[Tool]", "[Tool | Mapping[str, Any]]"));
    let ty = if (dict, &*name) == ("ServerOptions", "store") { format!("{ty} | Store") } else { ty };
    let none = if ty == "Any" { "" } else { " | None" };
    let default = match MOUNT_DEFAULTS.iter().find(|(option, _)| (dict, *option) == ("MountOptions", &*name)) {
        Some((_, default)) => format!(" Default: {default}."),
        None => field.default.as_ref().and_then(|value| default(field, value)).unwrap_or_else(|| absent(field)),
    };
    let seconds = if field.unit == Some(Unit::Ms) { " In seconds." } else { "" };
    let doc = format!("{}{seconds}{default}", field.doc);
    OptionField { name, json: field.json.clone(), ty: format!("{ty}{none}"), doc }
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
fn default(field: &Field, value: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};

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
fn request_model(params: &ObjectModel) -> ObjectModel {
    let fields = params.fields.iter().filter(|field| field.name != "mode").map(|field| Field {
        ty: match &field.ty {
            ty if ty.model() == Some(FORM) => Type::Object,
            Type::List(item) if is_message(item) => Type::List(Box::new(Type::Model("Message".into()))),
            other => other.clone(),
        },
        // Messages are never empty.
        presence: if field.name == "messages" { Presence::List } else { field.presence },
        ..field.clone()
    });
    ObjectModel { name: params.name.clone(), doc: params.doc.clone(), tag: None, fields: fields.collect() }
}

fn is_message(item: &Type) -> bool {
    item.model().is_some_and(|name| MESSAGES.contains(&name))
}

/// The requests of handlers to their client. If there are many optional parameters, they are
/// keywords in a `TypedDict`.
fn handler_requests(surface: &Surface) -> Vec<serde_json::Value> {
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

fn request_param(field: &Field, by_keyword: bool) -> serde_json::Value {
    let (kind, ty, more) = match &field.ty {
        ty if ty.model() == Some(FORM) => {
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
