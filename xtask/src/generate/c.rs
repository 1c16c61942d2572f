//! The files of the C library that follow from the surface: result codes, options, operations.
//! Their comments become the header's.

mod group;
mod pairs;
mod server_requests;

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::surface::{Caller, ErrorKind, Field, Model, Operation, Presence, Shape, Surface, Type, Unit};
use super::text::{prefixed, snake, wrapped};
use super::{File, MARK};

const FOLDER: &str = "bindings-c/src/generated";

/// The width of a comment's text.
const WIDTH: usize = 94;

pub(crate) fn render(surface: &Surface) -> Result<Vec<File>> {
    let files = [
        ("mod", modules()),
        ("errors", errors(&surface.errors)),
        ("client", client(&surface.operations)),
        ("client_group", group::render(surface)),
        ("context", context(surface)),
        ("features", features(surface)),
        ("open_handles", open_handles()),
        ("options", options(surface)?),
        ("requests", pairs::render()),
        ("returns", returns(surface)),
        ("server_requests", server_requests::render(surface)),
    ]
    .map(|(name, text)| (format!("{FOLDER}/{name}.rs"), format!("//! {MARK}\n//!\n{text}")))
    .into_iter()
    .chain([(format!("{FOLDER}/methods.h"), methods(surface))]);
    Ok(files.collect())
}

/// The macros of the version and of methods, which the header has after its first lines.
fn methods(Surface { operations, notifications, .. }: &Surface) -> String {
    let mut names = BTreeMap::new();
    for Operation { name, method, fixed, .. } in operations {
        if fixed.is_empty() {
            names.entry(name.to_uppercase()).or_insert(method);
        }
    }
    let macros: String =
        names.iter().map(|(name, method)| format!("#define TRUNKLINE_METHOD_{name} \"{method}\"\n")).collect();
    let received: String = notifications
        .iter()
        .map(|row| {
            format!(
                "/** {} */\n#define TRUNKLINE_NOTIFICATION_{} \"{}\"\n",
                row.doc,
                row.name.to_uppercase(),
                row.method
            )
        })
        .collect();
    format!(
        "/* {MARK} */\n\n\
         {}\n\
         /** Methods that have functions of their own here, for `trunkline_client_request` and\n\
         \x20* `trunkline_call_start_request`. */\n{macros}\n{received}",
        version(env!("CARGO_PKG_VERSION"))
    )
}

/// The macros of the version; a suffix such as `-rc.1` is in the text alone.
fn version(version: &str) -> String {
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let mut macros = format!(
        "/** The version of this header; `trunkline_version` has that of the library. */\n\
         #define TRUNKLINE_VERSION \"{version}\"\n"
    );
    for (name, number) in ["MAJOR", "MINOR", "PATCH"].into_iter().zip(numbers.split('.')) {
        macros += &format!("#define TRUNKLINE_VERSION_{name} {number}\n");
    }
    macros
        + "/** The version as a number to compare: `#if TRUNKLINE_VERSION_NUMBER >= 0x000200` is\n\
         \x20* 0.2.0 and later. */\n\
           #define TRUNKLINE_VERSION_NUMBER \\\n  \
           (TRUNKLINE_VERSION_MAJOR << 16 | TRUNKLINE_VERSION_MINOR << 8 | TRUNKLINE_VERSION_PATCH)\n"
}

fn modules() -> String {
    "//! The parts of the library that follow from the declaration of the surface.\n\n\
     pub mod client;\npub mod client_group;\npub mod context;\npub mod errors;\npub mod features;\npub mod open_handles;\npub mod options;\n\
     pub mod requests;\npub mod returns;\npub mod server_requests;\n"
        .into()
}

/// A comment of Rust, which becomes one of C. Items of lists begin with a hyphen.
fn comment(text: &str, indent: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let item = line.starts_with("- ");
        for (index, line) in wrapped(line, WIDTH - indent.len()).into_iter().enumerate() {
            lines.push(if item && index > 0 { format!("  {line}") } else { line });
        }
    }
    prefixed(&lines, &format!("{indent}/// "))
}

/// The results that C has beside the kinds of errors: number, name and documentation.
const OWN_RESULTS: [(u8, &str, &str); 6] = [
    (0, "ok", "It worked."),
    (100, "null", "A pointer that must not be NULL is NULL."),
    (101, "panic", "The library panicked; the panic was contained and the process lives."),
    (102, "done", "The call was already answered, was cancelled, or its connection is gone."),
    (103, "notFound", "There is nothing at that place, or it is of another type."),
    (104, "toolFailed", "The tool reported a failure (`isError`); the message is its text."),
];

