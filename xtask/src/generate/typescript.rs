//! The files of the Node package that follow from the surface: models, errors, options and
//! operations.

mod client_requests;
mod facts;
mod group;
mod server_requests;
mod store;
mod streams;
mod transport;

use std::fmt::Write as _;

use serde_json::Value;

use super::surface::{
    Caller, ErrorKind, Field, Model, ObjectModel, Operation, Presence, Record, Shape, Surface, Type, UnionModel, Unit,
    ValuesModel,
};
use super::text::{camel, pascal, snake, wrapped};
use super::{File, MARK};

const FOLDER: &str = "bindings-node/src/generated";
/// The one file that is beside the client and not below it.
const GROUP: &str = "bindings-node/src/client-group/generated/client-group.ts";

/// The greatest length of a line of prose.
const WIDTH: usize = 100;

/// Models that this package replaces: a form is a schema of the user's library, its outcome is
/// generic over it, and a server of a group has its error as one of this package.
const REPLACED: [&str; 8] =
    ["Choice", "Choices", "ElicitAction", "ElicitResult", "Field", "FormSchema", "GroupServer", "GroupServers"];

/// Members with another type than the core's: narrower where it keeps unknown words, or one of
/// JavaScript.
const TYPES: [(&str, &str, &str); 12] = [
    ("call_tool", "arguments", "object"),
    ("ElicitRequest", "requestedSchema", "JsonObject"),
    ("SampleParams", "metadata", "JsonObject"),
    ("Tool", "inputSchema", "JsonObject"),
    ("Tool", "outputSchema", "JsonObject"),
    ("complete", "ref", "CompletionReference"),
    ("ServerOptions", "extensions", "Record<string, JsonObject>"),
    ("ServerOptions", "experimental", "Record<string, JsonObject>"),
    ("ServerOptions", "stateKeys", "(string | Uint8Array)[]"),
    ("AuthOptions", "jwks", "JsonObject"),
    ("AuthOptions", "dpopNonce", "boolean | string"),
    ("*", "cacheScope", "CacheScope"),
];

/// Lists whose items the core serves alone: there is no provider of them.
const WITHOUT_PROVIDER: [&str; 2] = ["skills", "tasks"];

/// Options that this package has in another form.
const OMITTED: [(&str, &str); 4] =
    [("AuthOptions", "verifier"), ("ChildOptions", "command"), ("ClientOptions", "listen"), ("EndpointOptions", "url")];

pub(crate) fn render(surface: &Surface) -> Vec<File> {
    let file = |name: &str, text: String| (format!("{FOLDER}/{name}.ts"), format!("// {MARK}\n{text}"));
    let mut files = vec![
        file("errors", errors(surface)),
        file("error-classes", error_classes(&surface.errors)),
        file("waist", waist(surface)),
        file("model", models(surface)),
        file("client-requests", client_requests::render(surface)),
        file("server-requests", server_requests::render(surface)),
        file("token-facts", facts::of_token(surface)),
        file("operations", operations(surface)),
        file("streams", streams::CLASSES.to_owned()),
        file("store", store::render(surface)),
        file("transport", transport::render(surface)),
        (GROUP.to_owned(), format!("// {MARK}\n{}", group::client(surface))),
        file("group-servers", group::servers()),
    ];
    if !surface.options.is_empty() {
        files.push(file("options", options(&surface.options)));
    }
    files
}

