//! The messages that cross the waist as JSON, as types. C, which is Rust, gives them as they are.
//!
//! Each is declared once: its members with their JSON, and its documentation. They are read
//! strictly, so that a misspelt member is an error and not a default.

use crate::{
    config::{self, Given},
    error::BridgeError,
    event::Lane,
};
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, time::Duration};
use trunkline::{
    ProxyOptions,
    auth::OAuthOptions,
    client::{ClientOptions, RequestOptions, ServerDefaults},
    protocol::{
        RawJson,
        describe::{Described, Type, Values},
        model::{LoggingLevel, Root},
        options::{JsonForm, MemberName, Millis, Options, Required, unknown},
    },
    server::{
        DirectoryOptions, PromptOptions, RequestHandlerOptions, ResourceOptions, ResourceTemplateOptions,
        ServerOptions, SkillOptions, ToolOptions,
    },
    transport::{ChildCommand, HttpEndpoint, HttpOptions},
};

/// Declares a message: required members, then behind a `;` those that may be absent; `or` and a
/// JSON value behind such a member is its default, for the documentation. Behind another `;` stand
/// structs of options, whose members are among those of the message.
macro_rules! message {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            $($(#[doc = $required_doc:literal])* $required:ident: $required_ty:ty = $required_json:literal,)*
            $(; $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty = $json:literal $(or $default:expr)?,)*
            $(; $($(#[doc = $flat_doc:literal])* $flat:ident: $flat_ty:ty,)*)?)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[doc = $required_doc])* pub $required: $required_ty,)*
            $($($(#[doc = $field_doc])* pub $field: $ty,)*
            $($($(#[doc = $flat_doc])* pub $flat: $flat_ty,)*)?)?
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("struct ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut given = $name::default();
                        $(let mut $required = false;)*
                        while let Some(MemberName(name)) = map.next_key()? {
                            match &*name {
                                $($required_json => {
                                    given.$required = map.next_value()?;
                                    $required = true;
                                })*
                                $($($json => given.$field = map.next_value()?,)*
                                $($(_ if Options::set(&mut given.$flat, &name, &mut map)? => {})*)?)?
                                _ => return Err(unknown(&name, $name::OBJECT)),
                            }
                        }
                        $(if !$required {
                            return Err(serde::de::Error::missing_field($required_json));
                        })*
                        Ok(given)
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }

        impl $name {
            /// The description for generators.
            pub const OBJECT: &'static trunkline::protocol::describe::ObjectDescription = {
                use trunkline::protocol::describe::{FieldDescription, ObjectDescription, count, joined};
                const PARTS: &[&[FieldDescription]] = &[
                    &[
                        $(FieldDescription {
                            name: stringify!($required),
                            json: $required_json,
                            doc: &[$($required_doc),*],
                            presence: trunkline::protocol::describe::Presence::Required,
                            ty: <$required_ty as Described>::TYPE,
                            unit: None,
                            limit: None,
                            default: None,
                        },)*
                        $($(FieldDescription {
                            name: stringify!($field),
                            json: $json,
                            doc: &[$($field_doc),*],
                            presence: <$ty as Described>::PRESENCE,
                            ty: <$ty as Described>::TYPE,
                            unit: None,
                            limit: None,
                            default: $crate::message::message!(@default $($default)?),
                        },)*)?
                    ],
                    $($($(<$flat_ty as Options>::OBJECT.fields,)*)?)?
                ];
                static FIELDS: [FieldDescription; count(PARTS)] = joined(PARTS);
                static OBJECT: ObjectDescription =
                    ObjectDescription { name: stringify!($name), doc: &[$($doc),*], tag: None, fields: &FIELDS };
                &OBJECT
            };
        }
    };
    (@default) => { None };
    (@default $default:expr) => { Some(|| serde_json::json!($default)) };
}

pub(crate) use message;

/// A duration; in JSON, whole milliseconds. Bounded so that adding one to a time cannot overflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// The time of so many milliseconds, within the bound.
    pub fn from_millis(milliseconds: u64) -> Self {
        Self(config::millis(Some(milliseconds), Duration::ZERO))
    }
}

impl Described for Time {
    const TYPE: Type = Type::Duration;
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <Millis as JsonForm<Duration>>::read(deserializer).map(Self)
    }
}

message! {
    /// A server: registered as `server`.
    pub struct RegisterServer {
        /// The name and version of the server: an Implementation object.
        info: Value = "info",
        ;
        /// The instructions for the model on the use of the server.
        instructions: Option<String> = "instructions",
        /// The options.
        options: ServerOptions = "options",
        /// The functions of a store of the host's own, each with its lane, in the place of the
        /// option `store`: all six. A `Call` of one has the handle of the server and the name of
        /// the function.
        store: Option<Handlers> = "store",
    }
}

message! {
    /// A tool: registered as `tool`. Its `Call` has the arguments object as body. A `Call` of the
    /// name `explain` has arguments that the input schema refuses: it is failed with the kind
    /// `invalid` and better words, completed with `true` to accept them, which calls the tool, or
    /// else completed with anything.
    pub struct RegisterTool {
        /// The server.
        server: u64 = "server",
        /// A Tool object of the newest revision. A missing `inputSchema` means an object without
        /// properties.
        tool: Value = "tool",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        /// The output schema describes `{"result": value}`.
        wrap_output: bool = "wrapOutput",
        /// The handle of a `visibility`, which decides who sees and calls it. For others it is not
        /// there.
        visible: Option<u64> = "visible",
        /// The handle of a feature of this kind whose place and name this one takes: it is changed.
        /// Its handle is stale then; its calls that run go on.
        replaces: Option<u64> = "replaces",
        /// The host has a validation of its own, which explains refused arguments, or accepts them.
        explains: bool = "explains",
        ;
        /// The options.
        options: ToolOptions,
    }
}

message! {
    /// A resource: registered as `resource`. Its `Call` has the body `{"uri"}`.
    pub struct RegisterResource {
        /// The server.
        server: u64 = "server",
        /// A Resource object of the newest revision.
        resource: Value = "resource",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        /// The handle of a `visibility`, which decides who sees and calls it. For others it is not
        /// there.
        visible: Option<u64> = "visible",
        /// The handle of a feature of this kind whose place and name this one takes: it is changed.
        /// Its handle is stale then; its calls that run go on.
        replaces: Option<u64> = "replaces",
        ;
        /// The options.
        options: ResourceOptions,
    }
}

message! {
    /// A resource template (RFC 6570): registered as `resourceTemplate`. Its `Call` has the body
    /// `{"uri", "variables"}`. An exact URI wins over templates, and templates match in the order
    /// of registration.
    pub struct RegisterResourceTemplate {
        /// The server.
        server: u64 = "server",
        /// A ResourceTemplate object of the newest revision.
        resource_template: Value = "resourceTemplate",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        /// The handle of a `visibility`, which decides who sees and calls it. For others it is not
        /// there.
        visible: Option<u64> = "visible",
        /// The handle of a feature of this kind whose place and name this one takes: it is changed.
        /// Its handle is stale then; its calls that run go on.
        replaces: Option<u64> = "replaces",
        /// The handles of `completer`s, by the variables for which they suggest values.
        complete: BTreeMap<String, u64> = "complete",
        ;
        /// The options.
        options: ResourceTemplateOptions,
    }
}

message! {
    /// A prompt: registered as `prompt`. Its `Call` has the arguments object as body: texts;
    /// required ones are there.
    pub struct RegisterPrompt {
        /// The server.
        server: u64 = "server",
        /// A Prompt object of the newest revision.
        prompt: Value = "prompt",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        /// The handle of a `visibility`, which decides who sees and calls it. For others it is not
        /// there.
        visible: Option<u64> = "visible",
        /// The handle of a feature of this kind whose place and name this one takes: it is changed.
        /// Its handle is stale then; its calls that run go on.
        replaces: Option<u64> = "replaces",
        /// The handles of `completer`s, by the arguments for which they suggest values.
        complete: BTreeMap<String, u64> = "complete",
        ;
        /// The options.
        options: PromptOptions,
    }
}

message! {
    /// An agent skill: registered as `skill`. The core answers everything. Either `folder` or
    /// `files` is given.
    pub struct RegisterSkill {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that takes its calls; there are none.
        lane: Lane = "lane",
        /// The folder that holds it.
        folder: Option<String> = "folder",
        /// Its files.
        files: Vec<SkillFile> = "files",
        ;
        /// The options.
        options: SkillOptions,
    }
}

message! {
    /// A file of a skill, with either `text` or `blob`.
    pub struct SkillFile {
        /// The path within the skill, such as `SKILL.md`.
        path: String = "path",
        ;
        /// The contents as text.
        text: Option<String> = "text",
        /// The contents in Base64.
        blob: Option<String> = "blob",
        /// The MIME type.
        mime_type: Option<String> = "mimeType",
    }
}

message! {
    /// A folder whose files are resources, read when they are asked for: registered as `directory`.
    /// The core answers everything, and reads nothing outside of the folder.
    pub struct RegisterDirectory {
        /// The server.
        server: u64 = "server",
        /// The beginning of the URIs; a file's path within the folder follows, after a `/`.
        uri: String = "uri",
        /// The path of the folder.
        path: String = "path",
        ;
        /// The drainer that takes its calls; there are none.
        lane: Lane = "lane",
        ;
        /// The options.
        options: DirectoryOptions,
    }
}

message! {
    /// Suggestions for an argument: registered as `completion`. Its `Call` has the body
    /// `{"ref", "argument", "context"}`.
    pub struct RegisterCompletion {
        /// The server.
        server: u64 = "server",
        /// A CompletionReference object: the prompt or the resource template that has the argument.
        reference: Value = "ref",
        /// The name of the argument.
        argument: String = "argument",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
    }
}

message! {
    /// A completion in a definition: registered as `completer`, for the member `complete` of
    /// prompts and resource templates. Its `Call` has the body of a completion's. Features that
    /// have it keep it when its handle is unregistered.
    pub struct RegisterCompleter {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
    }
}

message! {
    /// A provider of features that are not registered, such as rows of a database: registered as
    /// `provider`. Its `Call` has the body `{"list": {"cursor"}}`, answered by a value
    /// `{"items", "nextCursor"}`, or `{"get": {params}}`, answered as the category's handlers do;
    /// the value `null` says that there is no such feature. Only registered features have schemas
    /// and scopes that are checked before their handler runs: a provider judges both itself.
    pub struct RegisterProvider {
        /// The server.
        server: u64 = "server",
        /// The list that it extends: `tools`, `resources`, `resourceTemplates` or `prompts`.
        of: String = "of",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
    }
}

message! {
    /// A middleware: registered as `middleware`, wraps requests in the order of registration. Its
    /// `Call` has the body `{"method", "params"}`, and the request `next` runs the rest.
    pub struct RegisterMiddleware {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        /// The methods that it wraps; without them, all that can be wrapped.
        methods: Option<Vec<String>> = "methods",
    }
}

message! {
    /// A handler of requests beyond the protocol, of an extension or a vendor: registered as
    /// `requestHandler`. Its `Call` has the params without their `_meta` as the body, and the
    /// method as `name`. It is completed with an object as a value or a result, or with `null` for
    /// an empty one.
    pub struct RegisterRequestHandler {
        /// The server.
        server: u64 = "server",
        /// The method: a prefix that is not the protocol's, best the domain of the vendor in
        /// reverse, a slash, and a name, such as `com.acme/sum`.
        method: String = "method",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
        ;
        /// The options.
        options: RequestHandlerOptions,
    }
}

message! {
    /// A decision on who sees and calls a feature: registered as `visibility`, for the member
    /// `visible` of features. Its `Call` has the body `{"name"}`, the name or URI of the feature,
    /// and is completed with the value `true` or `false`; a failure counts as `false`. Features
    /// that have it keep it when its handle is unregistered.
    pub struct RegisterVisibility {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
    }
}

message! {
    /// A verifier of access tokens: registered as `verifier`. Its `Call` has the body
    /// `{"token", "scheme", "method", "url", "resource"}`, and is completed with an identity, or
    /// with `null` for an unknown token.
    pub struct RegisterVerifier {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that takes its calls.
        lane: Lane = "lane",
    }
}

message! {
    /// A server whose features another one shows, live: registered as `mount`. The core answers
    /// everything.
    pub struct RegisterMount {
        /// The server that shows it.
        server: u64 = "server",
        /// The beginning of its names and URIs (`prefix__name`, `prefix+uri`); empty for one server
        /// that keeps them.
        prefix: String = "prefix",
        /// The server that is shown.
        mounted: u64 = "mounted",
        ;
        /// The number of the port of the server that is shown; without it, the same port.
        port: Option<u64> = "port",
        /// The drainer that takes its calls; there are none.
        lane: Lane = "lane",
    }
}

message! {
    /// The server behind a connection, or all servers of a group, whose features another one shows:
    /// registered as `proxy`. The core answers everything.
    pub struct RegisterProxy {
        /// The server that shows it.
        server: u64 = "server",
        /// The handle of the connection, which is open.
        connection: u64 = "connection",
        ;
        /// The number of the port of the connection; without it, the port of the server.
        port: Option<u64> = "port",
        /// The drainer that takes its calls; there are none.
        lane: Lane = "lane",
        ;
        /// The options.
        options: ProxyOptions,
    }
}

/// Lists the kinds of registrations, each with its message.
macro_rules! registrations {
    ($($kind:literal $name:ident($message:ident),)*) => {
        /// A server or one of its features to register.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "the types say it")]
        #[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is used once")]
        pub enum Registration {
            Server(RegisterServer),
            $($name($message),)*
        }

        impl Registration {
            /// The kinds of `register`, which are the beginnings of errors about them.
            pub(super) const KINDS: &[&str] = &["server", $($kind),*];

            /// Reads what `register` is given.
            pub(super) fn read(kind: &str, given: impl Given) -> Result<Self, BridgeError> {
                Ok(match kind {
                    "server" => Self::Server(given.read(kind)?),
                    $($kind => Self::$name(given.read(kind)?),)*
                    other => {
                        let kinds = Self::KINDS.join(", ");
                        let text = format!("register: {other:?} is not a kind; there are {kinds}");
                        return Err(BridgeError::invalid(text));
                    }
                })
            }

            /// The server that it joins, and the drainer that takes its calls.
            pub(super) fn place(&self) -> (u64, Lane) {
                match self {
                    Self::Server(_) => (0, Lane::default()),
                    $(Self::$name(given) => (given.server, given.lane),)*
                }
            }
        }
    };
}

registrations! {
    "tool" Tool(RegisterTool),
    "resource" Resource(RegisterResource),
    "resourceTemplate" ResourceTemplate(RegisterResourceTemplate),
    "prompt" Prompt(RegisterPrompt),
    "completion" Completion(RegisterCompletion),
    "completer" Completer(RegisterCompleter),
    "skill" Skill(RegisterSkill),
    "directory" Directory(RegisterDirectory),
    "provider" Provider(RegisterProvider),
    "mount" Mount(RegisterMount),
    "proxy" Proxy(RegisterProxy),
    "middleware" Middleware(RegisterMiddleware),
    "requestHandler" RequestHandler(RegisterRequestHandler),
    "visibility" Visibility(RegisterVisibility),
    "verifier" Verifier(RegisterVerifier),
}

impl Registration {
    /// Returns whether no call of it comes to the host.
    pub(super) fn is_answered_by_the_core(&self) -> bool {
        matches!(self, Self::Skill(_) | Self::Directory(_) | Self::Mount(_) | Self::Proxy(_))
    }
}

message! {
    /// A listener or a connection to open: either `server` or `client` is given. The reply of a
    /// listener is a BoundAddress object, that of a connection a ConnectionDescription object.
    pub struct OpenMessage {
        /// Of a listener: `{"type": "stdio"}`, or HttpOptions with `"type": "http"`, and with
        /// `"mounted": true` for an endpoint without a socket. Of a connection: ChildCommand with
        /// `"type": "child"`, HttpEndpoint with `"type": "http"`, Memory, Configured or Group.
        transport: Map<String, Value> = "transport",
        ;
        /// The server that listens.
        server: Option<u64> = "server",
        /// The ClientOptions of a connection, all of them optional.
        client: Option<Map<String, Value>> = "client",
        /// The requests of the server that the host of a client answers, each with its lane, and
        /// functions for its authorization. The capabilities that they need are declared.
        handlers: Handlers = "handlers",
        /// The authorization of a client.
        auth: Option<OAuthOptions> = "auth",
        /// The reply is fetched with `wait`.
        wait: bool = "wait",
        /// The host may read the pipe itself while messages come one by one.
        host_driven_reads: bool = "hostDrivenReads",
        /// The span that the host has begun for the opening of a connection.
        span: Option<HostSpan> = "span",
        /// The program ends with the listener: where the host has not taken its `Closed` event two
        /// seconds after it, a handler blocks the host, and the process exits with status 1.
        foreground: bool = "foreground",
        /// The host handles SIGINT and SIGTERM already: the note `foreground` of `NotifyListener`,
        /// before the first call can block the host.
        signals: bool = "signals",
    }
}

/// A listener to open.
#[derive(Debug, Clone)]
pub struct OpenListener {
    /// The server that listens.
    pub server: u64,
    /// Where it listens.
    pub transport: Listening,
    /// The reply is fetched with `wait`.
    pub wait: bool,
    /// The host may read the pipe itself while messages come one by one.
    pub host_driven_reads: bool,
    /// The program ends with the listener.
    pub foreground: bool,
    /// The host handles SIGINT and SIGTERM.
    pub signals: bool,
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub enum Listening {
    /// Standard input and output.
    Stdio,
    /// A socket.
    Http {
        /// The options.
        options: HttpOptions,
        /// Which access tokens requests need.
        auth: Option<Value>,
    },
    /// No socket: a web framework brings the requests.
    Mounted {
        /// The path of the endpoint; without one it answers everywhere.
        path: Option<String>,
        /// The options; host, port and Unix socket have no effect.
        options: HttpOptions,
        /// Which access tokens requests need.
        auth: Option<Value>,
    },
}

/// A connection to open.
#[derive(Debug, Clone)]
pub struct OpenConnection {
    /// The options of the client.
    pub client: ClientOptions,
    /// Where the server is.
    pub transport: Connecting,
    /// The requests of the server that the host answers, and functions for the authorization and
    /// for a transport of the host's own.
    pub handlers: Handlers,
    /// The authorization of the client.
    pub auth: Option<OAuthOptions>,
    /// The reply is fetched with `wait`.
    pub wait: bool,
    /// The host may read the pipe itself while messages come one by one.
    pub host_driven_reads: bool,
    /// The span that the host has begun for it.
    pub span: Option<HostSpan>,
}

/// The requests of a server that the host answers, by the name of the operation (`elicit`,
/// `elicit_url`, `sample`, `sample_with_tools`), with the drainer that takes their calls. The
/// capabilities that they need are declared.
pub type Handlers = BTreeMap<String, Lane>;

/// Where a client finds its server.
#[derive(Debug, Clone)]
pub enum Connecting {
    /// A child process.
    Child(ChildCommand),
    /// An HTTP endpoint.
    Http(HttpEndpoint),
    /// A server of the same port.
    Memory(Memory),
    /// A server of a configuration.
    Config(Configured),
    /// Many servers.
    Group(Group),
    /// A transport of the host's own: `{"type": "channel"}`, with its functions among the handlers.
    Channel,
}

message! {
    /// A span that the host has begun, with the record that `telemetry` gave for the opening of a
    /// connection or for a notification. The event `Telemetry` ends it.
    pub struct HostSpan {
        /// The number of the record.
        number: u64 = "number",
        ;
        /// Its trace context: `traceparent`, `tracestate`, `baggage`.
        trace: Option<Value> = "trace",
    }
}

message! {
    /// A server of the same port to connect to: `{"type": "memory", …}`.
    pub struct Memory {
        /// The server.
        server: u64 = "server",
    }
}

message! {
    /// A server of a configuration to connect to: `{"type": "config", …}`.
    pub struct Configured {
        /// An entry of `mcpServers`, a configuration with one server, or the name of its file.
        server: Value = "server",
        ;
        /// The options of its transport that the entry leaves open.
        defaults: ServerDefaults = "defaults",
    }
}

message! {
    /// The servers of a group to connect to: `{"type": "group", …}`. One that cannot be connected
    /// to does not take the others along.
    pub struct Group {
        /// A configuration with `mcpServers` or the name of its file; or the places of servers by
        /// their names in the group, each an entry of `mcpServers`, a URL, a command as a list, or
        /// a `SharedConnection` object.
        servers: Value = "servers",
        ;
        /// The options of transports that their entries leave open, each for the servers it fits.
        defaults: ServerDefaults = "defaults",
    }
}

message! {
    /// A connection in the place of a server of a group: the group shares it. It keeps its own
    /// handlers and options, and is not closed with the group.
    pub struct SharedConnection {
        /// The handle of the connection, which is open.
        connection: u64 = "connection",
        ;
        /// The number of its port; without it, the port of the group.
        port: Option<u64> = "port",
    }
}

impl SharedConnection {
    /// Returns whether a place of a server has this form.
    pub(super) fn is_meant(place: &Value) -> bool {
        place.get("connection").is_some()
    }
}

/// The method by which middleware runs the rest of the request, and by which a subscription gives
/// its next change, and a task its next state.
pub const NEXT: &str = "next";
/// The name of the calls of a tool that explain refused arguments.
pub const EXPLAIN: &str = "explain";
/// The method under which `telemetry` knows the opening of a connection; the target is 0.
pub const OPEN: &str = "open";
/// The method that opens a subscription.
pub const SUBSCRIBE: &str = "subscribe";
/// The method that starts a task, or takes one up again; the params are a [`StartTask`].
pub const START_TASK: &str = "startTask";
/// The method by which a task gives its result.
pub const RESULT: &str = "result";
/// The method that cancels a task.
pub const CANCEL: &str = "cancel";
/// The method that gives a task the input that it asks for (2026-07-28); the params are the
/// answers by their keys.
pub const RESPOND: &str = "respond";

message! {
    /// A call of a tool as a task, or a task that is taken up again: the params of `startTask`. The
    /// reply is the task, or `null` where the server made none of the call; the ticket of the
    /// request then names it, until it is cancelled, for `next`, `result`, `respond` and `cancel`.
    pub struct StartTask {
        ;
        /// The name of the tool.
        name: Option<String> = "name",
        /// Its arguments, as its input schema says.
        arguments: Option<RawJson> = "arguments",
        /// The time that the server is asked to keep the task (2025-11-25).
        ttl: Option<Time> = "ttlMs",
        /// The id of the task to take up again, in place of the others.
        task_id: Option<String> = "taskId",
    }
}

trunkline::bridge_support::options! {
    /// A request to the server of a connection, to the client of a call, or of a subscription or
    /// task.
    #[derive(Clone)]
    pub struct Request {
        /// The method; `subscribe` and `startTask` on a connection, `next` in a middleware, of a
        /// subscription and of a task, `result`, `respond` and `cancel` of a task.
        method: String => "method" as Required = String::new(),
        /// The parameters. `_meta`, tokens, ids and headers are the core's business.
        params: Option<RawJson> => "params" = None,
        /// Name of the client request that an answer belongs to, in a request of a handler. Without
        /// it, client requests are counted by kind.
        key: Option<String> => "key" = None,
        /// Fetches all pages of a list, as one result.
        all: bool => "all" = false,
        /// Ask for progress: `Notification` events with the ticket of the request come before its
        /// `Reply`.
        progress: bool => "progress" = false,
        /// The JSON Schema of the `structuredContent` that a tool's result must have; otherwise the
        /// request fails with the kind `transport`. Results of tools that failed pass.
        result_schema: Option<Value> => "resultSchema" = None,
        /// The reply is fetched with `wait`.
        wait: bool => "wait" = false,
        /// Calls of this process may come of it, such as those of a server in memory, and the host
        /// keeps something for them by the ticket: `Freed` says when none comes any more.
        causes: bool => "causes" = false,
        /// The trace context of the span that the host has begun for the request: `traceparent`,
        /// `tracestate`, `baggage`. `telemetry` has the end of such a request.
        trace: Option<Value> => "trace" = None,
        /// For `telemetry` alone: it is a notification, which `notify` sends.
        notification: bool => "notification" = false,
        ;
        /// The options.
        options: RequestOptions,
    }
}

message! {
    /// A notification of a handler to the client of its call, or a note to the core. Each member
    /// acts by itself.
    pub struct NotifyCall {
        ;
        /// The progress of the call. Values that do not rise are dropped; nothing is sent if the
        /// caller did not ask.
        progress: Option<f64> = "progress",
        /// The progress at the end, if it is known.
        total: Option<f64> = "total",
        /// The progress in words.
        message: Option<String> = "message",
        /// A log message, sent if the client wants its level.
        log: Option<LogMessage> = "log",
        /// A value that is kept for later runs of the handler within the same request.
        once: Option<Once> = "once",
        /// Closes the HTTP response early, where the client can come back for the answer.
        close_stream: bool = "closeStream",
        /// Makes a task of the call from here on, where it may be one.
        start_task: bool = "startTask",
        /// The current step of the task, if the call is one.
        task_message: Option<String> = "taskMessage",
    }
}

message! {
    /// A log message.
    pub struct LogMessage {
        /// Its severity.
        level: LoggingLevel = "level",
        ;
        /// The part of the server that it is about.
        logger: Option<String> = "logger",
        /// The message: any JSON.
        data: Value = "data",
    }
}

message! {
    /// A value that is kept for later runs of a handler.
    pub struct Once {
        /// Its name within the handler.
        name: String = "name",
        ;
        /// The value.
        value: Value = "value",
    }
}

macro_rules! described_messages {
    ($($message:ident)*) => {
        $(impl Described for $message {
            const TYPE: Type = Type::Model(Self::OBJECT);
        })*
    };
}

described_messages! {
    RegisterServer RegisterTool RegisterResource RegisterResourceTemplate RegisterPrompt RegisterSkill SkillFile
    RegisterDirectory RegisterCompletion RegisterCompleter RegisterProvider RegisterMiddleware RegisterRequestHandler
    RegisterVisibility RegisterVerifier RegisterMount RegisterProxy OpenMessage Memory Configured Group
    SharedConnection StartTask NotifyCall LogMessage Once NotifyServer NotifyListener NotifyFeature NotifyConnection
    NotifyPort Fail InputRequired InputRequest HttpHead
}

impl Described for HostSpan {
    // Programs have no use for it, so no package has a type of it.
    const TYPE: Type = Type::Object;
}

message! {
    /// A notification of a server to its clients. Each member acts by itself.
    pub struct NotifyServer {
        ;
        /// A list of a provider that has changed: `tools`, `resources`, `resourceTemplates` or
        /// `prompts`.
        list_changed: Option<String> = "listChanged",
        /// The URI of a resource that has changed; reaches those who subscribed to it.
        resource_updated: Option<String> = "resourceUpdated",
        /// The id of an elicitation that is complete; reaches the client that was sent to that
        /// page.
        elicitation_complete: Option<String> = "elicitationComplete",
    }
}

message! {
    /// A note to the core about a listener.
    pub struct NotifyListener {
        ;
        /// The host ends with this listener, and handles SIGINT and SIGTERM: the first ends the
        /// listener and gives the signals back to the system. From now on a host that is blocked
        /// ends as well, when the calls in flight have had their time.
        foreground: bool = "foreground",
    }
}

message! {
    /// A note to the core about a feature. Each member acts by itself.
    pub struct NotifyFeature {
        ;
        /// `false` hides a tool, resource, resource template or prompt: no list has it, and calls
        /// of it find nothing. It keeps its name and its place. `true` shows it again.
        enabled: Option<bool> = "enabled",
    }
}

message! {
    /// A notification of a client to its server, or a note to the core. Each member acts by itself.
    pub struct NotifyConnection {
        ;
        /// The method of a notification.
        method: Option<String> = "method",
        /// Its parameters.
        params: Option<Value> = "params",
        /// The span that the host has begun for the notification.
        span: Option<HostSpan> = "span",
        /// The requests of the server that the host answers from now on, as in `open`. In the
        /// legacy era none that needs a capability which was not declared then.
        handlers: Option<Handlers> = "handlers",
        /// The roots from now on. A server of the legacy era is notified.
        roots: Option<Vec<Root>> = "roots",
    }
}

message! {
    /// A note about the whole port: the target is 0. Each member acts by itself.
    pub struct NotifyPort {
        ;
        /// The least severe log records that the host wants, from now on and of all ports of the
        /// process: `error`, `warn`, `info` (the default) or `debug`.
        log_level: Option<LogLevel> = "logLevel",
        /// The host has OpenTelemetry: telemetry begins for all servers of the port, and for
        /// connections that are opened from now on, unless their option `telemetry` is `false`.
        telemetry: bool = "telemetry",
        /// Stdin and stdout are held for the next listener on stdio: for a host that opens a
        /// lifespan first. Everything that the process prints goes to stderr. Opening reports an
        /// error.
        hold_stdio: bool = "holdStdio",
    }
}

/// The severity of a log record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// May become an error.
    Warn,
    /// Events that are rare, such as the start of a listener.
    #[default]
    Info,
    /// Everything, also each access over HTTP.
    Debug,
}

impl Described for LogLevel {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "LogLevel",
            doc: &[" The severity of a log record."],
            values: &[
                ("error", &[" Something failed."]),
                ("warn", &[" May become an error."]),
                ("info", &[" Events that are rare, such as the start of a listener."]),
                ("debug", &[" Everything, also each access over HTTP."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

/// A notification.
#[derive(Debug, Clone)]
pub enum Notification {
    /// To the port.
    Port(NotifyPort),
    /// To a call.
    Call(NotifyCall),
    /// To a server.
    Server(NotifyServer),
    /// About a listener.
    Listener(NotifyListener),
    /// About a feature.
    Feature(NotifyFeature),
    /// To a connection.
    Connection(NotifyConnection),
}

message! {
    /// A failure of a call.
    pub struct Fail {
        /// Its kind.
        kind: FailKind = "kind",
        /// The text.
        message: String = "message",
        ;
        /// Of the kind `invalid`: the place in the arguments, as a JSON pointer.
        path: Option<String> = "path",
        /// Of the kind `protocol`: the JSON-RPC code; without it, that of an internal error.
        code: Option<i64> = "code",
        /// Of the kind `protocol`: the JSON-RPC data.
        data: Option<Value> = "data",
        /// Of the kind `internal`: the host has logged it, so the core does not.
        logged: bool = "logged",
    }
}

/// The kind of a failure of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailKind {
    /// The tool failed.
    #[default]
    Tool,
    /// The arguments are invalid.
    Invalid,
    /// Something went wrong inside.
    Internal,
    /// A JSON-RPC error.
    Protocol,
}

impl Described for FailKind {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "FailKind",
            doc: &[" The kind of a failure of a call."],
            values: &[
                (
                    "tool",
                    &[" A result that says that the tool failed; outside of tools a JSON-RPC error with the text."],
                ),
                ("invalid", &[" Invalid arguments that fit the schema, answered as if the schema had refused them."]),
                ("internal", &[" A generic text for the client, and a log entry with the detail."]),
                ("protocol", &[" A JSON-RPC error of the handler's choice."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}

message! {
    /// Input of the client that a handler needs before it has a result: the body of the shape
    /// `input`.
    pub struct InputRequired {
        ;
        /// The requests, by keys of the handler's choice, in the order in which a user answers
        /// them.
        input_requests: IndexMap<String, InputRequest> = "inputRequests",
        /// State that the handler finds again when it is called with the answers. It travels
        /// sealed.
        state: Option<Value> = "state",
    }
}

message! {
    /// A request for input.
    pub struct InputRequest {
        /// The method.
        method: String = "method",
        ;
        /// The parameters.
        params: Value = "params",
    }
}

message! {
    /// The head of a request that a web framework brings.
    pub struct HttpHead {
        /// The method.
        method: String = "method",
        /// The path as it was sent, percent-encoded.
        path: String = "path",
        /// The headers, in order; names and values have one character for each byte.
        headers: Vec<(String, String)> = "headers",
        ;
        /// The query as it was sent.
        query: Option<String> = "query",
        /// The exchange is 0, and nothing follows, where nothing is served at that path.
        optional: bool = "optional",
        /// The IP address of the peer; another text is ignored.
        remote_address: Option<String> = "remoteAddress",
    }
}

/// The messages to the core, for the declaration of the surface.
pub(crate) static TO_CORE: &[&trunkline::protocol::describe::ObjectDescription] = &[
    RegisterServer::OBJECT,
    RegisterTool::OBJECT,
    RegisterResource::OBJECT,
    RegisterResourceTemplate::OBJECT,
    RegisterPrompt::OBJECT,
    RegisterSkill::OBJECT,
    RegisterDirectory::OBJECT,
    RegisterCompletion::OBJECT,
    RegisterCompleter::OBJECT,
    RegisterProvider::OBJECT,
    RegisterMiddleware::OBJECT,
    RegisterRequestHandler::OBJECT,
    RegisterMount::OBJECT,
    RegisterProxy::OBJECT,
    RegisterVisibility::OBJECT,
    RegisterVerifier::OBJECT,
    SkillFile::OBJECT,
    OpenMessage::OBJECT,
    <ChildCommand as Options>::OBJECT,
    <HttpEndpoint as Options>::OBJECT,
    Memory::OBJECT,
    Configured::OBJECT,
    Group::OBJECT,
    SharedConnection::OBJECT,
    StartTask::OBJECT,
    NotifyCall::OBJECT,
    LogMessage::OBJECT,
    Once::OBJECT,
    HostSpan::OBJECT,
    NotifyServer::OBJECT,
    NotifyListener::OBJECT,
    NotifyFeature::OBJECT,
    NotifyConnection::OBJECT,
    NotifyPort::OBJECT,
    Fail::OBJECT,
    InputRequired::OBJECT,
    InputRequest::OBJECT,
    HttpHead::OBJECT,
];

/// The target of `open`.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is used once")]
pub enum Open {
    /// A listener of a server.
    Listener(OpenListener),
    /// A connection of a client.
    Connection(OpenConnection),
}