fn errors(kinds: &[ErrorKind]) -> String {
    let own = OWN_RESULTS.iter().map(|(number, name, doc)| (*number, *name, (*doc).to_owned()));
    let shared = kinds.iter().map(|kind| (kind.c_code, kind.kind.as_str(), doc_of(kind)));
    let mut results: Vec<_> = own.chain(shared).collect();
    results.sort_by_key(|(number, ..)| *number);
    let variants: String = results
        .iter()
        .map(|(number, name, doc)| format!("{}    {} = {number},\n", comment(doc, "    "), result_name(name)))
        .collect();
    let names: String = results.iter().map(|(_, name, _)| format!("({}, c\"{name}\"),\n", result_name(name))).collect();
    format!(
        "//! Result codes.\n\n\
         use std::ffi::CStr;\n\n\
         use trunkline_result::*;\n\n\
         /// The outcome of a function. `TRUNKLINE_OK` is 0, everything else is a failure. Numbers are never\n\
         /// reused.\n\
         #[repr(C)]\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq)]\n\
         pub enum trunkline_result {{\n{variants}}}\n\n\
         /// Every result with its name; those of the bridge have the names of its kinds.\n\
         pub(crate) const NAMES: [(trunkline_result, &CStr); {}] = [{names}];\n",
        results.len()
    )
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

/// The sentence on threads that blocking functions share.
const BLOCKS: &str = "and runs callbacks meanwhile; `TRUNKLINE_BLOCKING` inside a callback of the same port.";

fn client(operations: &[Operation]) -> String {
    let functions: String = operations
        .iter()
        .filter(|operation| operation.caller == Caller::Client)
        .map(|operation| format!("\n{}", blocking(operation)))
        .collect();
    format!(
        "//! The operations of clients, as functions that block.\n\n\
         use crate::client::trunkline_client;\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, out, text}};\n\
         use crate::edge::options::settled;\n\
         use crate::edge::text::{{Text, trunkline_str, trunkline_text}};\n\
         use crate::json::ParamsBuilder;\n\
         use crate::requests::trunkline_request_options;\n\
         {functions}"
    )
}

/// The function that blocks until the result is there.
fn blocking(operation: &Operation) -> String {
    let Operation { name, doc, method, .. } = operation;
    let params = documented(operation);
    let (doc, output, body) = match (&operation.list, &operation.item, &operation.result) {
        (Some(list), Some(item), _) => {
            let output = snake(list);
            let doc = format!(
                "{} Blocks until all pages are there {BLOCKS}\n\n`options` may be NULL: each page may take \
                 their timeout, all together their maximum. `{output}` is a JSON array of the specification's {item}; it \
                 is yours: `trunkline_text_free`. `TRUNKLINE_TRANSPORT` if the server's list makes no sense or has no end.",
                lists(doc)
            );
            let body = format!("{output}.finish(client.list(\"{method}\", \"/{list}\", settled!(options))?.give())");
            (doc, Some(output), body)
        }
        (_, _, Some(result)) => {
            let doc = format!(
                "{doc} Blocks until the result is there {BLOCKS}\n\n{params}`options` may be NULL. `result` is the {result} \
                 as JSON; it is yours: `trunkline_text_free`."
            );
            let body = format!(
                "let json = client.request(\"{method}\", params.raw()?.as_deref(), settled!(options))?;\n\
                 result.finish(Text::copy(&json).give())"
            );
            (doc, Some("result".to_owned()), body)
        }
        (_, _, None) => {
            let doc = format!("{doc} Blocks until the answer is there {BLOCKS}\n\n{params}`options` may be NULL.");
            let body = format!("client.request(\"{method}\", params.raw()?.as_deref(), settled!(options))?;\nOk(())");
            (doc, None, body)
        }
    };
    let (declared, first) = match &output {
        Some(output) => (
            format!("{output}: *mut *mut trunkline_text,\n"),
            format!("let (client, {output}) = (handle!(client).connection.clone(), out!({output}));"),
        ),
        None => (String::new(), "let client = handle!(client).connection.clone();".to_owned()),
    };
    let params = if operation.list.is_some() { String::new() } else { format!("let params = {};\n", built(operation)) };
    format!(
        "{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_client_{name}(\n\
         client: *mut trunkline_client,\n{}\
         options: *const trunkline_request_options,\n{declared}\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n{first}\n{params}{body}\n}})\n}}\n",
        comment(&doc, ""),
        declarations(operation),
    )
}

/// The members of `NotifyCall` that have functions of their own, with the names of these. The
/// others come with more arguments.
const REPORTS: [(&str, &str); 3] =
    [("close_stream", "close_stream"), ("start_task", "start_task"), ("task_message", "set_task_message")];

fn context(surface: &Surface) -> String {
    let operations = &surface.operations;
    let reports: String = fields(surface, "NotifyCall")
        .iter()
        .filter_map(|field| Some((field, REPORTS.iter().find(|(member, _)| *member == field.name)?.1)))
        .map(|(field, function)| reported(field, function))
        .collect();
    let functions: String = operations
        .iter()
        // Members that never differ are for languages that take the parameters one by one.
        .filter(|operation| operation.caller == Caller::Handler && operation.fixed.is_empty())
        .map(|operation| asked(operation, operations))
        .collect();
    format!(
        "//! The context of handlers: notes on their call, and requests to its client.\n\n\
         use std::ffi::c_void;\n\n\
         use trunkline_bridge::message::NotifyCall;\n\n\
         use crate::calls::trunkline_call;\n\
         use crate::context::{{AnswerCallback, trunkline_answer_callback}};\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, guard_result, handle, kept, text}};\n\
         use crate::edge::text::trunkline_str;\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         {reports}{functions}"
    )
}

/// The function that notes something about a call.
fn reported(field: &Field, function: &str) -> String {
    let Field { name, doc, .. } = field;
    let (doc, declared, value) = match field.ty {
        Type::Boolean => (doc.clone(), String::new(), "true".to_owned()),
        _ => (sets(doc), format!("{name}: trunkline_str,\n"), format!("Some(text!({name}).to_owned())")),
    };
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_call_{function}(\n\
         call: *mut trunkline_call,\n{declared}\
         ) -> trunkline_result {{\n\
         guard_result(|| handle!(call).notify(NotifyCall {{ {name}: {value}, ..NotifyCall::default() }}))\n}}\n",
        comment(&doc, ""),
    )
}