/// The class of each kind.
fn errors(Surface { errors, codes, .. }: &Surface) -> String {
    let kinds: Vec<&ErrorKind> = errors.iter().filter(|kind| kind.public).collect();
    let mut text = String::from(
        "import type { FailureReason } from \"./model.js\";

/** The kind of an error: the same word in every language of Trunkline. */
export type ErrorKind =
",
    );
    for (index, kind) in kinds.iter().enumerate() {
        let end = if index + 1 == kinds.len() { ";" } else { "" };
        _ = writeln!(text, "  | \"{}\"{end}", kind.kind);
    }
    text.push_str(
        "
interface ErrorOptions {
  cause?: unknown;
}

abstract class ErrorOfKind extends Error {
  /** The kind of the error, the same word in every language. */
  abstract readonly kind: ErrorKind;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, \"cause\" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
  }
}
",
    );
    for kind in &kinds {
        text.push('\n');
        text.push_str(&comment("", &kind.doc.replace("Raised", "Thrown")));
        _ = writeln!(
            text,
            "export class {} extends ErrorOfKind {{\n  /** The kind of this error, by which the type of a caught error narrows. */\n  readonly kind = \"{}\";",
            kind.class, kind.kind
        );
        if kind.kind == "protocol" {
            _ = writeln!(
                text,
                "  /** The JSON-RPC error code. */
  readonly code: number;
  /** The data of the JSON-RPC error. */
  readonly data: unknown;

  constructor(message: string, options: ErrorOptions & {{ code?: number; data?: unknown }} = {{}}) {{
    super(message, options);
    this.code = options.code ?? {};
    this.data = options.data;
  }}",
                codes.internal_error
            );
        }
        text.push_str(&error_facts(kind));
        text.push_str("}\n");
    }
    let classes: Vec<&str> = kinds.iter().map(|kind| kind.class.as_str()).collect();
    _ = writeln!(
        text,
        "
/** An error of this package, except {{@link ToolError}}. Each `kind` is a class. */
export type TrunklineError =
  | {};

/** The base class of the errors of this package, for `instanceof`. */
export const TrunklineError = ErrorOfKind as unknown as abstract new (message: string) => TrunklineError;",
        classes.join("\n  | ")
    );
    text
}

/// The members of an error, and the constructor that reads them.
fn error_facts(kind: &ErrorKind) -> String {
    if kind.facts.is_empty() {
        return String::new();
    }
    let (mut members, mut read) = (String::new(), String::new());
    for field in &kind.facts {
        members.push_str(&comment("  ", &field.doc));
        _ = writeln!(members, "  readonly {}: {} | undefined;", field.json, type_of(&field.ty));
        _ = writeln!(read, "    this.{0} = facts.{0};", field.json);
    }
    format!(
        "{members}
  constructor(message: string, options: ErrorOptions & {{ data?: unknown }} = {{}}) {{
    super(message, options);
    const facts = (options.data ?? {{}}) as Partial<{}>;
{read}  }}
",
        kind.class
    )
}

/// A table from kinds to classes, in a file of its own: the other exports of the errors are public.
fn error_classes(kinds: &[ErrorKind]) -> String {
    let kinds: Vec<&ErrorKind> = kinds.iter().filter(|kind| kind.public).collect();
    let classes: String = kinds.iter().map(|kind| format!("  {},\n", kind.class)).collect();
    let rows: String = kinds.iter().map(|kind| format!("  {}: {},\n", kind.kind, kind.class)).collect();
    format!(
        "import {{\n{classes}  type ErrorKind,\n}} from \"./errors.js\";

/** The class of each kind. */
export const errorClasses = {{\n{rows}}} satisfies Record<ErrorKind, unknown>;\n"
    )
}

/// The numbers and names of the waist.
fn waist(surface: &Surface) -> String {
    let events: String = surface.events().map(|(event, number)| format!("  {}: {number},\n", event.name)).collect();
    let shapes: String =
        surface.shapes.iter().map(|Shape { name, number, .. }| format!("  {name}: {number},\n")).collect();
    let methods: String = surface.waist_methods.iter().map(|name| format!("  {name}: \"{name}\",\n")).collect();
    format!(
        "// The numbers and names of the waist (docs/bridge.md).

/** Kinds of events. */
export const EventKind = {{\n{events}}} as const;

/** Shapes of answers. */
export const Shape = {{\n{shapes}}} as const;

/** Methods of requests to the core itself, and names of its calls. */
export const waistMethod = {{\n{methods}}} as const;

/** JSON-RPC code of an invalid request. */
export const invalidRequest = {};

/** Version of the package. Its library must have the same one. */
export const version = \"{}\";\n",
        surface.codes.invalid_request,
        env!("CARGO_PKG_VERSION"),
    )
}

