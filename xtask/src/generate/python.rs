//! The files of the Python package that follow from the surface: models, errors, and the requests
//! of clients in both colours; and the context of `def` handlers, which follows from that of
//! `async def` handlers.

mod client_requests;
mod facts;
mod group;
mod server_requests;
mod store;
mod streams;
mod transport;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::surface::{Caller, Field, Model, ObjectModel, Operation, Presence, Shape, Surface, Type, Unit};
use super::text::{pascal, snake, wrapped};
use super::{File, MARK};

const PACKAGE: &str = "bindings-python/python/trunkline/_internal";

/// The width of prose in docstrings, without the quotes around it.
const PROSE: usize = 94;

/// Models that people write as literals: they are `TypedDict`s, with the names that the protocol
/// uses.
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

/// Models whose classes differ by Python's habits and are written by hand, with the modules of
/// those classes.
const BY_HAND: [(&str, &str); 4] = [
    ("EmbeddedResource", "model.resource_contents"),
    ("ResourceContents", "model.resource_contents"),
    ("GetPromptResult", "messages"),
    ("ElicitResult", "client_requests.input_request"),
];

/// Models that Python has no class for: parts of those above, of forms, and of a group, which has
/// its own.
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

/// Models of the waist alone, and choices that Python takes as any text: nothing here imports them.
const NOT_IN_PYTHON: [&str; 6] = ["FailKind", "InputRequest", "Lane", "Once", "RevisionChoice", "SkillFile"];

/// Unions that Python has no alias for.
const WITHOUT_ALIAS: [&str; 2] = ["ResourceContents", "SamplingBlock"];

/// Bases that give a class more than its fields.
const BASES: [(&str, &str); 5] = [
    ("AccessToken", "HasToken"),
    ("AudioContent", "HasData"),
    ("CallToolResult", "HasText"),
    ("CreateMessageResult", "HasText"),
    ("ImageContent", "HasData"),
];

/// Members that may be absent and yet are given by place.
const BY_PLACE: [(&str, &str); 1] = [("Identity", "subject")];

/// A `TypedDict` of options: its name, the record that it is of, and the options that it leaves out
/// because Python takes them in another way.
const OPTIONS: [(&str, &str, &[&str]); 7] = [
    ("AuthOptions", "AuthOptions", &["resource", "verifier"]),
    ("ChildOptions", "ChildOptions", &["command"]),
    ("ClientOptions", "ClientOptions", &["info", "listen"]),
    ("EndpointOptions", "EndpointOptions", &["url"]),
    ("HttpOptions", "HttpOptions", &[]),
    ("OAuth", "OAuthOptions", &[]),
    ("MountOptions", "HttpOptions", &["host", "port", "unix", "unix_mode", "max_connections"]),
];

/// The options of servers stand apart, because of the width of the line above.
const SERVER_OPTIONS: (&str, &str, &[&str]) = ("ServerOptions", "ServerOptions", &[]);

/// Options of a feature that is added to a server: their name, the descriptor, the registration,
/// and the members of the descriptor that are not options, because they are required or because
/// functions give them.
const FEATURE_OPTIONS: [(&str, &str, &str, &[&str]); 3] = [
    ("PromptOptions", "Prompt", "RegisterPrompt", &["arguments"]),
    ("ResourceOptions", "Resource", "RegisterResource", &["uri"]),
    ("ToolOptions", "Tool", "RegisterTool", &["execution"]),
];

/// Options of features that have another default, meaning or type than in the core.
const FEATURE_DOCS: [(&str, &str); 14] = [
    ("cache_scope", "The callers that may share cached contents. Default: that of the server."),
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
    ("ttl", "The time for which clients may keep the contents. Default: that of the server."),
    ("defer_task", "On 2026-07-28 a call begins as a call, and becomes a task with `ctx.start_task`."),
    (
        "restart_task",
        "A task that was running when its process ended is run again from its start, with the same arguments, by the next worker that shares the store of the server: within half a minute, up to three runs in all. Two runs at once must do no harm. Not with `defer_task`.",
    ),
    ("requires", "Client capabilities without which a call is refused, such as `{\"sampling\": {}}`."),
    ("task", "Calls may or must run as tasks, where client and revision have those. Default: `\"forbidden\"`."),
    (
        "visible",
        "Decides who sees and calls it, for each request: a function of the context and dependencies that returns a `bool`. For others it is not there; an exception, which is logged, counts as False. Default: everybody.",
    ),
    ("ui", "The `ui://` URI of a resource that shows the result (MCP Apps): `ui.resourceUri` in `meta`."),
];

/// Defaults of a mounted endpoint, whose path a framework has chosen already.
const MOUNT_DEFAULTS: [(&str, &str); 3] = [
    ("path", "every path that the framework gives to the server"),
    ("sse", "every path that ends with `/sse`"),
    ("messages", "every path that ends with `/messages`"),
];

/// Options whose Python type says more, or allows more, than that of the core.
const OPTION_TYPES: [(&str, &str); 14] = [
    ("capabilities", "Mapping[str, Any]"),
    ("complete", "Mapping[str, Callable[..., Any]]"),
    ("visible", "Callable[..., bool | Awaitable[bool]]"),
    ("cwd", "str | os.PathLike[str]"),
    ("dpop_nonce", "bool | bytes | str"),
    ("input_schema", "Mapping[str, Any]"),
    ("jwks", "Mapping[str, Any]"),
    ("output_schema", "Mapping[str, Any]"),
    ("requires", "Mapping[str, Any]"),
    ("revision", "str"),
    ("stderr_file", "str | os.PathLike[str]"),
    ("store", "str | os.PathLike[str]"),
    ("state_keys", "Sequence[bytes | str]"),
    ("unix", "str | os.PathLike[str]"),
];