/// The function of a handler that asks the client of its call.
fn asked(operation: &Operation, operations: &[Operation]) -> String {
    let Operation { name, doc, method, .. } = operation;
    let result = operation.result.as_deref().unwrap_or("result");
    let (declared, given, params) = if operation.params.is_empty() {
        ("", "\"\"", String::new())
    } else {
        let others = operations.iter().filter(|other| other.method == *method && !other.fixed.is_empty());
        let others: String = others.map(|other| format!(", or with {}, {}", fixed(other), needed(other))).collect();
        let params = format!(
            "`params` is a JSON object, the params of `{method}` in the specification, with {}{others}. ",
            needed(operation)
        );
        ("params: trunkline_str,\n", "text!(params)", params)
    };
    let doc = format!(
        "{doc} {params}`key` says which answer belongs to which request; if it is empty, requests are counted by kind. \
         `callback` gets the {result} as JSON; when, and with which failures, as with `trunkline_call_start_request`. \
         `destructor` fires exactly once, also if this function fails."
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_call_{name}(\n\
         call: *mut trunkline_call,\n{declared}\
         key: trunkline_str,\n\
         callback: trunkline_answer_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         guard(error, || {{\n\
         let callback = AnswerCallback::required(callback, user_data)?;\n\
         kept!(call).request_input(\"{method}\", {given}, text!(key), callback)\n\
         }})\n}}\n",
        comment(&doc, ""),
    )
}

/// The members that never differ, such as `"mode": "url"`.
fn fixed(operation: &Operation) -> String {
    let members: Vec<_> = operation.fixed.iter().map(|(name, value)| format!("`\"{name}\": {value}`")).collect();
    members.join(", ")
}

/// The members that must be there.
fn needed(operation: &Operation) -> String {
    let needed = operation.params.iter().filter(|field| matches!(field.presence, Presence::Required | Presence::List));
    needed.map(|field| format!("`{}`", field.json)).collect::<Vec<_>>().join(" and ")
}

/// The first sentence on a list, from that on its items.
fn lists(doc: &str) -> String {
    doc.strip_prefix("The ").map_or_else(|| doc.to_owned(), |items| format!("Lists the {items}"))
}

/// The comments on parameters, an item each.
fn documented(operation: &Operation) -> String {
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

fn declarations(operation: &Operation) -> String {
    operation.params.iter().map(|field| format!("{}: trunkline_str,\n", field.name)).collect()
}

/// The expression that makes the params of arguments.
fn built(operation: &Operation) -> String {
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

/// Members that follow from a declaration.
struct Source {
    /// The options, the message or the model.
    record: &'static str,
    /// The member of the Rust struct that takes them.
    place: &'static str,
    /// Those that have no setter here: they come with other arguments, or are set together by a
    /// function in `api/options.rs`.
    except: &'static [&'static str],
    /// Numbers are limits, set by one function.
    limits: bool,
    /// The end of each comment.
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
        sources: &[Source {
            record: "RegisterTool",
            place: "given",
            except: &["server", "tool", "lane", "replaces", "explains"],
            limits: false,
            note: "",
        }],
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
                note: " For HTTP; of a configuration or a group, for those of its servers that leave it open.",
            },
            Source {
                record: "ChildOptions",
                place: "child",
                except: &["command"],
                limits: false,
                note: " For child processes; of a configuration or a group, for those of its servers that leave it open.",
            },
        ],
    },
    Object {
        name: "request",
        sources: &[
            Source {
                record: "Request",
                place: "message",
                except: &["method", "params", "progress", "wait", "causes", "trace", "notification"],
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

/// Options that one function sets, because one of them says little without the others.
struct Together {
    object: &'static str,
    /// The options and their declaration.
    record: &'static str,
    members: &'static [&'static str],
    /// The name behind `set_`.
    name: &'static str,
    doc: &'static str,
}

const TOGETHER: [Together; 3] = [
    Together {
        object: "server",
        record: "ServerOptions",
        members: &["ttlMs", "cacheScope"],
        name: "cache",
        doc: "Sets how long clients may keep lists and what the server says about itself. Resources have their own: \
              `trunkline_server_add`.",
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
        doc: "Sets what each session keeps for clients whose connection breaks; 0: nothing.",
    },
];

/// The option that is a number in C, as `chmod` takes it, and octal digits in JSON.
const FILE_MODE: &str = "unixMode";

/// A callback among the options: the object, the name behind `on_`, and the comment.
const CALLBACKS: [(&str, &str, &str); 2] = [
    ("client", "notification", "Runs `callback` for each notification of the server."),
    (
        "request",
        "progress",
        "Requests progress. `callback` runs before the outcome of the request: for a blocking request on the thread that \
         made it. Progress that comes while a callback of the port runs is reduced to the latest; a blocking request that \
         is answered meanwhile leaves it out.",
    ),
];

/// The objects that run on a port, with the end of a comment.
const ON_PORTS: [(&str, &str); 2] =
    [("server", ""), ("client", " A client in memory always runs on the port of its server.")];

/// The places in a message with typed members begin with this; the others hold JSON.
const TYPED: &str = "message";

/// Options of which a function in `api/options.rs` sets several.
const BY_HAND: [(&[&str], &str); 2] =
    [(&["sse", "messages"], "http_options_set_sse"), (&["info"], "client_options_set_info")];

/// Lists that are given as a whole, as a JSON array.
const WHOLE_LISTS: [&str; 1] = ["scopes"];

/// The numbers of limits, from 1 in this order, which are never reused. A new limit is added at the
/// end: `numbered` refuses one that is not here.
const LIMITS: [&str; 23] = [
    "pageSize",
    "maxRunning",
    "maxWaiting",
    "maxMessageBytes",
    "maxNesting",
    "maxSessions",
    "sessionIdleMs",
    "drainDeadlineMs",
    "keepAliveMs",
    "stateLifetimeMs",
    "maxRounds",
    "inputTimeoutMs",
    "taskTtlMs",
    "taskPollIntervalMs",
    "maxTasks",
    "maxWaitingBytes",
    "maxTasksPerClient",
    "maxSessionsPerClient",
    "maxValues",
    "maxTaskBytes",
    "maxTaskBytesPerClient",
    "storeDeadlineMs",
    "maxSubscriptionBytes",
];

fn options(surface: &Surface) -> Result<String> {
    let mut limits = Vec::new();
    let mut functions = String::new();
    for Object { name, sources } in &OBJECTS {
        functions += &made(name);
        for (number, source) in sources.iter().enumerate() {
            // A message has the fields of its options, too.
            let follows = |field: &Field| {
                let mut later = sources[number + 1..].iter().flat_map(|later| fields(surface, later.record));
                source.record == "Request" && later.any(|other| other.json == field.json)
            };
            let given = fields(surface, source.record).iter();
            let given = given.filter(|field| !source.except.contains(&&*field.json) && !follows(field));
            let (numbers, others): (Vec<_>, Vec<_>) = given.partition(|field| source.limits && is_number(field));
            limits.extend(numbers);
            functions.extend(others.into_iter().map(|field| setter(name, source, field)));
        }
        functions.extend(
            TOGETHER.iter().filter(|options| options.object == *name).map(|options| together(surface, options)),
        );
        functions.extend(ON_PORTS.iter().filter(|(object, _)| object == name).map(|(_, more)| port(name, more)));
        functions.extend(CALLBACKS.iter().filter(|(object, ..)| object == name).map(|row| callback(*row)));
        functions += &freed(name);
    }
    Ok(format!(
        "//! The setters of options that follow from their declaration.\n\n\
         use std::ffi::c_void;\n\
         use std::sync::Arc;\n\n\
         use trunkline_bridge::message::Time;\n\n\
         use crate::edge::failure::{{Failure, trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{free, give, guard, handle, out, text}};\n\
         use crate::edge::options::{{OptionsHandle, set}};\n\
         use crate::edge::text::trunkline_str;\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         use crate::json::{{object, parsed}};\n\
         use crate::open_handle::{{NotificationCallback, trunkline_notification_callback}};\n\
         use crate::options::{{trunkline_client_options, trunkline_http_options, trunkline_server_options, \
         trunkline_tool_options}};\n\
         use crate::port::trunkline_port;\n\
         use crate::requests::{{ProgressCallback, trunkline_progress_callback, trunkline_request_options}};\n\n\
         {}{functions}",
        numbered(&limits)?
    ))
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

/// The enumeration of limits, and their names on the waist. The number of a limit stays the same
/// whatever the order of the options, so each needs its place in [`LIMITS`].
fn numbered(limits: &[&Field]) -> Result<String> {
    if let Some(new) = limits.iter().find(|field| !LIMITS.contains(&&*field.json)) {
        bail!("the limit {} has no number in C: add it at the end of LIMITS in xtask/src/generate/c.rs", new.json);
    }
    let variants: String = LIMITS
        .iter()
        .enumerate()
        .filter_map(|(index, name)| Some((index + 1, limits.iter().find(|field| field.json == *name)?)))
        .map(|(number, field)| {
            let doc = comment(&with_default(field, &field.doc), "    ");
            format!("{doc}    TRUNKLINE_LIMIT_{} = {number},\n", snake(&field.json).to_uppercase())
        })
        .collect();
    let list: String = LIMITS.iter().map(|name| format!("{name:?},\n")).collect();
    Ok(format!(
        "/// The limits of a server; see `trunkline_server_options_set_limit`.\n\
         #[repr(C)]\n\
         #[allow(dead_code, reason = \"for C; Rust takes the numbers, which may be anything\")]\n\
         pub enum trunkline_limit {{\n{variants}}}\n\n\
         /// The name of each limit on the waist, by its number.\n\
         pub(crate) const LIMITS: [&str; {}] = [{list}];\n",
        LIMITS.len()
    ))
}

fn made(object: &str) -> String {
    format!(
        "\n/// Makes options in which nothing is set. `options` is yours: `trunkline_{object}_options_free`.\n\
         #[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_new(\n\
         options: *mut *mut trunkline_{object}_options,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         out!(options).finish(give(trunkline_{object}_options::default()))\n}})\n}}\n\
         \nimpl OptionsHandle for trunkline_{object}_options {{\n\
         fn wrong(&self) -> &Option<Failure> {{\n&self.wrong\n}}\n\n\
         fn wrong_mut(&mut self) -> &mut Option<Failure> {{\n&mut self.wrong\n}}\n}}\n"
    )
}

fn freed(object: &str) -> String {
    format!(
        "\n/// Frees options. NULL is allowed.\n\
         #[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_free(options: *mut trunkline_{object}_options) {{\n\
         free!(options)\n}}\n"
    )
}

/// The function of an option behind `trunkline_`, or its limit, if C has one.
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

/// The name of a setter behind that of its object.
fn setter_name(field: &Field) -> String {
    let member = snake(&field.json);
    let singular = singular_of(&member);
    match &field.ty {
        Type::List(_) if is_one_by_one(field) => match singular.strip_prefix("allowed_") {
            Some(allowed) => format!("allow_{allowed}"),
            None => format!("add_{singular}"),
        },
        // Answers come together.
        Type::Map(_) if field.json == "inputResponses" => format!("set_{member}"),
        Type::Map(_) | Type::Object if is_by_name(field) => format!("set_{singular}"),
        _ => format!("set_{member}"),
    }
}

/// The name of one of many.
fn singular_of(member: &str) -> String {
    match member.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => member.strip_suffix('s').unwrap_or(member).to_owned(),
    }
}

/// A list of texts to which a function adds one.
fn is_one_by_one(field: &Field) -> bool {
    matches!(&field.ty, Type::List(items) if **items == Type::String) && !WHOLE_LISTS.contains(&&*field.json)
}

fn setter(object: &str, source: &Source, field: &Field) -> String {
    let Source { place, note, .. } = source;
    let Field { json, doc, .. } = field;
    let typed = place.starts_with(TYPED);
    let member = match json.as_str() {
        // A macro of stdio.h.
        "stderr" => "destination".to_owned(),
        // A keyword since C++20.
        "requires" => "capabilities".to_owned(),
        _ => snake(json),
    };
    let function = setter_name(field);
    let singular = singular_of(&member);
    let (doc, arguments, change) = match &field.ty {
        Type::Duration if typed => {
            let doc = with_default(field, &sets(doc));
            let change = format!("{} = Some(Time::from_millis({member}).0)", field.name);
            (doc, format!("{member}: u64,"), change)
        }
        Type::String if typed => {
            let change = format!("{} = Some(text!({member}).into())", field.name);
            (sets(doc), format!("{member}: trunkline_str,"), change)
        }
        Type::Json if typed => {
            let change = format!("{} = Some(parsed(\"{member}\", text!({member}))?)", field.name);
            (format!("{} JSON.", sets(doc)), format!("{member}: trunkline_str,"), change)
        }
        Type::Map(_) if typed => {
            let change = format!("{} = Some(object(\"{member}\", text!({member}))?)", field.name);
            let doc = format!("{} A JSON object.", sets(doc));
            (doc, format!("{member}: trunkline_str,"), change)
        }
        Type::Boolean => {
            let stated = ["Whether ", "`true` if "].iter().find_map(|start| doc.strip_prefix(start));
            let sentence = match stated {
                Some(rest) => rest.to_owned(),
                None if doc.starts_with("The ") || doc.starts_with("On ") => lowered(doc),
                None => format!("to {}", lowered(doc)),
            };
            let doc = with_default(field, &format!("Sets whether {sentence}"));
            let change =
                if typed { format!("{} = {member}", field.name) } else { format!("put(\"{json}\", {member})") };
            (doc, format!("{member}: bool,"), change)
        }
        Type::Integer | Type::Duration => {
            let doc = with_default(field, &sets(doc));
            (doc, format!("{member}: u64,"), format!("put(\"{json}\", {member})"))
        }
        Type::List(_) if is_one_by_one(field) => {
            let change = format!("push(\"{json}\", text!({singular}))?");
            (adds(doc), format!("{singular}: trunkline_str,"), change)
        }
        // Settings by name.
        Type::Map(_) | Type::Object if is_by_name(field) => {
            let (value, text) = match &field.ty {
                Type::Map(values) if **values == Type::String => ("value", "text!(value)".to_owned()),
                _ => ("settings", "parsed(\"settings\", text!(settings))?".to_owned()),
            };
            let more = if value == "settings" { " The settings are a JSON object." } else { "" };
            let doc = format!("{}{more}", adds(doc));
            let change = format!("put_in(\"{json}\", text!(name), {text})?");
            (doc, format!("name: trunkline_str,\n{value}: trunkline_str,"), change)
        }
        Type::String | Type::Values(_) => {
            let doc = with_default(field, &sets(doc));
            let change = format!("put(\"{json}\", text!({member}))");
            (doc, format!("{member}: trunkline_str,"), change)
        }
        Type::Model(_) if is_text_model(field) => {
            let doc = with_default(field, &sets(doc));
            let change = format!("put(\"{json}\", text!({member}))");
            (doc, format!("{member}: trunkline_str,"), change)
        }
        _ => {
            let form = if matches!(field.ty, Type::List(_)) { "A JSON array." } else { "JSON." };
            let doc = format!("{} {form}", sets(doc));
            let change = format!("put(\"{json}\", parsed(\"{member}\", text!({member}))?)");
            (doc, format!("{member}: trunkline_str,"), change)
        }
    };
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_{function}(\n\
         options: *mut trunkline_{object}_options,\n{arguments}\n\
         ) -> trunkline_result {{\n\
         set!(options, options.{place}.{change})\n}}\n",
        comment(&(doc + note), "")
    )
}

/// The setter of options that are set together. Empty texts leave the default.
fn together(surface: &Surface, Together { object, record, members, name, doc }: &Together) -> String {
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
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_set_{name}(\n\
         options: *mut trunkline_{object}_options,\n{declared}\
         ) -> trunkline_result {{\n\
         set!(options, {{\n{changes}}})\n}}\n",
        comment(&format!("{doc}\n{documented}"), "")
    )
}

fn port(object: &str, more: &str) -> String {
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_set_port(\n\
         options: *mut trunkline_{object}_options,\n\
         port: *mut trunkline_port,\n\
         ) -> trunkline_result {{\n\
         set!(options, options.port = Some(handle!(port).port.clone()))\n}}\n",
        comment(&format!("Runs the {object} on a port of yours instead of one of its own.{more}"), "")
    )
}

fn callback((object, name, doc): (&str, &str, &str)) -> String {
    let doc = format!(
        "{doc} `destructor` fires exactly once, when neither the options nor a {object} uses `user_data` any more."
    );
    let taken = format!("{}Callback::required(callback, user_data)?", capitalized(name));
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{object}_options_on_{name}(\n\
         options: *mut trunkline_{object}_options,\n\
         callback: trunkline_{name}_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         set!(options, options.{name} = Some(Arc::new({taken})))\n}}\n",
        comment(&doc, "")
    )
}

/// Returns whether members are set one by one: of a map, or of an object that is empty by default.
fn is_by_name(field: &Field) -> bool {
    matches!(field.ty, Type::Map(_)) || field.default.as_ref().is_some_and(serde_json::Value::is_object)
}

/// A type of the model that is one of a few texts.
fn is_text_model(field: &Field) -> bool {
    ["logLevel", "onDuplicate", "revision", "stderr"].contains(&field.json.as_str())
}

fn sets(doc: &str) -> String {
    format!("Sets the {}", lowered(doc.strip_prefix("The ").unwrap_or(doc)))
}

fn adds(doc: &str) -> String {
    format!("Adds one of the {}", lowered(doc.strip_prefix("The ").unwrap_or(doc)))
}

/// A sentence that goes on in another one. Names keep their capitals.
fn lowered(doc: &str) -> String {
    let mut letters = doc.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(doc.chars().skip(1)).collect()
        }
        _ => doc.to_owned(),
    }
}