/// An interface for each object, a type for each union and enumeration.
fn models(surface: &Surface) -> String {
    let mut text = String::from(
        "
/** Any JSON object. */
export type JsonObject = Record<string, unknown>;

/** Support of a tool for calls that run as tasks. */
export type TaskSupport = NonNullable<ToolExecution[\"taskSupport\"]>;
",
    );
    for model in &surface.models {
        let (name, rendered) = match model {
            Model::Object(object) => (&object.name, interface(object)),
            Model::Union(union) => (&union.name, union_type(surface, union)),
            Model::Values(values) => (&values.name, enumeration(values)),
        };
        if !REPLACED.contains(&name.as_str()) {
            text.push('\n');
            text.push_str(&rendered);
        }
    }
    for operation in surface.operations.iter().filter(|operation| in_object(operation)) {
        let name = params_name(operation);
        text.push('\n');
        text.push_str(&comment("", &format!("Parameters of `{}`.", camel(&operation.name))));
        _ = writeln!(text, "export interface {name} {{");
        for field in operation.params.iter().skip(1) {
            text.push_str(&member(&name, field));
        }
        text.push_str("}\n");
    }
    text
}

/// A type of a few strings, with the documentation of each in its own.
fn enumeration(values: &ValuesModel) -> String {
    let mut docs = vec![values.doc.clone()];
    for (value, doc) in &values.value_docs {
        docs.extend(doc.as_str().filter(|doc| !doc.is_empty()).map(|doc| format!("- `{value}`: {doc}")));
    }
    tagged("", &docs) + &format!("export type {} = {};\n", &values.name, literals(&values.values))
}

fn interface(object: &ObjectModel) -> String {
    let mut text = comment("", &object.doc);
    _ = writeln!(text, "export interface {} {{", &object.name);
    if let Some(tag) = &object.tag {
        _ = writeln!(text, "  /** The type, by which it is told from others. */\n  type: \"{tag}\";");
    }
    for field in &object.fields {
        text.push_str(&member(&object.name, field));
    }
    text + "}\n"
}

/// A union. Without a tag, a variant is told by a member that the others do not have.
fn union_type(surface: &Surface, union: &UnionModel) -> String {
    let mut text = comment("", &union.doc);
    let variants: Vec<String> = union
        .variants
        .iter()
        .map(|variant| {
            let name = &variant.model;
            let others: String = match union.tag {
                Some(_) => String::new(),
                None => union
                    .variants
                    .iter()
                    .filter(|other| other.tag != variant.tag)
                    .map(|other| format!("{}?: never; ", other.tag))
                    .collect(),
            };
            debug_assert!(
                surface
                    .models
                    .iter()
                    .any(|model| matches!(model, Model::Object(object) if object.name == variant.model))
            );
            if others.is_empty() {
                name.to_owned()
            } else {
                format!("({name} & {{ {} }})", others.trim_end_matches("; "))
            }
        })
        .collect();
    _ = writeln!(text, "export type {} = {};", &union.name, variants.join(" | "));
    text
}

/// A member of an interface with its comment.
fn member(owner: &str, field: &Field) -> String {
    let optional = matches!(field.presence, Presence::Optional | Presence::Flag);
    let (mark, ty) = (if optional { "?" } else { "" }, typed(owner, field));
    // `unknown` is undefined, too.
    let or_undefined = if optional && ty != "unknown" { " | undefined" } else { "" };
    comment("  ", &documented(field)) + &format!("  {}{mark}: {ty}{or_undefined};\n", field.json)
}

/// The documentation of a member, with the revisions that have it.
fn documented(field: &Field) -> String {
    let mut doc = field.doc.clone();
    let mut say = |text: String, word: &str| {
        if !doc.contains(word) {
            doc = format!("{doc} {text}");
        }
    };
    match (&field.since, &field.until) {
        (Some(since), Some(until)) if since == until => say(format!("{since} only."), since),
        (since, until) => {
            if let Some(since) = since {
                say(format!("From {since} on."), since);
            }
            if let Some(until) = until {
                say(format!("Until {until}."), until);
            }
        }
    }
    doc
}

/// A class with a method for each request of a client, and the names of methods.
fn operations(Surface { operations: rows, notifications, facts, .. }: &Surface) -> String {
    let (client, handler): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.caller == Caller::Client);
    let lists: Vec<(&str, &str)> = client
        .iter()
        .filter_map(|row| Some((row.list.as_deref()?, row.item.as_deref()?)))
        .filter(|(list, _)| !WITHOUT_PROVIDER.contains(list))
        .collect();
    let mut body = String::from("\n/** The items of each list of a server. */\nexport interface ListItems {\n");
    for (list, item) in &lists {
        _ = writeln!(body, "  {list}: {item};");
    }
    let names: Vec<String> = lists.iter().map(|(list, _)| (*list).to_owned()).collect();
    _ = writeln!(body, "}}\n\n/** The lists of a server. */\nexport type Category = {};", literals(&names));
    body.push_str("\n/** The methods of the protocol, by operation. */\nexport const methods = {\n");
    for row in rows {
        _ = writeln!(body, "  {}: \"{}\",", camel(&row.name), row.method);
    }
    body.push_str("} as const;\n\n/** The methods of the notifications that a client receives. */\nexport const notifications = {\n");
    for row in notifications {
        _ = writeln!(body, "  /** {} */\n  {}: \"{}\",", row.doc.trim(), camel(&row.name), row.method);
    }
    body.push_str("} as const;\n\n/** The parameters of the notifications that have some. */\nexport interface NotificationParams {\n");
    for row in notifications {
        if let Some(params) = &row.params {
            body += &comment("  ", row.doc.trim());
            _ = writeln!(body, "  {}: {};", camel(&row.name), params);
        }
    }
    body.push_str(
        "}

/** The requests of a client, one method each. */
export abstract class ClientOperations<Events extends Record<keyof Events, unknown[]>> extends EventEmitter<Events> {
  readonly #sender: RequestSender;

  /** @internal */
  constructor(sender: RequestSender) {
    super();
    this.#sender = sender;
  }

  /** The connection, for a group that shares it. @internal */
  toJSON(): object {
    return { connection: this.#sender.handle };
  }
",
    );
    let connection = facts::facts(facts, "ConnectionDescription");
    body.push_str(&connection.map(facts::getters).unwrap_or_default());
    body.push_str(
        "
  /**
   * Sends a request of the protocol that has no method of its own; gives its result.
   *
   * @throws {@link TrunklineError} of the kind that says why, such as `protocol` or `timeout`.
   */
  request(method: string, params?: object, options: CallOptions & CacheOptions = {}): Promise<unknown> {
    return this.#sender.call(method, params, options);
  }

  /**
   * Sends a notification that has no method of its own.
   *
   * @throws {@link ClosedError} if the connection has ended.
   */
  notify(method: string, params?: object): void {
    this.#sender.notify({ method, params });
  }
",
    );
    body.push_str(streams::METHODS);
    for row in &client {
        body.push('\n');
        body.push_str(&client_method(row));
    }
    body.push_str("}\n");
    body.push_str(&client_requests::request_type(&handler));
    body.push('\n');
    body.push_str(&connection.map(facts::interface).unwrap_or_default());
    let mut used: Vec<&str> = MODEL_NAMES_OF_OPERATIONS.to_vec();
    used.extend(connection.into_iter().flat_map(facts::models));
    for row in rows {
        used.extend(row.result.as_deref().filter(|_| row.caller == Caller::Client));
        used.extend(row.item.as_deref());
        for field in &row.params {
            used.extend(model_of(&field.ty));
        }
    }
    used.extend(notifications.iter().filter_map(|row| row.params.as_deref()));
    used.retain(|name| !REPLACED.contains(name) && names_word(&body, name));
    used.sort_unstable();
    used.dedup();
    let imports = format!(
        "import {{ EventEmitter }} from \"node:events\";\n\nimport type {{ CallOptions, RequestOptions, RequestSender, ToolCallOptions, ToolResult }} from \"../requests.js\";\nimport type {{ CacheOptions }} from \"./options.js\";\nimport type {{ Schema }} from \"../schema/convert.js\";\nimport {{ milliseconds }} from \"../times.js\";\nimport type {{\n{}}} from \"./model.js\";\nimport {{ ClientTask, type StartOptions, Subscription }} from \"./streams.js\";\n",
        used.iter().map(|name| format!("  {name},\n")).collect::<String>()
    );
    imports + &body
}

/// Models that operations may name without a parameter or result of that type.
const MODEL_NAMES_OF_OPERATIONS: [&str; 2] = ["JsonObject", "SubscriptionFilter"];

/// The tag of a method that sends a request.
const FAILURE: &str = "@throws {@link TrunklineError} of the kind that says why, such as `protocol` or `timeout`.";

fn client_method(row: &Operation) -> String {
    let name = camel(&row.name);
    let options = if row.progress { "CallOptions" } else { "RequestOptions" };
    let options = if row.kept { format!("{options} & CacheOptions") } else { options.to_owned() };
    if let (Some(list), Some(item), Some(result)) = (&row.list, &row.item, &row.result) {
        return tagged("  ", &[format!("{} All pages, as one list.", row.doc), FAILURE.to_owned()])
            + &format!(
                "  {name}(options: {options} = {{}}): Promise<{item}[]> {{
    return this.#sender.list(methods.{name}, \"{list}\", options) as Promise<{item}[]>;
  }}

"
            )
            + &tagged(
                "  ",
                &[
                    format!("{} One page: the first, or the one at the `nextCursor` of the page before.", row.doc),
                    FAILURE.to_owned(),
                ],
            )
            + &format!(
                "  {name}Page(cursor?: string, options: {options} = {{}}): Promise<{result}> {{
    return this.#sender.page(methods.{name}, \"{list}\", cursor, options) as Promise<{result}>;
  }}
"
            );
    }
    let mut docs = vec![row.doc.clone()];
    let (mut generic, mut signature, mut members) = (String::new(), String::new(), Vec::new());
    for field in &row.params {
        let argument = argument(field);
        docs.push(format!("@param {argument} {}", field.doc));
        let ty = typed(&row.name, field);
        _ = match (field.presence, &field.ty) {
            (Presence::Required, _) => write!(signature, "{argument}: {ty}, "),
            // An interface has no index signature, but members that can be judged.
            (_, Type::Map(inner)) => {
                generic = format!("<A extends {{ readonly [K in keyof A]: {} | undefined }} = {ty}>", type_of(inner));
                write!(signature, "{argument}: A = {{}} as A, ")
            }
            (_, Type::Object) => write!(signature, "{argument}: {ty} = {{}}, "),
            _ => write!(signature, "{argument}?: {ty}, "),
        };
        members.push(if argument == field.json { argument.to_owned() } else { format!("{}: {argument}", field.json) });
    }
    let params = if members.is_empty() { "undefined".to_owned() } else { format!("{{ {} }}", members.join(", ")) };
    let call = format!("this.#sender.call(methods.{name}, {params}, options)");
    if row.result.as_deref() == Some("CallToolResult") {
        docs.push(
            "@throws {@link ToolError} if the tool fails and `raiseOnError` is set or `result` is given. With `result`, a \
             JSON Schema or a Standard Schema, the structured content is checked, and typed by it."
                .to_owned(),
        );
        docs.push(FAILURE.to_owned());
        let typed = call.replace("sender.call", "sender.callTool");
        return tagged("  ", &docs)
            + &format!(
                "  {name}<S extends Schema | undefined = undefined>({signature}options: ToolCallOptions<S> = {{}}): \
                 Promise<ToolResult<S>> {{\n    return {typed} as Promise<ToolResult<S>>;\n  }}\n"
            );
    }
    docs.push(FAILURE.to_owned());
    tagged("  ", &docs)
        + &match &row.result {
            Some(result) => format!(
                "  {name}{generic}({signature}options: {options} = {{}}): Promise<{result}> {{\n    return {call} as Promise<{result}>;\n  }}\n"
            ),
            None => format!(
                "  async {name}{generic}({signature}options: {options} = {{}}): Promise<void> {{\n    await {call};\n  }}\n"
            ),
        }
}