pub(crate) fn render(root: &Path, surface: &Surface) -> Result<Vec<File>> {
    let operations = operations(surface);
    let context = std::fs::read_to_string(root.join(PACKAGE).join("context/context.py"))
        .context("the source of the context of `def` handlers")?;
    let mut files = vec![
        file("_generated/models.py", "Models of the protocol.", &models(surface)),
        file("_generated/errors.py", "Errors, one class for each kind of the core.", &errors(surface)),
        file(
            "_generated/options.py",
            "Options as keyword arguments, for type checkers and editors.",
            &options(surface).0,
        ),
        file(
            "_generated/sample_options.py",
            "The options of `sample`, alone, for they are read at run time.",
            &options(surface).2,
        ),
        file("_generated/option_names.py", "The names of options in JSON.", &options(surface).1),
        file(
            "_generated/methods.py",
            "The methods of the protocol that this package knows by name.",
            &methods(surface),
        ),
        file("_generated/waist.py", "The numbers of the waist (docs/bridge.md).", &waist(surface)),
        file("client/_generated/operations.py", "The requests of an asyncio client.", &operations),
        file("client/_generated/sync_operations.py", "The requests of a blocking client.", &to_sync(&operations, "")),
        file(
            "context/_generated/sync_context.py",
            "The context of handlers made with `def`: what `Context` has, blocking.",
            &to_sync(body(&context), "."),
        ),
    ];
    let stream = std::fs::read_to_string(root.join(PACKAGE).join("client/stream.py"))
        .context("the source of the streams of a blocking client")?;
    files.push(file(
        "client/_generated/sync_stream.py",
        "Streams of a blocking client: what subscriptions and tasks share.",
        &to_sync(body(&stream), "."),
    ));
    files.push(file(
        "client/_generated/streams.py",
        "The subscriptions and tasks of an asyncio client.",
        streams::CLASSES,
    ));
    files.push(file(
        "client/_generated/sync_streams.py",
        "The subscriptions and tasks of a blocking client.",
        &to_sync(streams::CLASSES, "").replace(SORTED.0, SORTED.1),
    ));
    for (path, doc, text) in client_requests::render(surface) {
        files.push(file(path, doc, &text));
    }
    files.push(file(
        "client/_generated/server_requests.py",
        "Requests and notifications of servers, and the decorators that register handlers for them.",
        &server_requests::render(surface),
    ));
    let client_group = group::client(surface);
    files.push(file("client/_generated/group_servers.py", "The servers of a group.", &group::servers(surface)));
    files.push(file("client_group/_generated/group.py", "The asyncio client of many servers.", &client_group));
    files.push(file(
        "client_group/_generated/sync_group.py",
        "The blocking client of many servers.",
        &group::sync_client(&client_group),
    ));
    files.push(file("client/_generated/transport.py", "Transports of a program's own.", &transport::render(surface)));
    files.push(file("_generated/store.py", "Stores of a program's own.", &store::render(surface)));
    files.push(file(
        "_generated/facts.py",
        "The facts about a call, a connection and a token.",
        &facts::render(surface),
    ));
    for (folder, text) in api(surface) {
        files.push(file(&format!("{folder}/api.py"), "The public names that follow from the declaration.", &text));
    }
    for folder in [
        "_generated",
        "client/_generated",
        "client_group/_generated",
        "client_requests/_generated",
        "context/_generated",
    ] {
        files.push((format!("{PACKAGE}/{folder}/__init__.py"), format!("# {MARK}\n")));
    }
    Ok(files)
}

fn file(path: &str, doc: &str, text: &str) -> File {
    (
        format!("{PACKAGE}/{path}"),
        format!("# {MARK}\n\"\"\"{doc}\"\"\"\n\nfrom __future__ import annotations\n\n{text}"),
    )
}

/// The streams of clients and the client of many servers: their names, and their imports.
const CLIENTS: ([&str; 9], &str) = (
    [
        "AsyncClientTask",
        "AsyncSubscription",
        "ClientGroup",
        "GroupServer",
        "ServerTarget",
        "SyncClientGroup",
        "SyncClientTask",
        "SyncSubscription",
        "Transport",
    ],
    "from ...client._generated.streams import AsyncClientTask, AsyncSubscription\n\
     from ...client._generated.sync_streams import SyncClientTask, SyncSubscription\n\
     from ...client._generated.transport import Transport\n\
     from .group import ClientGroup\nfrom .sync_group import SyncClientGroup\n",
);

/// The names that users import, with the folders of their modules.
fn api(surface: &Surface) -> [(&'static str, String); 2] {
    let mut models: Vec<&str> = surface
        .models
        .iter()
        .filter_map(|model| match model {
            Model::Values(values) => (!NOT_IN_PYTHON.contains(&values.name.as_str())).then_some(&*values.name),
            Model::Object(object) if surface.host.iter().any(|row| row.params == object.name) => None,
            Model::Object(object) => {
                (DICTS.contains(&object.name.as_str()) || has_class(&object.name)).then_some(&*object.name)
            }
            Model::Union(union) if WITHOUT_ALIAS.contains(&union.name.as_str()) => None,
            Model::Union(union) => Some(if union.open { "Content" } else { &*union.name }),
        })
        .collect();
    let mut requests: Vec<&str> = surface.host.iter().map(|row| row.params.as_str()).collect();
    [
        ("_generated", names_of(&mut models, "models", &[], "")),
        (
            "client_group/_generated",
            "from ...client._generated.group_servers import GroupServer, ServerTarget\n".to_owned()
                + &names_of(&mut requests, "..client._generated.server_requests", &CLIENTS.0, CLIENTS.1),
        ),
    ]
}

/// A module that imports names of another, and exports them with others.
fn names_of(names: &mut Vec<&str>, module: &str, others: &[&str], imports: &str) -> String {
    // As ruff sorts them.
    names.sort_unstable_by_key(|name| name.to_lowercase());
    names.dedup();
    let mut all = [&names[..], others].concat();
    all.sort_unstable();
    let all: String = all.iter().map(|name| format!("    \"{name}\",\n")).collect();
    format!("from .{module} import ({})\n{imports}\n__all__ = [\n{all}]\n", names.join(", "))
}

/// Constants for the methods of operations and notifications.
fn methods(surface: &Surface) -> String {
    let mut text = String::from("from typing import Final\n\n");
    for row in &surface.operations {
        let _ = writeln!(text, "{}: Final = \"{}\"", row.name.to_uppercase(), row.method);
    }
    text += "\n# Notifications that a client receives.\n";
    for row in &surface.notifications {
        let _ = writeln!(text, "{}: Final = \"{}\"", row.name.to_uppercase(), row.method);
    }
    text += "\n# Requests to the core itself.\n";
    for name in &surface.waist_methods {
        let _ = writeln!(text, "{}: Final = \"{name}\"", name.to_uppercase());
    }
    text
}

/// A module without its docstring and its `__future__` import.
fn body(source: &str) -> &str {
    source.split_once("from __future__ import annotations\n").map_or(source, |(_, body)| body.trim_start())
}

/// Blocking code from `async` code. Modules that are imported relatively are `deeper` away.
fn to_sync(source: &str, deeper: &str) -> String {
    let text = source
        .replace("async def ", "def ")
        .replace("async with", "with")
        .replace("await ", "")
        .replace("__aenter__", "__enter__")
        .replace("__aexit__", "__exit__")
        .replace("__aiter__", "__iter__")
        .replace("__anext__", "__next__")
        .replace("StopAsyncIteration", "StopIteration")
        .replace("from ..", &format!("from ..{deeper}"))
        .replace("from . ", &format!("from .{deeper} "))
        .replace("from ._generated.", "from .sync_")
        .replace("from ..stream ", "from .sync_stream ")
        .replace("from .streams ", "from .sync_streams ");
    let mut sync = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(std::iter::once('\0')) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        match word.as_str() {
            "Context" => sync.push_str("SyncContext"),
            "Client" => sync.push_str("SyncClient"),
            "async" => sync.push_str("def"),
            other => sync.push_str(&other.replacen("Async", "Sync", 1)),
        }
        word.clear();
        if letter != '\0' {
            sync.push(letter);
        }
    }
    sync.replace("`def def`", "`def`")
}