/// A sentence on an option, with its unit and its default.
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

/// A handle that is open until its other side or the program ends it.
struct Handle {
    /// The name in C.
    name: &'static str,
    /// The member that blocking functions hold.
    member: &'static str,
    /// The word for it.
    word: &'static str,
    /// The meaning of its end, behind "has ended".
    ended: &'static str,
    /// The ends that are not failures, beside being closed.
    ends: &'static str,
    /// The failures that it can end in, beside those that end it while it is open.
    failures: &'static str,
    /// The work that is in flight, and its end at the deadline.
    work: (&'static str, &'static str),
}

const HANDLES: [Handle; 2] = [
    Handle {
        name: "listener",
        member: "inner",
        word: "listener",
        ended: " (closed, or stdin ended)",
        ends: ", its input ended,",
        failures: "",
        work: ("calls", "are cancelled"),
    },
    Handle {
        name: "client",
        member: "connection",
        word: "connection",
        ended: " or could not be made",
        ends: "",
        failures: " or kept it from being made, such as `TRUNKLINE_TRANSPORT` with the last output of a child process",
        work: ("requests", "fail with `TRUNKLINE_CLOSED`; a child process is ended"),
    },
];

fn open_handles() -> String {
    let functions: String = HANDLES.iter().map(open_handle).collect();
    format!(
        "//! The ends of listeners and clients.\n\n\
         use crate::client::trunkline_client;\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, value_or}};\n\
         use crate::listener::trunkline_listener;\n\
         use crate::open_handle;\n\
         {functions}"
    )
}