/// True where the parameters after the first are the members of one object.
fn in_object(row: &Operation) -> bool {
    row.params.len() > 3
}

fn params_name(row: &Operation) -> String {
    format!("{}Params", pascal(&row.name))
}

/// An interface for each object of options, and the names of its times, which end in `Ms` in the
/// messages of the contract.
fn options(records: &[Record]) -> String {
    let mut body = String::new();
    let mut used: Vec<&str> = vec!["CacheScope", "JsonObject"];
    for record in records {
        let fields = record.fields.iter().filter(|field| !OMITTED.contains(&(&record.name, &field.json)));
        let fields: Vec<&Field> = fields.collect();
        let times: Vec<String> = fields
            .iter()
            .filter(|field| field.ty == Type::Duration)
            .map(|field| format!("\"{}\"", time(field)))
            .collect();
        let unit = if times.is_empty() { "" } else { " All times are in milliseconds." };
        body.push('\n');
        body.push_str(&comment("", &format!("{}{unit}", record.doc)));
        _ = writeln!(body, "export interface {} {{", record.name);
        for field in fields {
            let mark = if field.presence == Presence::Required { "" } else { "?" };
            body.push_str(&comment("  ", &format!("{}{}", documented(field), default_of(field))));
            let name = if field.ty == Type::Duration { time(field) } else { &field.json };
            let or_undefined = if mark.is_empty() { "" } else { " | undefined" };
            _ = writeln!(body, "  {name}{mark}: {}{or_undefined};", readonly(&typed(&record.name, field)));
            used.extend(model_of(&field.ty));
        }
        body.push_str("}\n");
        if !times.is_empty() {
            let name = camel(&snake(&record.name));
            _ = writeln!(
                body,
                "\n/** The times of {{@link {}}}. */\nexport const {name}Times = [{}] as const;",
                record.name,
                times.join(", ")
            );
        }
    }
    used.retain(|name| names_word(&body, name));
    used.sort_unstable();
    used.dedup();
    format!("import type {{ {} }} from \"./model.js\";\n{body}", used.join(", "))
}