/// A docstring whose further lines are indented by `indent`.
fn docstring(indent: &str, text: &str) -> String {
    let lines = wrapped(&text.replace('\\', "\\\\"), PROSE - indent.len());
    match lines.as_slice() {
        [line] => format!("{indent}\"\"\"{line}\"\"\"\n"),
        lines => {
            let mut doc = format!("{indent}\"\"\"");
            for (index, line) in lines.iter().enumerate() {
                let lead = if index == 0 || line.is_empty() { "" } else { indent };
                let _ = writeln!(doc, "{lead}{line}");
            }
            doc + indent + "\"\"\"\n"
        }
    }
}

fn errors(surface: &Surface) -> String {
    let mut text = String::from(
        "import builtins\nfrom collections.abc import Mapping, Sequence\nfrom typing import TYPE_CHECKING, Any, ClassVar, Final\n\nif \
         TYPE_CHECKING:\n    from .models import FailureReason\n\n\nclass TrunklineError(Exception):\n    \"\"\"The base of \
         all errors of this package, except ToolError.\"\"\"\n\n    kind: ClassVar[str] = \"internal\"\n\n    def \
         __init__(self, message: str) -> None:\n        super().__init__(message)\n        self.message = message\n",
    );
    let mut names = Vec::new();
    for error in surface.errors.iter().filter(|error| error.public) {
        let base = match error.class.as_str() {
            "TimeoutError" => ", builtins.TimeoutError",
            "ClosedError" | "TransportError" => ", ConnectionError",
            "InvalidArgumentError" => ", ValueError",
            "AuthorizationRequiredError" => ", PermissionError",
            _ => "",
        };
        let shadow = if error.class == "TimeoutError" { "  # noqa: A001 - the name of the kind" } else { "" };
        let _ = write!(text, "\n\nclass {}(TrunklineError{base}):{shadow}\n", error.class);
        text += &docstring("    ", &error.doc);
        let _ = write!(text, "\n    kind = \"{}\"\n", error.kind);
        if error.kind == "protocol" {
            text += &protocol_error(surface.codes.internal_error);
        }
        text += &error_facts(&error.facts);
        names.push(error.class.as_str());
    }
    let _ = write!(
        text,
        "\n\nCLASSES: Final[dict[str, type[TrunklineError]]] = {{cls.kind: cls for cls in ({},)}}\n",
        names.join(", ")
    );
    let with_facts: Vec<_> = surface.errors.iter().filter(|error| error.public && !error.facts.is_empty()).collect();
    let classes: String = with_facts.iter().map(|error| format!("{}, ", error.class)).collect();
    let union: Vec<_> = with_facts.iter().map(|error| error.class.as_str()).collect();
    let _ = write!(
        text,
        "\n# Those that are made with facts.\nFACTS: Final[dict[str, type[{}]]] = {{cls.kind: cls for cls in ({classes})}}\n",
        union.join(" | ")
    );
    names.push("TrunklineError");
    names.sort_unstable();
    let all: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    text + "\n__all__ = [\n" + &all + "]\n"
}