/// The functions that ask for the end of a handle, and the one that brings it about.
fn open_handle(handle: &Handle) -> String {
    let Handle { name, member, word, ended, ends, failures, work: (work, late) } = handle;
    let closed = format!(
        "Returns `true` if the {word} has ended{ended}, and for NULL. Changes only inside \
         `trunkline_dispatch` and other blocking functions."
    );
    let end = format!(
        "The end of the {word}: `TRUNKLINE_OK` if it was closed{ends} or it is still open (`trunkline_{name}_closed`), \
         otherwise the failure that ended it{failures}."
    );
    let close = format!(
        "Closes the {word}: {work} in flight get `deadline_ms` to finish, then they {late}. Blocks until it is closed {BLOCKS}"
    );
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{name}_closed({name}: *const trunkline_{name}) -> bool {{\n\
         value_or(true, || Ok(handle!({name}).{member}.open.is_closed()))\n}}\n\
         \n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{name}_end(\n\
         {name}: *const trunkline_{name},\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || handle!({name}).{member}.open.outcome())\n}}\n\
         \n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_{name}_close(\n\
         {name}: *mut trunkline_{name},\n\
         deadline_ms: u64,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         // A callback may free the {name}.\n\
         let {name} = handle!({name}).{member}.clone();\n\
         open_handle::close(&{name}.port, [({name}.handle, &{name}.open)], deadline_ms)\n\
         }})\n}}\n",
        comment(&closed, ""),
        comment(&end, ""),
        comment(&close, ""),
    )
}

