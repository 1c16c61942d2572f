//! Generates the files of the C library from the surface: result codes, options, operations. The
//! templates next to this file contain their text, and their comments become the header's.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::surface::{ErrorKind, Field, Model, Operation, Presence, Surface, Type, Unit};
use super::text::{lowered, marked, prefixed, snake, wrapped};
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
    let hooks = HOOKS.map(|(name, record)| json!({ "name": name, "fields": hook_fields(fields(surface, record)) }));
    let rows = surface.operations.iter().filter(|row| row.fixed.is_empty());
    let methods: BTreeMap<String, &str> = rows.map(|row| (row.name.to_uppercase(), &*row.method)).collect();
    let own = templates::value(json!({
        "methods": methods,
        "version": env!("CARGO_PKG_VERSION"),
        "results": results(&surface.errors),
        "groupServer": fields(surface, "GroupServer"),
        "notifyCall": fields(surface, "NotifyCall"),
        "notifyServer": hook_fields(fields(surface, "NotifyServer")),
        "hooks": hooks,
        "failures": failures(surface),
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

/// The parameters of an exported function, each with its type, and the type of its result.
fn signature(sources: &str, name: &str) -> Value {
    let (_, rest) = sources.split_once(&format!("fn trunkline_{name}(")).expect("the function is exported");
    let (params, rest) = rest.split_once(") -> ").expect("the function has a result");
    let (result, _) = rest.split_once(" {").expect("the function has a body");
    let params: Vec<_> = params.split(',').filter_map(|param| param.trim().split_once(": ")).collect();
    templates::value(json!({ "params": params, "result": result }))
}

fn environment(workspace: &Workspace) -> Result<Environment<'static>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/c"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&text, indent));
    let lines = |doc: &str| wrapped(&marked(doc, DEPRECATED), WIDTH).join("\n * ").replace(" \n", "\n");
    environment.add_filter("lines", move |doc: String| lines(&doc));
    environment.add_filter("sets", |doc: String| sets(&doc));
    environment.add_filter("lowered", |doc: String| lowered(&doc));
    environment.add_filter("described", |Serde(field): Serde<Field>| format!("- `{}`: {}", field.json, field.doc));
    environment.add_filter("documented_params", |Serde(row): Serde<Params>| documented(&row));
    environment.add_filter("built", |Serde(row): Serde<Params>| built(&row));
    environment.add_filter("needed", |Serde(row): Serde<Params>| needed(&row));
    environment.add_filter("fixed_members", |Serde(row): Serde<Operation>| fixed(&row));
    Ok(environment)
}

/// The parameters of an operation.
#[derive(Deserialize)]
struct Params {
    params: Vec<Field>,
}

/// Converts a Rust doc comment to a C comment. List items begin with a hyphen.
fn comment(text: &str, indent: usize) -> String {
    let mut lines = Vec::new();
    for line in marked(text, DEPRECATED).split('\n') {
        let item = line.starts_with("- ");
        for (index, line) in wrapped(line, WIDTH - indent).into_iter().enumerate() {
            lines.push(if item && index > 0 { format!("  {line}") } else { line });
        }
    }
    prefixed(&lines, &format!("{}/// ", " ".repeat(indent))).trim_end().to_owned()
}

/// The results that only C has, in addition to the error kinds: number, name and documentation.
const OWN_RESULTS: [(u8, &str, &str); 6] = [
    (0, "ok", "The function succeeded."),
    (100, "null", "A required pointer is NULL."),
    (101, "panic", "The library panicked; the panic was contained, and the process continues."),
    (102, "done", "The call is already completed, was cancelled, or its connection has ended."),
    (103, "notFound", "There is no such value, or it has another type."),
    (104, "toolFailed", "The tool reported a failure (`isError`); the message is its text."),
];

/// Every result by its number.
fn results(kinds: &[ErrorKind]) -> Vec<Json> {
    let own = OWN_RESULTS.iter().map(|(number, name, doc)| (*number, *name, (*doc).to_owned()));
    let shared = kinds.iter().map(|kind| (kind.c_code, kind.kind.as_str(), doc_of(kind)));
    let mut results: Vec<_> = own.chain(shared).collect();
    results.sort_by_key(|(number, ..)| *number);
    let named = |(number, kind, doc)| json!({ "number": number, "kind": kind, "name": result_name(kind), "doc": doc });
    results.into_iter().map(named).collect()
}

fn doc_of(kind: &ErrorKind) -> String {
    let more = match kind.kind.as_str() {
        "protocol" => " See `trunkline_error_code`.",
        "transport" => " See `trunkline_error_json`.",
        "suspended" => " See `trunkline_answer_callback`.",
        _ => "",
    };
    format!("{}{more}", kind.doc)
}

pub(super) fn result_name(kind: &str) -> String {
    let name = if kind == "version" { "version_mismatch".to_owned() } else { snake(kind) };
    format!("TRUNKLINE_{}", name.to_uppercase())
}

/// The constant members, such as `"mode": "url"`.
fn fixed(operation: &Operation) -> String {
    let members: Vec<_> = operation.fixed.iter().map(|(name, value)| format!("`\"{name}\": {value}`")).collect();
    members.join(", ")
}

/// The required members.
fn needed(operation: &Params) -> String {
    let needed = operation.params.iter().filter(|field| matches!(field.presence, Presence::Required | Presence::List));
    needed.map(|field| format!("`{}`", field.json)).collect::<Vec<_>>().join(" and ")
}

/// The documentation of the parameters, one item each.
fn documented(operation: &Params) -> String {
    let lines = operation.params.iter().map(|field| {
        let form = match (is_text(field), field.presence) {
            (true, _) => String::new(),
            (false, Presence::Required) => " JSON.".to_owned(),
            (false, _) => " JSON, or empty for none.".to_owned(),
        };
        format!("- `{}`: {}{form}\n", field.name, field.doc)
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

fn is_text(field: &Field) -> bool {
    field.ty == Type::String
}

/// The expression that builds the params from arguments.
fn built(operation: &Params) -> String {
    let members = operation.params.iter().map(|Field { name, json, presence, .. }| (name, json, *presence));
    let calls: String = members
        .zip(&operation.params)
        .map(|((name, json, presence), field)| match (is_text(field), presence == Presence::Required) {
            (true, _) => format!(".text(\"{json}\", text!({name}))"),
            (false, true) => format!(".required(\"{json}\", \"{name}\", text!({name}))?"),
            (false, false) => format!(".optional(\"{json}\", \"{name}\", text!({name}))?"),
        })
        .collect();
    format!("ParamsBuilder::default(){calls}")
}

/// An options object of C: its name, and where its members are declared.
struct Object {
    name: &'static str,
    sources: &'static [Source],
}

/// Members generated from a declaration.
struct Source {
    /// The name of the options, message or model.
    record: &'static str,
    /// The member of the Rust struct that stores them.
    place: &'static str,
    /// Members without a generated setter: they are passed as other arguments, or several are set
    /// by one function in `options.rs`.
    except: &'static [&'static str],
    /// Numeric members are limits, set by one function.
    limits: bool,
    /// Appended to each comment.
    note: &'static str,
}

const OBJECTS: [Object; 5] = [
    Object {
        name: "server",
        sources: &[
            Source { record: "Implementation", place: "info", except: &["name", "version"], limits: false, note: "" },
            Source {
                record: "RegisterServer",
                place: "registration",
                except: &["info", "options", "store"],
                limits: false,
                note: "",
            },
            Source {
                record: "ServerOptions",
                place: "given",
                except: &["ttlMs", "cacheScope"],
                limits: true,
                note: "",
            },
        ],
    },
    Object {
        name: "tool",
        sources: &[
            Source {
                record: "RegisterTool",
                place: "given",
                except: &["server", "tool", "lane", "replaces", "explains"],
                limits: false,
                note: "",
            },
            Source { record: "ToolOptions", place: "given", except: &[], limits: false, note: "" },
        ],
    },
    Object {
        name: "http",
        sources: &[Source {
            record: "HttpOptions",
            place: "given",
            except: &["unix", "unixMode", "sse", "messages", "replayEvents", "replayBytes"],
            limits: false,
            note: "",
        }],
    },
    Object {
        name: "client",
        sources: &[
            Source { record: "ClientOptions", place: "given", except: &["info"], limits: false, note: "" },
            Source {
                record: "EndpointOptions",
                place: "endpoint",
                except: &["url"],
                limits: false,
                note: " For HTTP; in a configuration or a group, the default for its servers.",
            },
            Source {
                record: "ChildOptions",
                place: "child",
                except: &["command"],
                limits: false,
                note: " For child processes; in a configuration or a group, the default for its servers.",
            },
        ],
    },
    Object {
        name: "request",
        sources: &[
            Source {
                record: "Request",
                place: "message",
                except: &["method", "params", "progress", "wait", "causes", "trace", "notification", "wrapResult"],
                limits: false,
                note: "",
            },
            Source { record: "RequestOptions", place: "message.options", except: &[], limits: false, note: "" },
            Source {
                record: "InputOptions",
                place: "message.options",
                except: &["inputResponses", "requestState"],
                limits: false,
                note: "",
            },
            Source {
                record: "InputOptions",
                place: "message.options.input_responses",
                except: &["manualInput"],
                limits: false,
                note: "",
            },
            Source { record: "CacheOptions", place: "message.options", except: &[], limits: false, note: "" },
        ],
    },
];

/// Options set by one function, because one is of little use without the others.
struct Together {
    object: &'static str,
    /// The record that declares the options.
    record: &'static str,
    members: &'static [&'static str],
    /// The name after `set_`.
    name: &'static str,
    doc: &'static str,
}

const TOGETHER: [Together; 3] = [
    Together {
        object: "server",
        record: "ServerOptions",
        members: &["ttlMs", "cacheScope"],
        name: "cache",
        doc: "Sets how long clients may cache lists and the server's description of itself. Resources have their own \
              settings: `trunkline_server_add`.",
    },
    Together {
        object: "http",
        record: "HttpOptions",
        members: &["unix", "unixMode"],
        name: "unix",
        doc: "Listens on a Unix socket instead of an address.",
    },
    Together {
        object: "http",
        record: "HttpOptions",
        members: &["replayEvents", "replayBytes"],
        name: "replay",
        doc: "Sets how many events each session keeps for reconnecting clients; 0 keeps none.",
    },
];

/// The option that is a number in C, as for `chmod`, and octal digits in JSON.
const FILE_MODE: &str = "unixMode";

/// The prefix of paths in a message with typed members; other members are JSON.
const TYPED: &str = "message";

/// Options of which several are set by one function in `options.rs`.
const BY_HAND: [(&[&str], &str); 2] =
    [(&["sse", "messages"], "http_options_set_sse"), (&["info"], "client_options_set_info")];

/// Lists that are passed as a whole, as a JSON array.
const WHOLE_LISTS: [&str; 1] = ["scopes"];

/// The objects of options with their setters, and the limits of servers.
fn option_objects(surface: &Surface) -> (Vec<Json>, Vec<&Field>) {
    let (mut objects, mut limits) = (Vec::new(), Vec::new());
    for Object { name, sources } in &OBJECTS {
        let (mut setters, mut places) = (Vec::new(), BTreeMap::new());
        for (number, source) in sources.iter().enumerate() {
            // A message also has the fields of its options.
            let follows = |field: &Field| {
                let mut later = sources[number + 1..].iter().flat_map(|later| fields(surface, later.record));
                ["Request", "RegisterTool"].contains(&source.record) && later.any(|other| other.json == field.json)
            };
            let given = fields(surface, source.record).iter();
            let given = given.filter(|field| !source.except.contains(&&*field.json) && !follows(field));
            places.insert(source.place, given.clone().map(|field| &field.json).collect::<Vec<_>>());
            let (numbers, others): (Vec<_>, Vec<_>) = given.partition(|field| source.limits && is_number(field));
            limits.extend(numbers);
            setters.extend(others.into_iter().map(|field| setter(source, field)));
        }
        setters.extend(
            TOGETHER.iter().filter(|options| options.object == *name).map(|options| together(surface, options)),
        );
        objects.push(json!({ "name": name, "setters": setters, "places": places }));
    }
    (objects, limits)
}

fn fields<'a>(surface: &'a Surface, name: &str) -> &'a [Field] {
    let mut records = surface.options.iter().chain(&surface.messages);
    let models = || {
        surface.models.iter().find_map(|model| match model {
            Model::Object(object) if object.name == name => Some(&*object.fields),
            _ => None,
        })
    };
    let found = records.find(|record| record.name == name).map(|record| &*record.fields).or_else(models);
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
    let name = &field.json.as_str();
    if let Some(together) = TOGETHER.iter().find(|row| row.record == record && row.members.contains(name)) {
        return Some(format!("{}_options_set_{}", together.object, together.name));
    }
    let message = record.strip_suffix("Options").unwrap_or(record);
    let (object, source) = OBJECTS.iter().find_map(|object| {
        let mut sources = object.sources.iter().filter(|source| [record, message].contains(&source.record));
        let source = sources.clone().find(|source| !source.except.contains(name)).or_else(|| sources.next())?;
        Some((object.name, source))
    })?;
    match source {
        Source { limits: true, .. } if is_number(field) => {
            Some(format!("TRUNKLINE_LIMIT_{}", snake(name).to_uppercase()))
        }
        Source { except, .. } if except.contains(name) => {
            BY_HAND.iter().find(|(options, ..)| options.contains(name)).map(|(_, function)| (*function).to_owned())
        }
        _ => Some(format!("{object}_options_{}", setter_name(field))),
    }
}

/// The name of a setter, without that of its object.
fn setter_name(field: &Field) -> String {
    let member = snake(&field.json);
    let singular = singular_of(&member);
    match &field.ty {
        Type::List(_) if is_one_by_one(field) => match singular.strip_prefix("allowed_") {
            Some(allowed) => format!("allow_{allowed}"),
            None => format!("add_{singular}"),
        },
        // Input responses are passed together.
        Type::Map(_) if field.json == "inputResponses" => format!("set_{member}"),
        Type::Map(_) | Type::Object if is_by_name(field) => format!("set_{singular}"),
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

/// Returns whether the option is a list of strings to which a function adds one.
fn is_one_by_one(field: &Field) -> bool {
    matches!(&field.ty, Type::List(items) if **items == Type::String) && !WHOLE_LISTS.contains(&&*field.json)
}

/// The setter of an option: its name without that of its object, comment, arguments and effect.
fn setter(source: &Source, field: &Field) -> Json {
    let Source { place, note, .. } = source;
    let member = match field.json.as_str() {
        // `stderr` is a macro in stdio.h.
        "stderr" => "destination".to_owned(),
        // `requires` is a keyword since C++20.
        "requires" => "capabilities".to_owned(),
        json => snake(json),
    };
    let (doc, arguments, change) = match place.starts_with(TYPED) {
        true => typed_setter(field, &member),
        false => json_setter(field, &member),
    };
    let change = format!("options.{place}.{change}");
    json!({ "function": setter_name(field), "doc": doc + note, "arguments": arguments, "change": change })
}

/// The comment, the arguments and the effect on a typed member of a message.
fn typed_setter(field: &Field, member: &str) -> (String, String, String) {
    let (doc, ty, value) = match &field.ty {
        Type::Boolean => (sets_whether(field), "bool", member.to_owned()),
        Type::Duration => {
            (with_default(field, &sets(&field.doc)), "u64", format!("Some(Time::from_millis({member}).0)"))
        }
        Type::Json => {
            let value = format!("Some(parsed(\"{member}\", text!({member}))?)");
            (format!("{} JSON.", sets(&field.doc)), "trunkline_str", value)
        }
        Type::Map(_) => {
            let value = format!("Some(read(\"{member}\", text!({member}))?)");
            (format!("{} A JSON object.", sets(&field.doc)), "trunkline_str", value)
        }
        _ => (sets(&field.doc), "trunkline_str", format!("Some(text!({member}).into())")),
    };
    (doc, format!("{member}: {ty},"), format!("{} = {value}", field.name))
}

/// The comment, the arguments and the effect on an object of JSON.
fn json_setter(field: &Field, member: &str) -> (String, String, String) {
    let Field { json, doc, ty, .. } = field;
    let put = |ty: &str, value: &str| (format!("{member}: {ty},"), format!("put(\"{json}\", {value})"));
    let (doc, (arguments, change)) = match ty {
        Type::Boolean => (sets_whether(field), put("bool", member)),
        Type::Integer | Type::Duration => (with_default(field, &sets(doc)), put("u64", member)),
        Type::List(_) if is_one_by_one(field) => {
            let singular = singular_of(member);
            let change = format!("push(\"{json}\", text!({singular}))");
            (adds(doc), (format!("{singular}: trunkline_str,"), change))
        }
        // Settings by name.
        Type::Map(values) if **values == Type::String => {
            let change = format!("put_in(\"{json}\", text!(name), text!(value))");
            (adds(doc), ("name: trunkline_str, value: trunkline_str,".to_owned(), change))
        }
        Type::Map(_) | Type::Object if is_by_name(field) => {
            let change = format!("put_in(\"{json}\", text!(name), parsed(\"settings\", text!(settings))?)");
            let doc = format!("{} The settings are a JSON object.", adds(doc));
            (doc, ("name: trunkline_str, settings: trunkline_str,".to_owned(), change))
        }
        ty if matches!(ty, Type::String | Type::Values(_)) || is_text_model(field) => {
            (with_default(field, &sets(doc)), put("trunkline_str", &format!("text!({member})")))
        }
        ty => {
            let form = if matches!(ty, Type::List(_)) { "A JSON array." } else { "JSON." };
            let value = format!("parsed(\"{member}\", text!({member}))?");
            (format!("{} {form}", sets(doc)), put("trunkline_str", &value))
        }
    };
    (doc, arguments, change)
}

/// The comment of a boolean option.
fn sets_whether(field: &Field) -> String {
    let doc = &field.doc;
    let sentence = match ["Whether ", "`true` if ", "`true` "].iter().find_map(|start| doc.strip_prefix(start)) {
        Some(rest) => rest.to_owned(),
        None if doc.starts_with("The ") || doc.starts_with("On ") => lowered(doc),
        None => format!("to {}", lowered(doc)),
    };
    with_default(field, &format!("Sets whether {sentence}"))
}

/// The setter of options that are set together. Empty strings leave the defaults.
fn together(surface: &Surface, Together { record, members, name, doc, .. }: &Together) -> Json {
    let (mut documented, mut declared, mut changes) = (String::new(), String::new(), String::new());
    for json in *members {
        let field = fields(surface, record).iter().find(|field| field.json == *json).expect("the option is declared");
        let member = snake(json);
        let argument = argument(&member);
        let described = with_default(field, &field.doc);
        let (ty, doc, change) = if *json == FILE_MODE {
            let (permissions, _) = field.doc.split_once(';').expect("the form in JSON is behind it");
            (
                "u32",
                format!("{permissions}, such as 0660. 0: 0600."),
                format!("if {argument} != 0 {{ options.given.put(\"{json}\", format!(\"{{{argument}:o}}\")); }}\n"),
            )
        } else if is_number(field) {
            ("u64", described, format!("options.given.put(\"{json}\", {argument});\n"))
        } else {
            (
                "trunkline_str",
                described + if field.default.is_some() { " Empty: the default." } else { "" },
                format!("options.given.put_unless_empty(\"{json}\", text!({argument}));\n"),
            )
        };
        documented += &format!("\n- `{argument}`: {doc}");
        declared += &format!("{argument}: {ty},\n");
        changes += &change;
    }
    let doc = format!("{doc}\n{documented}");
    json!({ "function": format!("set_{name}"), "doc": doc, "arguments": declared, "change": format!("{{ {changes} }}") })
}

/// Returns whether members are set one by one: those of a map, or of an object that is empty by
/// default.
fn is_by_name(field: &Field) -> bool {
    matches!(field.ty, Type::Map(_)) || field.default.as_ref().is_some_and(serde_json::Value::is_object)
}

/// Returns whether the type is a model with a few string values.
fn is_text_model(field: &Field) -> bool {
    ["logLevel", "onDuplicate", "revision", "stderr"].contains(&field.json.as_str())
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
        None | Some(serde_json::Value::Null) => String::new(),
        Some(default) => format!(" Default {default}."),
    };
    format!("{doc}{unit}{default}")
}

/// The error kinds whose functions take more than a message: the members before the message and
/// those after it.
const FAILURE_MEMBERS: [(&str, &[&str], &[&str]); 2] =
    [("invalid", &["path"], &[]), ("protocol", &["code"], &["data"])];

/// The functions that fail a call, one for each error kind.
fn failures(surface: &Surface) -> Vec<Json> {
    let kinds = surface.models.iter().find_map(|model| match model {
        Model::Values(values) if values.name == "FailKind" => Some(values),
        _ => None,
    });
    let kinds = kinds.expect("the surface has the kinds of failures");
    kinds.values.iter().map(|kind| failure(kind, &kinds.value_docs[kind], fields(surface, "Fail"))).collect()
}

fn failure(kind: &str, doc: &Json, members: &[Field]) -> Json {
    let (before, behind) = FAILURE_MEMBERS
        .iter()
        .find(|(name, ..)| *name == kind)
        .map_or((&[][..], &[][..]), |(_, before, behind)| (*before, *behind));
    let names = before.iter().chain(&["message"]).chain(behind);
    let found: Vec<&Field> = names
        .map(|name| members.iter().find(|field| field.name == *name).expect("failures have that member"))
        .collect();
    json!({
        "kind": kind,
        "doc": doc,
        "canBeWrong": found.iter().any(|field| field.ty == Type::Json),
        "declared": found.iter().map(|field| format!("{}: {}, ", field.name, failure_type(field))).collect::<String>(),
        "members": found.into_iter().map(failure_member).collect::<Vec<_>>(),
    })
}

fn failure_type(field: &Field) -> &'static str {
    if field.ty == Type::Integer { "i64" } else { "trunkline_str" }
}

/// A member of an error, and the expression of its value unless it is the message.
fn failure_member(field: &Field) -> Json {
    let name = &field.name;
    let doc = capitalized(field.doc.split_once(": ").map_or(&*field.doc, |(_, doc)| doc));
    let (form, value) = match (&field.ty, field.presence) {
        (Type::Integer, _) => ("", format!("Some({name})")),
        (Type::Json, _) => (" JSON, or empty for none.", format!("parsed_or_none(\"{name}\", text!({name}))?")),
        (_, Presence::Required) => ("", String::new()),
        _ => (
            " Example: \"/city\". Empty if all of them are invalid.",
            format!("Some(text!({name}).to_owned()).filter(|{name}| !{name}.is_empty())"),
        ),
    };
    json!({ "name": name, "doc": format!("{doc}{form}"), "value": value })
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A feature or hook whose registration has additional members, and its message.
const HOOKS: [(&str, &str); 4] = [
    ("completion", "RegisterCompletion"),
    ("provider", "RegisterProvider"),
    ("middleware", "RegisterMiddleware"),
    ("requestHandler", "RegisterRequestHandler"),
];

/// Members of registrations that are not arguments: the common ones, and those that
/// `trunkline_server_add` takes.
const IMPLIED: [&str; 4] = ["server", "lane", "scopes", "timeoutMs"];

/// Members whose names are not suitable as argument names in C.
const ARGUMENTS: [(&str, &str); 6] = [
    ("of", "category"),
    ("list_changed", "category"),
    ("resource_updated", "uri"),
    ("elicitation_complete", "id"),
    // GNU C defines a macro `unix`.
    ("unix", "path"),
    ("unix_mode", "mode"),
];

fn argument(name: &str) -> &str {
    let named = ARGUMENTS.iter().find(|(member, _)| *member == name);
    named.map_or(name, |(_, argument)| argument)
}

/// The members that are arguments in C.
fn hook_fields(fields: &[Field]) -> Vec<Json> {
    let given = fields.iter().filter(|field| !IMPLIED.contains(&&*field.json));
    let argued = |field: &Field| {
        json!({
            "name": field.name,
            "json": field.json,
            "doc": field.doc,
            "argument": argument(&field.name),
            "text": is_text(field),
            "required": field.presence == Presence::Required,
        })
    };
    given.map(argued).collect()
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