/// The members of an error of the peer; without a code it has `code`.
fn protocol_error(code: i64) -> String {
    format!(
        r#"
    def __init__(self, message: str, code: int = {code}, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def __str__(self) -> str:
        return f"{{self.message}} ({{self.code}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.code, self.data))
"#
    )
}

/// The numbers of the waist.
fn waist(surface: &Surface) -> String {
    let mut text = String::from("from typing import Final\n\n# Kinds of events.\n");
    for (event, number) in surface.events() {
        let _ = writeln!(text, "{}: Final = {number}", snake(&event.name).to_uppercase());
    }
    text += "\n# Shapes of answers.\n";
    for Shape { name, number, .. } in &surface.shapes {
        let _ = writeln!(text, "{}: Final = {number}", name.to_uppercase());
    }
    text += "\n# Functions of the host that return nothing.\n";
    let silent = surface.host.iter().filter(|row| row.result.is_none());
    let silent: String = silent.map(|row| format!("\"{}\", ", row.name)).collect();
    let own = surface.host.iter().filter(|row| row.method.is_none());
    let own: String = own.map(|row| format!("\"{}\", ", row.name)).collect();
    let revisions: String = surface.revisions.iter().map(|revision| format!("\"{revision}\", ")).collect();
    text + &format!(
        "SILENT: Final = frozenset(({silent}))\n\n# Functions of the program itself, which no server calls.\nOWN: Final = frozenset(({own}))\n\n# The revisions of the protocol.\nREVISIONS: Final = ({revisions})\n"
    )
}

/// The attributes of an error, and the constructor that reads them.
fn error_facts(fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let (mut attributes, mut read) = (String::new(), String::new());
    for field in fields {
        let _ = write!(attributes, "\n    {}: {} | None\n", field.name, given(&field.ty));
        attributes += &docstring("    ", &field.doc);
        let _ = writeln!(read, "        self.{} = facts.get(\"{}\")", field.name, field.json);
    }
    format!(
        "{attributes}\n    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:\n        \
         super().__init__(message)\n        facts = data or {{}}\n{read}"
    )
}

/// Options as keyword arguments: a `TypedDict` with a docstring for each; and apart from those,
/// which nothing imports when the package runs, tables of the names in JSON.
fn options(surface: &Surface) -> (String, String, String) {
    let mut tables = String::from("from typing import Final\n");
    let mut text = String::from(
        "import os\nfrom collections.abc import Awaitable, Callable, Mapping, Sequence\nfrom typing import Any, Literal, TypedDict\n\nfrom .models import (Annotations, CacheScope, ChildStderr, DpopPolicy, Icon, LoggingLevel, OAuthGrant, OnDuplicate, Root, ToolAnnotations)\nfrom .sample_options import SampleOptions as SampleOptions  # noqa: PLC0414 - for other modules\nfrom .store import Store\n",
    );
    let mut sample = String::from(
        "from collections.abc import Mapping, Sequence\nfrom typing import Any, Literal, TypedDict\n\nfrom .models import ModelPreferences, Tool, ToolChoice\n",
    );
    for (name, record, without) in OPTIONS.into_iter().chain([SERVER_OPTIONS]) {
        let Some(record) = surface.options.iter().find(|found| found.name == record) else { continue };
        let fields: Vec<_> = record.fields.iter().filter(|field| !without.contains(&field.name.as_str())).collect();
        option_dict((&mut text, &mut tables), name, &record.doc, &fields);
    }
    for operation in surface.operations.iter().filter(|operation| operation.name == "sample") {
        let is_option = |field: &&Field| field.presence == Presence::Optional && field.name != "meta";
        let fields: Vec<_> = operation.params.iter().filter(is_option).collect();
        let doc = format!("Options of `{}`: {}", operation.name, operation.doc);
        option_dict((&mut sample, &mut tables), &format!("{}Options", pascal(&operation.name)), &doc, &fields);
    }
    for (name, descriptor, registration, without) in FEATURE_OPTIONS {
        let found = surface.models.iter().find_map(|model| match model {
            Model::Object(object) if object.name == descriptor => Some(object),
            _ => None,
        });
        let Some(descriptor) = found else { continue };
        let Some(registration) = surface.messages.iter().find(|record| record.name == registration) else { continue };
        let mut fields: Vec<Field> =
            descriptor.fields.iter().filter(|field| !without.contains(&field.name.as_str())).cloned().collect();
        let internal = [
            "server",
            "lane",
            "wrap_output",
            "explains",
            "tool",
            "resource",
            "resource_template",
            "prompt",
            "replaces",
        ];
        // Resources and templates are added by one method.
        let template = surface.messages.iter().find(|record| record.name == "RegisterResourceTemplate");
        let of_template = template.into_iter().filter(|_| name == "ResourceOptions").flat_map(|record| &record.fields);
        for field in registration.fields.iter().chain(of_template) {
            let is_new = fields.iter().all(|known| known.name != field.name);
            if is_new && !internal.contains(&field.name.as_str()) {
                fields.push(field.clone());
            }
        }
        if name == "ToolOptions" {
            // Parts of `execution` and `_meta`, by names of their own.
            let title = fields.iter().find(|field| field.name == "title").cloned();
            let mut execution = surface.object("ToolExecution").into_iter().flat_map(|object| &object.fields);
            let support = execution.find(|field| field.name == "task_support").cloned();
            let parts = [("task", support), ("ui", title)].into_iter();
            fields
                .extend(parts.filter_map(|(part, like)| Some(Field { name: part.into(), json: part.into(), ..like? })));
        }
        for field in &mut fields {
            if let Some((_, doc)) = FEATURE_DOCS.iter().find(|(name, _)| *name == field.name) {
                field.doc = (*doc).into();
            }
        }
        let doc = format!("Options of `add_{}`. {}", snake(&descriptor.name), descriptor.doc);
        option_dict((&mut text, &mut tables), name, &doc, &fields.iter().collect::<Vec<_>>());
    }
    (text, tables, sample)
}

fn option_dict((text, table): (&mut String, &mut String), name: &str, doc: &str, fields: &[&Field]) {
    let _ = write!(*text, "\n\nclass {name}(TypedDict, total=False):\n{}", docstring("    ", doc));
    let _ = write!(*table, "\n{}: Final = {{\n", snake(name).to_uppercase());
    for field in fields {
        let option = match field.json.as_str() {
            "_meta" => "meta".into(),
            json => snake(json.strip_suffix("Ms").unwrap_or(json)),
        };
        let ty = OPTION_TYPES.iter().find(|(name, _)| *name == option).map(|(_, ty)| (*ty).to_owned());
        let ty = ty.unwrap_or_else(|| given(&field.ty).replace("[Tool]", "[Tool | Mapping[str, Any]]"));
        let ty = if (name, &*option) == ("ServerOptions", "store") { format!("{ty} | Store") } else { ty };
        let none = if ty == "Any" { "" } else { " | None" };
        let _ = write!(*text, "\n    {option}: {ty}{none}\n");
        let mounted = MOUNT_DEFAULTS.iter().find(|(given, _)| (name, *given) == ("MountOptions", &*option));
        let default = match mounted {
            Some((_, default)) => format!(" Default: {default}."),
            None => field.default.as_ref().and_then(|value| default(field, value)).unwrap_or_else(|| absent(field)),
        };
        let seconds = if field.unit == Some(Unit::Ms) { " In seconds." } else { "" };
        *text += &docstring("    ", &format!("{}{seconds}{default}", field.doc));
        let _ = writeln!(*table, "    \"{option}\": \"{}\",", field.json);
    }
    *table += "}\n";
}

/// The default of an option without a value, unless its description says what holds then.
fn absent(field: &Field) -> String {
    let is_told = ["efault", "Without", "therwise"].iter().any(|word| field.doc.contains(word));
    match field.ty {
        _ if is_told => String::new(),
        Type::Boolean => " Default: False.".into(),
        _ => " Default: none.".into(),
    }
}

/// A default for people, if there is something to say.
fn default(field: &Field, value: &Value) -> Option<String> {
    let shown = match (field.unit, value) {
        (_, Value::Null | Value::Object(_)) => return None,
        (_, Value::Array(items)) if items.is_empty() => return None,
        (Some(Unit::Ms), Value::Number(ms)) => format!("{}", ms.as_f64()? / 1000.0),
        (Some(Unit::Bytes), Value::Number(bytes)) if bytes.as_u64()? % (1 << 20) == 0 => {
            format!("{} MiB", bytes.as_u64()? >> 20)
        }
        (_, Value::Bool(flag)) => if *flag { "True" } else { "False" }.into(),
        (_, Value::String(text)) => format!("`\"{text}\"`"),
        (_, other) => other.to_string(),
    };
    Some(format!(" Default: {shown}."))
}

fn models(surface: &Surface) -> String {
    let mut text = String::from(
        "from collections.abc import Mapping, Sequence\nfrom typing import Any, ClassVar, Literal, TypeAlias, \
         TypedDict\n\nfrom ..model.base import (Block, HasData, HasText, HasToken, Model, OtherContent, cursor_of, encode_base64, \
         flag_of, list_of, ms_of, one_or_list_of, protocol_names, string_of)\nfrom ..model.resource_contents import EmbeddedResource, \
         ResourceContents\n",
    );
    let literals = surface.models.iter().filter_map(|model| match model {
        Model::Values(values) => Some(values.name.as_str()),
        _ => None,
    });
    let plain: Vec<&str> = literals.chain(DICTS).collect();
    for model in &surface.models {
        match model {
            Model::Values(values) if NOT_IN_PYTHON.contains(&values.name.as_str()) => {}
            Model::Values(values) => {
                let literal: Vec<_> = values.values.iter().map(|value| format!("\"{value}\"")).collect();
                let _ = write!(text, "\n{}: TypeAlias = Literal[{}]\n", values.name, literal.join(", "));
                text += &docstring("", &values.doc);
            }
            Model::Object(object) if DICTS.contains(&object.name.as_str()) => text += &typed_dict(object),
            Model::Object(object) if surface.host.iter().any(|row| row.params == object.name) => {}
            Model::Object(object) if has_class(&object.name) => text += &class(object, &plain),
            Model::Object(_) => {}
            Model::Union(union) if WITHOUT_ALIAS.contains(&union.name.as_str()) => {}
            Model::Union(union) if union.open => {
                let names: Vec<_> = union.variants.iter().map(|variant| variant.model.as_str()).collect();
                let _ = write!(text, "\n\nContent: TypeAlias = {} | OtherContent\n", names.join(" | "));
                text += &docstring("", &union.doc);
                text += "\n_READ: dict[Any, Any] = {\n";
                for variant in &union.variants {
                    let _ = writeln!(text, "    \"{}\": {}.from_json,", variant.tag, variant.model);
                }
                text += "}\n\n\ndef content_from_json(json: Mapping[str, Any]) -> Content:\n    \"\"\"The block of a \
                         peer. A block that does not have the form of its type is kept as it is.\n\n    Raises:\n        \
                         TypeError: if it is not an object.\n    \"\"\"\n    if not isinstance(json, dict):\n        raise \
                         TypeError(\"a block of content is not an object\")\n    read = _READ.get(json.get(\"type\"))\n    if \
                         read is None:\n        return OtherContent(json)\n    try:\n        return read(json)\n    except \
                         (LookupError, TypeError, ValueError, AttributeError):\n        return OtherContent(json)\n";
            }
            Model::Union(union) => {
                let names: Vec<_> = union.variants.iter().map(|variant| variant.model.as_str()).collect();
                let _ = write!(text, "\n\n{}: TypeAlias = {}\n", union.name, names.join(" | "));
                text += &docstring("", &union.doc);
            }
        }
    }
    text
}

fn has_class(name: &str) -> bool {
    ![&WITHOUT_CLASS[..], &NOT_IN_PYTHON].concat().contains(&name)
        && !DICTS.contains(&name)
        && BY_HAND.iter().all(|(by_hand, _)| *by_hand != name)
}

fn typed_dict(object: &ObjectModel) -> String {
    let mut text = format!("\n\nclass {}(TypedDict, total=False):\n", object.name);
    text += &docstring("    ", &object.doc);
    if let Some(tag) = &object.tag {
        let _ = write!(text, "\n    type: Literal[\"{tag}\"]\n    \"\"\"Required.\"\"\"\n");
    }
    for field in &object.fields {
        let needed = if field.presence == Presence::Required { "Required. " } else { "" };
        let _ = write!(text, "\n    {}: {}\n", field.json, given(&field.ty));
        text += &docstring("    ", &format!("{needed}{}", field.doc));
    }
    text
}

/// The type of a value that users give.
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

/// A field as a class has it.
struct Member<'a> {
    field: &'a Field,
    name: &'a str,
    ty: String,
    doc: String,
    is_time: bool,
    is_base64: bool,
    /// Models whose values are those of JSON.
    plain: &'a [&'a str],
}