/// The kinds of failures whose functions take more than a message: the members before the message,
/// and those behind it.
const FAILURE_MEMBERS: [(&str, &[&str], &[&str]); 2] =
    [("invalid", &["path"], &[]), ("protocol", &["code"], &["data"])];

/// The shapes whose answers have functions of their own, with the names of these, and with
/// sentences on them in C.
const SHAPES: [(&str, &str, &str); 3] = [
    ("Text", "return_text", ""),
    ("Result", "return_result", " The same as `trunkline_call_return_json` with `TRUNKLINE_SHAPE_RESULT`."),
    (
        "Input",
        "require_input",
        " When the answers are there, the handler is called again, as a new call; `trunkline_call_fact` has \
         \"/inputResponses\" (the answers of this round, by key) and \"/state\".",
    ),
];

fn returns(surface: &Surface) -> String {
    let kinds = surface.models.iter().find_map(|model| match model {
        Model::Values(values) if values.name == "FailKind" => Some(values),
        _ => None,
    });
    let kinds = kinds.expect("the surface has the kinds of failures");
    let members = fields(surface, "Fail");
    let functions: String = kinds
        .values
        .iter()
        .map(|kind| failure(kind, kinds.value_docs[kind].as_str().unwrap_or_default(), members))
        .collect();
    let variants: String = surface
        .shapes
        .iter()
        .map(|Shape { name, number, doc }| {
            format!("{}    TRUNKLINE_SHAPE_{} = {number},\n", comment(doc, "    "), name.to_uppercase())
        })
        .collect();
    let answers: String = surface
        .shapes
        .iter()
        .filter_map(|shape| Some((shape, SHAPES.iter().find(|(name, ..)| *name == shape.name)?)))
        .map(|(shape, (_, function, more))| answered(shape, function, more))
        .collect();
    format!(
        "//! Answers of calls: results by shape, and failures by kind.\n\n\
         use trunkline_bridge::Shape;\n\
         use trunkline_bridge::message::{{Fail, FailKind}};\n\n\
         use crate::calls::{{failing, trunkline_call}};\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, guard_result, handle, text}};\n\
         use crate::edge::text::trunkline_str;\n\
         use crate::json::parsed_or_none;\n\n\
         /// The way from the JSON of `trunkline_call_return_json` to a result of a tool, a resource or a\n\
         /// prompt. Completions and the lists of providers are `TRUNKLINE_SHAPE_VALUE`, the answers of\n\
         /// middleware are `TRUNKLINE_SHAPE_RESULT`.\n\
         #[repr(C)]\n\
         #[allow(dead_code, reason = \"for C; Rust takes the numbers, which may be anything\")]\n\
         pub enum trunkline_shape {{\n{variants}}}\n\
         {answers}{functions}"
    )
}