/// The default, where it says something.
fn default_of(field: &Field) -> String {
    let Some(value) = &field.default else { return String::new() };
    let text = match value {
        Value::String(text) => format!("`{text}`"),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => match (number.as_u64(), field.unit) {
            (Some(number), Some(unit)) => in_unit(number, unit),
            (Some(number), None) => grouped(number),
            (None, _) => number.to_string(),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => return String::new(),
    };
    format!(" Default: {text}.")
}

/// A number, and what it is in a larger unit.
fn in_unit(number: u64, unit: Unit) -> String {
    let units: &[(u64, &str)] = match unit {
        Unit::Ms => &[(3_600_000, "h"), (60_000, "min"), (1000, "s")],
        Unit::Bytes => &[(1 << 20, "MiB"), (1 << 10, "KiB")],
    };
    let larger = units.iter().find(|(size, _)| number >= *size && number.is_multiple_of(*size));
    larger.map_or_else(|| grouped(number), |(size, name)| format!("{} ({} {name})", grouped(number), number / size))
}

/// A number with its thousands apart, from five digits on.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The name of a time for users, who give numbers of milliseconds.
fn time(field: &Field) -> &str {
    field.json.strip_suffix("Ms").unwrap_or(&field.json)
}

/// Lists and maps of options are not changed.
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

/// `arguments` is a reserved name in JavaScript.
fn argument(field: &Field) -> &str {
    if field.json == "arguments" { "args" } else { &field.json }
}

fn typed(owner: &str, field: &Field) -> String {
    let row = TYPES.iter().find(|(model, member, _)| (*model == owner || *model == "*") && *member == field.json);
    row.map_or_else(|| type_of(&field.ty), |(_, _, ty)| (*ty).to_owned())
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

fn model_of(ty: &Type) -> Option<&str> {
    match ty {
        Type::Model(name) => Some(name),
        Type::OrFalse(inner) | Type::OneOrList(inner) | Type::List(inner) | Type::Map(inner) => model_of(inner),
        _ => None,
    }
}

fn literals(values: &[String]) -> String {
    values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(" | ")
}

/// True if a text has a word.
fn names_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|found| found == word)
}

/// A comment of TSDoc: on one line if it fits.
fn comment(indent: &str, doc: &str) -> String {
    tagged(indent, &[doc.to_owned()])
}

/// A comment of TSDoc, of a text and tags.
fn tagged(indent: &str, docs: &[String]) -> String {
    let width = WIDTH - indent.len() - " * ".len();
    let mut lines: Vec<String> = Vec::new();
    for (index, doc) in docs.iter().enumerate() {
        if index == 1 {
            lines.push(String::new());
        }
        lines.extend(wrapped(&doc.replace("*/", "*\\/"), width));
    }
    if let [line] = &lines[..]
        && indent.len() + line.chars().count() + "/**  */".len() <= WIDTH
    {
        return format!("{indent}/** {line} */\n");
    }
    let lines: String = lines.iter().map(|line| format!("{indent}{}\n", format!(" * {line}").trim_end())).collect();
    format!("{indent}/**\n{lines}{indent} */\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_comments_take_one_line() {
        assert_eq!(comment("  ", "A tool."), "  /** A tool. */\n");
        let long = "word ".repeat(30);
        let text = comment("  ", &long);
        assert!(text.starts_with("  /**\n   * word") && text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

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