impl<'a> Member<'a> {
    fn new(object: &ObjectModel, field: &'a Field, plain: &'a [&'a str]) -> Self {
        // Times are seconds in Python.
        let time = field.name.strip_suffix("_ms").filter(|_| field.ty == Type::Integer);
        let is_time = time.is_some() || field.unit == Some(Unit::Ms);
        let ty = match &field.ty {
            _ if is_time => "float".into(),
            Type::Json if field.name.ends_with("_schema") => "Mapping[str, Any]".into(),
            Type::OneOrList(inner) => format!("list[{}]", given(inner)),
            Type::List(inner) if field.presence == Presence::List => format!("list[{}]", given(inner)),
            other => given(other),
        };
        let is_base64 = field.name == "data" && BASES.contains(&(object.name.as_str(), "HasData"));
        let doc = if is_time { field.doc.replace("milliseconds", "seconds") } else { field.doc.clone() };
        Self { field, name: time.unwrap_or(&field.name), ty, doc, is_time, is_base64, plain }
    }

    fn is_optional(&self) -> bool {
        self.field.presence == Presence::Optional
    }

    fn parameter(&self) -> String {
        let Self { name, ty, .. } = self;
        match self.field.presence {
            Presence::Required if self.is_base64 => format!("{name}: bytes | str"),
            Presence::Required => format!("{name}: {ty}"),
            Presence::Optional if ty == "Any" => format!("{name}: Any = None"),
            Presence::Optional | Presence::List => format!("{name}: {ty} | None = None"),
            Presence::Flag => format!("{name}: bool = False"),
        }
    }

    fn assigned(&self) -> String {
        let name = self.name;
        match self.field.presence {
            _ if self.is_base64 => format!("encode_base64({name})"),
            Presence::List => format!("[] if {name} is None else {name}"),
            _ => name.to_owned(),
        }
    }

    /// The expression that reads it from `json`.
    fn read(&self, object: &ObjectModel) -> String {
        let json = &self.field.json;
        let each = |ty: &Type| match ty {
            Type::Model(name) if name == "ContentBlock" => Some("content_from_json".to_owned()),
            Type::Model(name) if !self.plain.contains(&name.as_str()) => Some(format!("{name}.from_json")),
            _ => None,
        };
        match (&self.field.ty, self.field.presence) {
            (_, Presence::Flag) => format!("flag_of(json, \"{json}\")"),
            (Type::List(inner), presence) => {
                // Tools of long ago answered without content; other lists are what the result is
                // about.
                let needed = presence == Presence::List && object.name != "CallToolResult";
                let list = format!("list_of(json, \"{json}\"{})", if needed { "" } else { ", []" });
                match each(inner) {
                    Some(read) if presence == Presence::List => format!("[{read}(item) for item in {list}]"),
                    Some(read) => format!("[{read}(item) for item in {list}] or None"),
                    None if presence == Presence::Optional => format!("json.get(\"{json}\")"),
                    None => list,
                }
            }
            (Type::OneOrList(_), _) => {
                format!("[content_from_json(item) for item in one_or_list_of(json, \"{json}\")]")
            }
            (Type::String, Presence::Required) => format!("string_of(json, \"{json}\")"),
            (ty, Presence::Required) => match each(ty) {
                Some(read) => format!("{read}(json[\"{json}\"])"),
                None => format!("json[\"{json}\"]"),
            },
            _ if self.name == "next_cursor" => "cursor_of(json)".into(),
            _ if self.is_time => format!("None if (ms := json.get(\"{json}\")) is None else ms / 1000"),
            (ty, _) => match each(ty) {
                Some(read) => format!("None if (found := json.get(\"{json}\")) is None else {read}(found)"),
                None => format!("json.get(\"{json}\")"),
            },
        }
    }

    /// The expression that writes it.
    fn written(&self) -> String {
        let value = format!("self.{}", self.name);
        let is_dict = |ty: &Type| matches!(ty, Type::Model(name) if DICTS.contains(&name.as_str()));
        let is_class = |ty: &Type| matches!(ty, Type::Model(name) if !self.plain.contains(&name.as_str()));
        match &self.field.ty {
            _ if self.is_time => format!("ms_of(\"{}\", {value})", self.name),
            Type::List(inner) | Type::OneOrList(inner) if is_class(inner) => {
                format!("[item.to_json() for item in {value}]")
            }
            ty if is_class(ty) => format!("{value}.to_json()"),
            Type::List(inner) if is_dict(inner) => format!("[protocol_names(item) for item in {value}]"),
            ty if is_dict(ty) => format!("protocol_names({value})"),
            _ => value,
        }
    }
}

fn class(object: &ObjectModel, plain: &[&str]) -> String {
    // Filled in by the core, and of no interest to users.
    let members: Vec<Member> = object
        .fields
        .iter()
        .filter(|field| field.name != "result_type")
        .map(|field| Member::new(object, field, plain))
        .collect();
    let base = if object.tag.is_some() { "Block" } else { "Model" };
    let bases = match BASES.iter().find(|(name, _)| *name == object.name) {
        Some((_, first)) => format!("{first}, {base}"),
        None => base.to_owned(),
    };
    let mut slots: Vec<_> = members.iter().map(|member| format!("\"{}\"", member.name)).collect();
    slots.sort();
    let mut text = format!("\n\nclass {}({bases}):\n", object.name);
    text += &docstring("    ", &object.doc);
    let _ = write!(text, "\n    __slots__ = ({},)\n", slots.join(", "));
    if let Some(tag) = &object.tag {
        let _ = write!(text, "\n    TYPE: ClassVar[Literal[\"{tag}\"]] = \"{tag}\"\n");
    }
    for member in &members {
        let none = if member.is_optional() && member.ty != "Any" { " | None" } else { "" };
        let _ = write!(text, "\n    {}: {}{none}\n", member.name, member.ty);
        text += &docstring("    ", &member.doc);
    }
    let (named, positional): (Vec<_>, Vec<_>) = members.iter().partition(|member| {
        matches!(member.field.presence, Presence::Optional | Presence::Flag)
            && !BY_PLACE.contains(&(object.name.as_str(), member.name))
    });
    let required = positional.iter().filter(|member| member.field.presence == Presence::Required);
    let others = positional.iter().filter(|member| member.field.presence != Presence::Required);
    let mut parameters = vec!["self".to_owned()];
    parameters.extend(required.clone().chain(others).map(|member| member.parameter()));
    if !named.is_empty() {
        parameters.push("*".into());
    }
    parameters.extend(named.iter().map(|member| member.parameter()));
    let _ = write!(text, "\n    def __init__({}", parameters.join(", "));
    text += ") -> None:\n";
    for member in &members {
        let _ = writeln!(text, "        self.{} = {}", member.name, member.assigned());
    }
    let _ = write!(
        text,
        "\n    @classmethod\n    def from_json(cls, json: Mapping[str, Any]) -> {}:\n        \"\"\"The value of a \
         peer.\n\n        Raises:\n            TypeError, LookupError: if it is invalid.\n        \"\"\"\n        return cls(",
        object.name
    );
    let mut arguments: Vec<String> = required.map(|member| member.read(object)).collect();
    let others = members.iter().filter(|member| member.field.presence != Presence::Required);
    arguments.extend(others.map(|member| format!("{}={}", member.name, member.read(object))));
    text += &arguments.join(", ");
    text += ")\n\n    def to_json(self) -> dict[str, Any]:\n        json: dict[str, Any] = {";
    if let Some(tag) = &object.tag {
        let _ = write!(text, "\"type\": \"{tag}\", ");
    }
    let always = members.iter().filter(|member| matches!(member.field.presence, Presence::Required | Presence::List));
    text +=
        &always.map(|member| format!("\"{}\": {}", member.field.json, member.written())).collect::<Vec<_>>().join(", ");
    text += "}\n";
    for member in members.iter().filter(|member| matches!(member.field.presence, Presence::Optional | Presence::Flag)) {
        let is_there = if member.is_optional() { " is not None" } else { "" };
        let _ = writeln!(text, "        if self.{}{is_there}:", member.name);
        let _ = writeln!(text, "            json[\"{}\"] = {}", member.field.json, member.written());
    }
    text + "        return json\n"
}

/// Imports of a blocking client, which have another order.
const SORTED: (&str, &str) = (
    "from .sync_stream import SyncStream, SyncStreamClient\nfrom ..tool_results import expect, read_tool_result\n",
    "from ..tool_results import expect, read_tool_result\nfrom .sync_stream import SyncStream, SyncStreamClient\n",
);

/// The options of requests whose input the caller gives: their parameters and meanings.
const INPUT: [(&str, &str, &str); 3] = [
    (
        "manual_input",
        "bool = False",
        "Raise an InputRequiredError where the server needs input (2026-07-28), in the place of running handlers.",
    ),
    ("input_responses", "Mapping[str, Any] | None = None", "The answers to the requests of that error, by their keys."),
    ("request_state", "str | None = None", "The `request_state` of that error."),
];
/// The statements that put them into a request.
const INPUT_MEMBERS: &str = r#"        if manual_input:
            json["manualInput"] = True
        if input_responses is not None:
            json["inputResponses"] = jsonable(input_responses)
        if request_state is not None:
            json["requestState"] = request_state
"#;
/// The option of requests whose results are kept, and the statement that puts it into a request.
const FRESH: &str = "fresh";
const FRESH_MEMBER: &str = "        if fresh:\n            json[\"fresh\"] = True\n";

/// The request and the notification of a client for what has no method of its own.
const REQUEST: &str = r#"
    async def _ask(self, target: int | None, json: dict[str, Any], on_progress: OnProgress | None = None) -> tuple[int, Any]:
        """Sends a request to the server, or about a subscription: its ticket and its result."""
        raise NotImplementedError