/// The function that answers a call with a result of a shape.
fn answered(shape: &Shape, function: &str, more: &str) -> String {
    let Shape { name, doc, .. } = shape;
    let (argument, error, guard) = match &**name {
        "Text" => ("text", "", "guard_result("),
        _ => ("json", "error: *mut *mut trunkline_error,\n", "guard(error, "),
    };
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_call_{function}(\n\
         call: *mut trunkline_call,\n{argument}: trunkline_str,\n{error}\
         ) -> trunkline_result {{\n\
         {guard}|| handle!(call).complete(Shape::{name}, text!({argument}).as_bytes()))\n}}\n",
        comment(&format!("Answers with {}{more}", lowered(doc)), ""),
    )
}

/// The function that answers a call with a failure of a kind.
fn failure(kind: &str, doc: &str, members: &[Field]) -> String {
    let (before, behind) = FAILURE_MEMBERS
        .iter()
        .find(|(name, ..)| *name == kind)
        .map_or((&[][..], &[][..]), |(_, before, behind)| (*before, *behind));
    let (mut documented, mut declared, mut given, mut names) =
        (String::new(), String::new(), String::new(), String::new());
    let mut can_be_wrong = false;
    for member in before.iter().chain(&["message"]).chain(behind) {
        let field = members.iter().find(|field| field.name == *member).expect("failures have that member");
        let doc = field.doc.split_once(": ").map_or(&*field.doc, |(_, doc)| doc);
        let (ty, form, value) = match (&field.ty, field.presence) {
            (Type::Integer, _) => ("i64", "", format!("Some({member})")),
            (Type::Json, _) => {
                can_be_wrong = true;
                (
                    "trunkline_str",
                    " JSON, or empty for none.",
                    format!("parsed_or_none(\"{member}\", text!({member}))?"),
                )
            }
            (_, Presence::Required) => ("trunkline_str", "", String::new()),
            _ => {
                let value = format!("Some(text!({member}).to_owned()).filter(|{member}| !{member}.is_empty())");
                ("trunkline_str", " Such as \"/city\"; empty for all of them.", value)
            }
        };
        documented += &format!("\n- `{member}`: {}{form}", capitalized(doc));
        declared += &format!("{member}: {ty},\n");
        if !value.is_empty() {
            given += &format!("let {member} = {value};\n");
            names += &format!("{member}, ");
        }
    }
    let variant = capitalized(kind);
    let failing = format!("failing(FailKind::{variant}, text!(message))");
    let fail = if names.is_empty() { failing } else { format!("Fail {{ {names}..{failing} }}") };
    let function = if kind == "internal" { String::new() } else { format!("_{kind}") };
    let (error, guard) = match can_be_wrong {
        true => ("error: *mut *mut trunkline_error,\n", "guard(error, "),
        false => ("", "guard_result("),
    };
    let more = match kind {
        "tool" => " The result has `isError`, and the model reads the text.",
        "internal" => " The server's debug option shows the detail to both.",
        _ => "",
    };
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_call_fail{function}(\n\
         call: *mut trunkline_call,\n{declared}{error}\
         ) -> trunkline_result {{\n\
         {guard}|| {{\nlet call = handle!(call);\n{given}call.fail({fail})\n}})\n}}\n",
        comment(&format!("Answers with a failure: {}{more}\n{documented}", lowered(doc)), ""),
    )
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A kind of feature that a descriptor describes.
struct Feature {
    /// The name in C.
    name: &'static str,
    /// The name on the waist.
    kind: &'static str,
    /// The model of the descriptor.
    model: &'static str,
    /// The member that names the feature.
    member: &'static str,
    /// The argument that names the feature, and a word for it.
    named_by: (&'static str, &'static str),
    /// The members that most descriptors have.
    example: &'static str,
    /// The end of the comment.
    more: &'static str,
}

const FEATURES: [Feature; 4] = [
    Feature {
        name: "tool",
        kind: "tool",
        model: "Tool",
        member: "name",
        named_by: ("name", "name"),
        example: r#"{"name": …, "description": …, "inputSchema": …}"#,
        more: " Without `inputSchema` the tool takes no arguments: a call that has some is refused.",
    },
    Feature {
        name: "resource",
        kind: "resource",
        model: "Resource",
        member: "uri",
        named_by: ("uri", "URI"),
        example: r#"{"uri": …, "name": …, "mimeType": …}"#,
        more: "",
    },
    Feature {
        name: "resource_template",
        kind: "resourceTemplate",
        model: "ResourceTemplate",
        member: "uriTemplate",
        named_by: ("uri_template", "text"),
        example: r#"{"uriTemplate": …, "name": …, "mimeType": …}"#,
        more: "",
    },
    Feature {
        name: "prompt",
        kind: "prompt",
        model: "Prompt",
        member: "name",
        named_by: ("name", "name"),
        example: r#"{"name": …, "description": …, "arguments": [{"name": …, "required": true}]}"#,
        more: "",
    },
];

/// A feature or hook whose registration has members of its own: its name in C and on the waist, and
/// its message.
const HOOKS: [(&str, &str, &str); 4] = [
    ("completion", "completion", "RegisterCompletion"),
    ("provider", "provider", "RegisterProvider"),
    ("middleware", "middleware", "RegisterMiddleware"),
    ("request_handler", "requestHandler", "RegisterRequestHandler"),
];

/// The members of registrations that are not arguments: those of every one, and those that
/// `trunkline_server_add` takes.
const IMPLIED: [&str; 4] = ["server", "lane", "scopes", "timeoutMs"];

/// The members whose names say too little, or too much, as names of arguments in C.
const ARGUMENTS: [(&str, &str); 6] = [
    ("of", "category"),
    ("list_changed", "category"),
    ("resource_updated", "uri"),
    ("elicitation_complete", "id"),
    // GNU C has a macro `unix`.
    ("unix", "path"),
    ("unix_mode", "mode"),
];