    def _cancel(self, ticket: int) -> None:
        raise NotImplementedError

    async def request(self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None, max_timeout: float | None = None, on_progress: OnProgress | None = None, manual_input: bool = False, input_responses: Mapping[str, Any] | None = None, request_state: str | None = None) -> Any:
        """A request of the protocol that has no method of its own. Returns the result as JSON.

        Args:
            method: The method.
            params: Its parameters.
            timeout: Seconds for the answer; progress renews it (default: the client's).
            max_timeout: The most seconds for the answer, however often the timeout is renewed.
            on_progress: Called with (progress, total, message).
            manual_input: Raise an InputRequiredError where the server needs input (2026-07-28), in
                the place of running handlers.
            input_responses: The answers to the requests of that error, by their keys.
            request_state: The `request_state` of that error.

        Raises:
            ProtocolError: The server answered with an error.
            TimeoutError: No answer came in time.
            ClosedError, TransportError: The connection ended before the answer.
        """
        given = None if params is None else dict(params)
        json = request_json(method, given, timeout, max_timeout, progress=on_progress is not None)
        INPUT_MEMBERS
        return (await self._ask(None, json, on_progress))[1]

    def _note(self, json: dict[str, Any]) -> None:
        raise NotImplementedError

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification to the server, for what has no method of its own."""
        self._note({"method": method, "params": jsonable(params or {})})
"#;

/// The methods of clients; the blocking ones follow from these.
fn operations(surface: &Surface) -> String {
    let client = || surface.operations.iter().filter(|operation| operation.caller == Caller::Client);
    let mut text = String::from(
        "from collections.abc import Mapping, Sequence\nfrom typing import Any, TypeVar, overload\n\nfrom \
         ..._generated.models import (",
    );
    let mut names: Vec<&str> = client().flat_map(named_models).filter(|name| module_of(name).is_none()).collect();
    names.push("SubscriptionFilter");
    // As ruff sorts them.
    names.sort_unstable_by_key(|name| name.to_lowercase());
    names.dedup();
    let _ = writeln!(text, "{})", names.join(", "));
    let by_hand: BTreeSet<(&str, &str)> =
        client().flat_map(named_models).filter_map(|name| Some((module_of(name)?, name))).collect();
    for (module, name) in by_hand {
        let _ = writeln!(text, "from ...{module} import {name}");
    }
    text += "from ...options import camel_case, in_ms\nfrom ...requests import OnProgress, params_of, read_answer, \
             request_json\nfrom ...schema.jsonable import jsonable\nfrom ..tool_results import expect, read_tool_result\nfrom .streams import AsyncClientTask, AsyncSubscription\n\nT = TypeVar(\"T\")\n\n\nclass AsyncOperations:\n    \"\"\"The requests of a client, one method \
             each.\"\"\"\n";
    text += &REQUEST.replace("        INPUT_MEMBERS\n", INPUT_MEMBERS);
    text += &streams::methods(surface);
    for operation in client() {
        text += &match &operation.list {
            Some(list) => method(operation, Some((list, true))) + &method(operation, Some((list, false))),
            None => method(operation, None),
        };
    }
    text
}

fn module_of(model: &str) -> Option<&'static str> {
    BY_HAND.iter().find(|(name, _)| *name == model).map(|(_, module)| *module)
}

/// The models that an operation names.
fn named_models(operation: &Operation) -> Vec<&str> {
    let mut names: Vec<&str> = operation.result.iter().chain(&operation.item).map(String::as_str).collect();
    for field in &operation.params {
        if let Type::Model(name) = &field.ty {
            names.push(name);
        }
    }
    names
}

/// The result that may be a value of the caller's type.
const TOOL_RESULT: &str = "CallToolResult";
const RAISE: &str = "raise_on_error: bool = False";

/// One method of a client; of a list, all of it or one page.
fn method(operation: &Operation, list: Option<(&str, bool)>) -> String {
    let Operation { method, .. } = operation;
    let (all, page) = (matches!(list, Some((_, true))), matches!(list, Some((_, false))));
    let name = if page { format!("{}_page", operation.name) } else { operation.name.clone() };
    let result = match (&operation.result, &operation.item) {
        (_, Some(item)) if all => format!("list[{item}]"),
        (Some(result), _) => result.clone(),
        (None, _) => "None".into(),
    };
    let mut parameters = vec!["self".to_owned()];
    for field in operation.params.iter().filter(|field| field.name != "meta") {
        let default = if field.presence == Presence::Required { "" } else { " | None = None" };
        parameters.push(format!("{}: {}{default}", field.name, given(&field.ty)));
    }
    if page {
        parameters.push("cursor: str | None = None".into());
    }
    parameters.extend(["*", "timeout: float | None = None", "max_timeout: float | None = None"].map(String::from));
    if operation.progress {
        parameters.push("on_progress: OnProgress | None = None".into());
    }
    if operation.kept {
        parameters.push(format!("{FRESH}: bool = False"));
    }
    if operation.input {
        parameters.extend(INPUT.map(|(name, ty, _)| format!("{name}: {ty}")));
    }
    parameters.push("meta: Mapping[str, Any] | None = None".into());
    let typed = operation.result.as_deref() == Some(TOOL_RESULT);
    let mut text = String::new();
    if typed {
        let as_value = [&parameters[..], &["result: type[T]".into(), RAISE.into()]].concat().join(", ");
        let as_it_is = [&parameters[..], &["result: None = None".into(), RAISE.into()]].concat().join(", ");
        let _ = write!(text, "\n    @overload\n    async def {name}({as_value}) -> T: ...\n");
        let _ = write!(text, "\n    @overload\n    async def {name}({as_it_is}) -> {result}: ...\n");
        parameters.extend(["result: Any = None".into(), RAISE.into()]);
    }
    let returned = if typed { "Any" } else { &*result };
    let _ = write!(text, "\n    async def {name}({}) -> {returned}:\n", parameters.join(", "));
    text += &method_doc(operation, all, page);
    text += &params(operation, page);
    let mut options = String::new();
    if operation.progress {
        options += ", progress=on_progress is not None";
    }
    if all {
        options += ", all_pages=True";
    }
    let given = if params_are_given(operation) { "params" } else { "params or None" };
    let _ = writeln!(text, "        json = request_json(\"{method}\", {given}, timeout, max_timeout{options})");
    if operation.kept {
        text += FRESH_MEMBER;
    }
    if operation.input {
        text += INPUT_MEMBERS;
    }
    if typed {
        text += "        if result is not None:\n            json = expect(json, result)\n";
    }
    let request = if operation.progress {
        "(await self._ask(None, json, on_progress))[1]"
    } else {
        "(await self._ask(None, json))[1]"
    };
    let _ = match (&operation.result, list) {
        _ if typed => writeln!(text, "        return read_tool_result(result, raise_on_error, {request})"),
        (Some(result), Some((list, true))) => {
            let list = snake(list);
            writeln!(text, "        return read_answer(\"{method}\", {result}.from_json, {request}).{list}")
        }
        (Some(result), _) => writeln!(text, "        return read_answer(\"{method}\", {result}.from_json, {request})"),
        (None, _) => writeln!(text, "        {request}"),
    };
    text
}

/// Returns whether a request never goes without parameters.
fn params_are_given(operation: &Operation) -> bool {
    !operation.fixed.is_empty() || operation.params.iter().any(|field| field.presence == Presence::Required)
}

/// The statements that make the parameters of a request. Made without a function of their own: each
/// call of a tool runs through them.
fn params(operation: &Operation, page: bool) -> String {
    let params = || operation.params.iter().filter(|field| field.name != "meta");
    let mut always: Vec<String> = operation.fixed.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    let (required, optional): (Vec<&Field>, Vec<&Field>) =
        params().partition(|field| field.presence == Presence::Required);
    always.extend(required.iter().map(|field| format!("\"{}\": {}", field.json, field.name)));
    let mut given: Vec<(&str, &str)> = optional.iter().map(|field| (&*field.json, &*field.name)).collect();
    given.extend(page.then_some(("cursor", "cursor")));
    given.push(("_meta", "meta"));
    let mut text = format!("        params: dict[str, Any] = {{{}}}\n", always.join(", "));
    for (json, name) in given {
        let _ = writeln!(text, "        if {name} is not None:\n            params[\"{json}\"] = {name}");
    }
    text
}

fn method_doc(operation: &Operation, all: bool, page: bool) -> String {
    let head = match (all, page) {
        (true, _) => format!("{} All of them, from all pages.", operation.doc),
        (_, true) => format!("{} One page of them; `next_cursor` asks for the next one.", operation.doc),
        _ => operation.doc.clone(),
    };
    let mut arguments: Vec<(String, String)> = operation
        .params
        .iter()
        .filter(|field| field.name != "meta")
        .map(|field| (field.name.clone(), field.doc.clone()))
        .collect();
    if page {
        arguments.push(("cursor".into(), "The `next_cursor` of the page before (default: the first page).".into()));
    }
    let renewed = if operation.progress { "; progress renews it" } else { "" };
    arguments.push(("timeout".into(), format!("Seconds for the answer{renewed} (default: the client's).")));
    arguments
        .push(("max_timeout".into(), "The most seconds for the answer, however often the timeout is renewed.".into()));
    if operation.progress {
        arguments.push(("on_progress".into(), "Called with (progress, total, message).".into()));
    }
    if operation.kept {
        arguments.push((FRESH.into(), "Ask the server even if the client has kept a result.".into()));
    }
    if operation.input {
        arguments.extend(INPUT.map(|(name, _, doc)| (name.into(), doc.into())));
    }
    arguments.push(("meta".into(), "The `_meta` of the request.".into()));
    if operation.result.as_deref() == Some(TOOL_RESULT) {
        let result = "The type of the value to return: a dataclass, TypedDict or pydantic model made of the structured \
            content, or any other type with a JSON form for content that is `{\"result\": value}`. A tool that fails is \
            then a ToolError (default: the result as it is).";
        arguments.push(("result".into(), result.into()));
        arguments.push(("raise_on_error".into(), "Raise a ToolError where the tool says that it failed.".into()));
    }
    let mut text = docstring("        ", &head);
    text.truncate(text.trim_end().len() - 3);
    let mut text = format!("{}\n\n        Args:\n", text.trim_end());
    for (name, doc) in arguments {
        for (index, line) in wrapped(&format!("{name}: {doc}"), PROSE - 10).into_iter().enumerate() {
            let _ = writeln!(text, "            {}{line}", if index == 0 { "" } else { "    " });
        }
    }
    text + "\n        Raises:\n            ProtocolError: The server answered with an error.\n            TimeoutError: No \
            answer came in time.\n            ClosedError, TransportError: The connection ended before the \
            answer.\n        \"\"\"\n"
}