fn argument(name: &str) -> &str {
    let named = ARGUMENTS.iter().find(|(member, _)| *member == name);
    named.map_or(name, |(_, argument)| argument)
}

fn features(surface: &Surface) -> String {
    let described: String = FEATURES.iter().map(described).collect();
    let hooks: String = HOOKS.iter().map(|(name, kind, record)| hook(name, kind, fields(surface, record))).collect();
    let notified: String = fields(surface, "NotifyServer").iter().map(notified).collect();
    let names: String =
        FEATURES.iter().map(|Feature { kind, member, .. }| format!("(\"{kind}\", \"{member}\"),\n")).collect();
    format!(
        "//! The features and hooks of servers: adding and removing them, and notifications about them.\n\n\
         use std::ffi::c_void;\n\n\
         use trunkline_bridge::message::NotifyServer;\n\n\
         use crate::calls::{{CallCallback, trunkline_call_callback}};\n\
         use crate::edge::failure::{{trunkline_error, trunkline_result}};\n\
         use crate::edge::ffi::{{guard, handle, text}};\n\
         use crate::edge::text::trunkline_str;\n\
         use crate::edge::user_data::{{UserData, trunkline_destructor}};\n\
         use crate::json::{{parsed, parsed_or_none}};\n\
         use crate::options::SetMembers;\n\
         use crate::server::trunkline_server;\n\n\
         /// The member of a descriptor that names a feature of that kind.\n\
         pub(crate) const NAMED_BY: [(&str, &str); {}] = [{names}];\n\
         {described}{hooks}{notified}",
        FEATURES.len()
    )
}

/// The functions of a feature that a descriptor describes.
fn described(feature: &Feature) -> String {
    let Feature { name, kind, model, named_by: (argument, word), example, more, .. } = feature;
    let words = name.replace('_', " ");
    let add = format!(
        "Adds a {words}, as `trunkline_server_add` does. `descriptor` is the specification's {model} as JSON: `{example}`.{more}"
    );
    let remove = format!("Removes the {words} of that {word}, as `trunkline_server_remove` does.");
    let body = format!("handle!(server).add_described(\"{kind}\", text!(descriptor), callback)");
    format!(
        "{}\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_server_remove_{name}(\n\
         server: *mut trunkline_server,\n\
         {argument}: trunkline_str,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || handle!(server).remove_named(\"{kind}\", text!({argument})))\n}}\n",
        added(name, &add, "descriptor: trunkline_str,\n", &body),
        comment(&remove, ""),
    )
}

/// The function that adds a feature or hook with the members of its registration as arguments.
fn hook(name: &str, kind: &str, fields: &[Field]) -> String {
    let given = || fields.iter().filter(|field| !IMPLIED.contains(&&*field.json));
    let (mut documented, mut declared, mut members) = (String::new(), String::new(), String::new());
    for field in given() {
        let Field { json, doc, .. } = field;
        let argument = argument(&field.name);
        declared += &format!("{argument}: trunkline_str,\n");
        let (form, member) = match (is_text(field), field.presence) {
            (true, _) => ("", format!("entry.put(\"{json}\", text!({argument}));\n")),
            (false, Presence::Required) => {
                (" JSON.", format!("entry.put(\"{json}\", parsed(\"{argument}\", text!({argument}))?);\n"))
            }
            (false, _) => {
                let parsed = format!("parsed_or_none(\"{argument}\", text!({argument}))?");
                let put = format!("entry.put(\"{json}\", {argument});");
                (" JSON, or empty for none.", format!("if let Some({argument}) = {parsed} {{\n{put}\n}}\n"))
            }
        };
        documented += &format!("\n- `{argument}`: {doc}{form}");
        members += &member;
    }
    let words = name.replace('_', " ");
    let doc = format!("Adds a {words}, as `trunkline_server_add` does.\n{documented}");
    let body = format!(
        "let mut entry = SetMembers::default();\n{members}handle!(server).add(\"{kind}\", entry, callback, |_| ())"
    );
    added(name, &doc, &declared, &body)
}

/// A function that adds something to a server.
fn added(name: &str, doc: &str, declared: &str, body: &str) -> String {
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_server_add_{name}(\n\
         server: *mut trunkline_server,\n{declared}\
         callback: trunkline_call_callback,\n\
         user_data: *mut c_void,\n\
         destructor: trunkline_destructor,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         let user_data = UserData::new(user_data, destructor);\n\
         guard(error, || {{\n\
         let callback = CallCallback::new(callback, user_data);\n{body}\n\
         }})\n}}\n",
        comment(doc, ""),
    )
}

/// The function that sends one of the notifications of a server.
fn notified(field: &Field) -> String {
    let Field { name, json, doc, .. } = field;
    let argument = argument(&field.name);
    format!(
        "\n{}#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn trunkline_server_{}(\n\
         server: *mut trunkline_server,\n\
         {argument}: trunkline_str,\n\
         error: *mut *mut trunkline_error,\n\
         ) -> trunkline_result {{\n\
         guard(error, || {{\n\
         let {name} = Some(text!({argument}).to_owned());\n\
         handle!(server).notify(NotifyServer {{ {name}, ..NotifyServer::default() }})\n\
         }})\n}}\n",
        comment(&format!("Notifies the clients of the server.\n\n- `{argument}`: {doc}"), ""),
        snake(json),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_a_number_is_refused() {
        let field = |json: &str| -> Field {
            let field =
                serde_json::json!({"name": "x", "json": json, "type": "integer", "presence": "optional", "doc": "X."});
            serde_json::from_value(field).unwrap()
        };
        let (first, new) = (field("pageSize"), field("maxMoons"));
        assert!(numbered(&[&first]).unwrap().contains("TRUNKLINE_LIMIT_PAGE_SIZE = 1,"));
        assert!(numbered(&[&first, &new]).unwrap_err().to_string().contains("maxMoons"));
    }
}
