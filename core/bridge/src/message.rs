//! Typed forms of the JSON messages between the core and a host. C, which links to Rust, passes
//! them without JSON.
//!
//! Each message is declared once, with its JSON members and its documentation. Unknown members are
//! errors, so that a misspelled member is never silently ignored.

use crate::{BridgeError, Given, Lane, host_json};
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, time::Duration};
#[cfg(feature = "child-process")]
use trunkline::transport::ChildCommand;
use trunkline::{
    ProxyOptions,
    auth::OAuthOptions,
    bridge_support::json_names,
    client::{RequestOptions, ServerDefaults},
    protocol::{
        RawJson, RpcError,
        describe::{Described, FieldDescription, ObjectDescription, Presence, Type, count, joined},
        error::code,
        model::{LoggingLevel, Root},
        options::{JsonForm, MemberName, Millis, Options, Required, unknown},
    },
    server::{
        DirectoryOptions, PromptOptions, RequestHandlerOptions, ResourceOptions, ResourceTemplateOptions,
        ServerOptions, SkillOptions, ToolOptions,
    },
    transport::HttpEndpoint,
};

/// Declares messages: required members, and after a `;` optional ones. After another `;` come
/// option structs, whose members are flattened into the message. `as Object` is for messages that
/// packages see as any object.
macro_rules! message {
    ($(
        $(#[doc = $doc:literal])*
        pub struct $name:ident $(as $seen:ident)? {
            $($(#[doc = $required_doc:literal])* $required:ident: $required_ty:ty = $required_json:literal,)*
            $(; $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty = $json:literal,)*
            $(; $($(#[doc = $flat_doc:literal])* $flat:ident: $flat_ty:ty,)*)?)?
        }
    )*) => {$(
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
            pub const OBJECT: &'static ObjectDescription = {
                const PARTS: &[&[FieldDescription]] = &[
                    &[
                        $(FieldDescription {
                            name: stringify!($required),
                            json: $required_json,
                            doc: &[$($required_doc),*],
                            presence: Presence::Required,
                            ty: <$required_ty as Described>::TYPE,
                            ..FieldDescription::EMPTY
                        },)*
                        $($(FieldDescription {
                            name: stringify!($field),
                            json: $json,
                            doc: &[$($field_doc),*],
                            presence: <$ty as Described>::PRESENCE,
                            ty: <$ty as Described>::TYPE,
                            ..FieldDescription::EMPTY
                        },)*)?
                    ],
                    $($($(<$flat_ty as Options>::OBJECT.fields,)*)?)?
                ];
                static FIELDS: [FieldDescription; count(PARTS)] = joined(PARTS);
                static OBJECT: ObjectDescription =
                    ObjectDescription { name: stringify!($name), doc: &[$($doc),*], tag: None, fields: &FIELDS, open: false };
                &OBJECT
            };
        }

        impl Described for $name {
            const TYPE: Type = message!(@type $name $($seen)?);
        }
    )*};
    (@type $name:ident) => { Type::Model($name::OBJECT) };
    (@type $name:ident $seen:ident) => { Type::$seen };
}

/// A duration, in JSON a number of whole milliseconds. It is bounded so that adding it to a time
/// cannot overflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// Creates a duration from milliseconds, within the bound.
    pub fn from_millis(milliseconds: u64) -> Self {
        Self(host_json::millis(milliseconds))
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
    /// A server; registered as `server`.
    pub struct RegisterServer {
        /// The name and version of the server: an Implementation object.
        info: Value = "info",
        ;
        /// Instructions for the model on how to use the server.
        instructions: Option<String> = "instructions",
        /// The options.
        options: ServerOptions = "options",
        /// Functions of a custom store, each with its lane, instead of the option `store`; all six
        /// are required. A `Call` of one has the handle of the server and the name of the function.
        store: Option<Handlers> = "store",
    }

    /// A tool; registered as `tool`. The body of its `Call` is the arguments object. A `Call` with
    /// the name `explain` has arguments that the input schema refused: fail it with the kind
    /// `invalid` and a better message, complete it with `true` to accept the arguments and call the
    /// tool, or complete it with any other value to keep the original message.
    pub struct RegisterTool {
        /// The server.
        server: u64 = "server",
        /// A Tool object of the newest revision. Without `inputSchema`, the input is an object
        /// without properties.
        tool: Value = "tool",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        /// Results have the form `{"result": value}`. An output schema that is not for objects then
        /// describes the value.
        wrap_output: bool = "wrapOutput",
        /// Handle of a `visibility`, which decides who can see and call the feature. To other
        /// callers it does not exist.
        visible: Option<u64> = "visible",
        /// Handle of a feature of the same kind, which this one replaces at its position in the
        /// list. The old handle becomes stale; running calls continue.
        replaces: Option<u64> = "replaces",
        /// Send a `Call` named `explain` when the input schema refuses arguments.
        explains: bool = "explains",
        ;
        /// The options.
        options: ToolOptions,
    }

    /// A resource; registered as `resource`. The body of its `Call` is `{"uri"}`.
    pub struct RegisterResource {
        /// The server.
        server: u64 = "server",
        /// A Resource object of the newest revision.
        resource: Value = "resource",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        /// Handle of a `visibility`, which decides who can see and call the feature. To other
        /// callers it does not exist.
        visible: Option<u64> = "visible",
        /// Handle of a feature of the same kind, which this one replaces at its position in the
        /// list. The old handle becomes stale; running calls continue.
        replaces: Option<u64> = "replaces",
        ;
        /// The options.
        options: ResourceOptions,
    }

    /// A resource template (RFC 6570); registered as `resourceTemplate`. The body of its `Call` is
    /// `{"uri", "variables"}`. A resource with the exact URI takes precedence; templates are
    /// matched in registration order.
    pub struct RegisterResourceTemplate {
        /// The server.
        server: u64 = "server",
        /// A ResourceTemplate object of the newest revision.
        resource_template: Value = "resourceTemplate",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        /// Handle of a `visibility`, which decides who can see and call the feature. To other
        /// callers it does not exist.
        visible: Option<u64> = "visible",
        /// Handle of a feature of the same kind, which this one replaces at its position in the
        /// list. The old handle becomes stale; running calls continue.
        replaces: Option<u64> = "replaces",
        /// Handles of `completer`s, by the variable for which they suggest values.
        complete: BTreeMap<String, u64> = "complete",
        ;
        /// The options.
        options: ResourceTemplateOptions,
    }

    /// A prompt; registered as `prompt`. The body of its `Call` is the arguments object: all values
    /// are strings, and required arguments are present.
    pub struct RegisterPrompt {
        /// The server.
        server: u64 = "server",
        /// A Prompt object of the newest revision.
        prompt: Value = "prompt",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        /// Handle of a `visibility`, which decides who can see and call the feature. To other
        /// callers it does not exist.
        visible: Option<u64> = "visible",
        /// Handle of a feature of the same kind, which this one replaces at its position in the
        /// list. The old handle becomes stale; running calls continue.
        replaces: Option<u64> = "replaces",
        /// Handles of `completer`s, by the argument for which they suggest values.
        complete: BTreeMap<String, u64> = "complete",
        ;
        /// The options.
        options: PromptOptions,
    }

    /// An agent skill; registered as `skill`. The core serves it without calling the host. Set
    /// either `folder` or `files`.
    pub struct RegisterSkill {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls; there are none.
        lane: Lane = "lane",
        /// The path of the skill's folder.
        folder: Option<String> = "folder",
        /// The files of the skill.
        files: Vec<SkillFile> = "files",
        ;
        /// The options.
        options: SkillOptions,
    }

    /// A file of a skill, with either `text` or `blob`.
    pub struct SkillFile {
        /// The path within the skill, such as `SKILL.md`.
        path: String = "path",
        ;
        /// The contents as a string.
        text: Option<String> = "text",
        /// The contents in Base64.
        blob: Option<String> = "blob",
        /// The MIME type.
        mime_type: Option<String> = "mimeType",
    }

    /// A folder whose files are resources, read when they are requested; registered as `directory`.
    /// The core serves it without calling the host, and reads nothing outside the folder.
    pub struct RegisterDirectory {
        /// The server.
        server: u64 = "server",
        /// The start of the URIs. It is followed by a `/`, unless it ends with one, and the file's
        /// path within the folder.
        uri: String = "uri",
        /// The path of the folder.
        path: String = "path",
        ;
        /// The drainer that receives its calls; there are none.
        lane: Lane = "lane",
        ;
        /// The options.
        options: DirectoryOptions,
    }

    /// Completions of an argument; registered as `completion`. The body of its `Call` is
    /// `{"ref", "argument", "context"}`.
    pub struct RegisterCompletion {
        /// The server.
        server: u64 = "server",
        /// A CompletionReference object: the prompt or the resource template that has the argument.
        reference: Value = "ref",
        /// The name of the argument.
        argument: String = "argument",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// A completer for the member `complete` of prompts and resource templates; registered as
    /// `completer`. The body of its `Call` is that of a `completion`. Features that use it keep it
    /// when its handle is unregistered.
    pub struct RegisterCompleter {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// A provider of features that are not registered, such as rows of a database; registered as
    /// `provider`. The body of its `Call` is either `{"list": {"cursor"}}`, completed with a value
    /// `{"items", "nextCursor"}`, or `{"get": {params}}`, completed like a call of a feature of
    /// that kind; the value `null` means that there is no such feature. Scopes are only checked for
    /// registered features, and the arguments of a tool are only validated against a schema that
    /// was listed to the caller: the provider must check everything else.
    pub struct RegisterProvider {
        /// The server.
        server: u64 = "server",
        /// The list that it extends: `tools`, `resources`, `resourceTemplates` or `prompts`.
        of: String = "of",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// Middleware, which wraps requests in registration order; registered as `middleware`. The body
    /// of its `Call` is `{"method", "params"}`, and the request `next` runs the rest.
    pub struct RegisterMiddleware {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        /// The methods to wrap. By default, all methods that can be wrapped.
        methods: Option<Vec<String>> = "methods",
    }

    /// A handler of a custom method of an extension or a vendor; registered as `requestHandler`.
    /// The body of its `Call` is the params without `_meta`, and `name` is the method. Complete it
    /// with an object as a value or a result, or with `null` for an empty result.
    pub struct RegisterRequestHandler {
        /// The server.
        server: u64 = "server",
        /// The method: a prefix that does not belong to the protocol, preferably the reversed
        /// domain of the vendor, a slash, and a name, such as `com.acme/sum`.
        method: String = "method",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
        ;
        /// The options.
        options: RequestHandlerOptions,
    }

    /// Decides who can see and call a feature, for the member `visible` of features; registered as
    /// `visibility`. The body of its `Call` is `{"name"}`, the name or URI of the feature. Complete
    /// it with the value `true` or `false`; a failure counts as `false`. Features that use it keep
    /// it when its handle is unregistered.
    pub struct RegisterVisibility {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// A verifier of access tokens; registered as `verifier`. The body of its `Call` is
    /// `{"token", "scheme", "method", "url", "resource"}`. Complete it with an identity, or with
    /// `null` for an unknown token.
    pub struct RegisterVerifier {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// The lifespan of a server: opened before its first call, and closed after its last;
    /// registered as `lifespan`. A `Call` has the name `open` or `close` and an empty object as its
    /// body. They alternate, and `close` follows only a successful `open`. Complete both with the
    /// shape `result` and an empty object. If `open` is failed, so is what was about to serve: the
    /// open of a listener or a connection in memory, or a request. The next one tries again, also
    /// if the first was cancelled but is still running: close what a cancelled `open` has opened.
    /// A server that is in use or has a lifespan refuses one.
    pub struct RegisterLifespan {
        /// The server.
        server: u64 = "server",
        ;
        /// The drainer that receives its calls.
        lane: Lane = "lane",
    }

    /// Mounts a server on another one, including later additions and removals of features;
    /// registered as `mount`. The core serves it without calling the host.
    pub struct RegisterMount {
        /// The server to mount it on.
        server: u64 = "server",
        /// Prefix of its names and URIs (`prefix__name`, `prefix+uri`). Empty for one server whose
        /// names and URIs stay unchanged.
        prefix: String = "prefix",
        /// The mounted server.
        mounted: u64 = "mounted",
        ;
        /// The number of the mounted server's port. By default, the same port.
        port: Option<u64> = "port",
        /// The drainer that receives its calls; there are none.
        lane: Lane = "lane",
    }

    /// A proxy for the server of a connection, or for all servers of a group, on another server;
    /// registered as `proxy`. The core serves it without calling the host.
    pub struct RegisterProxy {
        /// The server that exposes the features.
        server: u64 = "server",
        /// Handle of the connection, which must be open.
        connection: u64 = "connection",
        ;
        /// The number of the connection's port. By default, the port of the server.
        port: Option<u64> = "port",
        /// The drainer that receives its calls; there are none.
        lane: Lane = "lane",
        ;
        /// The options.
        options: ProxyOptions,
    }
}

/// Lists the kinds of registrations with their messages.
macro_rules! registrations {
    ($($kind:literal $name:ident($message:ident),)*) => {
        /// A server, or one of its features, to register.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "the types say it")]
        #[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is used once")]
        pub enum Registration {
            Server(RegisterServer),
            $($name($message),)*
        }

        impl Registration {
            /// The kinds accepted by `register`. Errors in a message start with its kind.
            pub(crate) const KINDS: &[&str] = &["server", $($kind),*];

            /// The messages of the kinds.
            const MESSAGES: &[&ObjectDescription] = &[RegisterServer::OBJECT, $($message::OBJECT),*];

            /// Parses the message of `register`.
            pub(crate) fn read(kind: &str, given: impl Given) -> Result<Self, BridgeError> {
                Ok(match kind {
                    "server" => Self::Server(given.read(kind)?),
                    $($kind => Self::$name(given.read(kind)?),)*
                    other => {
                        let kinds = Self::KINDS.join(", ");
                        let text = format!("register: {other:?} is not a kind; use one of {kinds}");
                        return Err(BridgeError::invalid(text));
                    }
                })
            }

            /// The kind of the registration.
            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    Self::Server(_) => "server",
                    $(Self::$name(_) => $kind,)*
                }
            }

            /// The server that it belongs to, and the drainer that receives its calls.
            pub(crate) fn destination(&self) -> (u64, Lane) {
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
    "skill" Skill(RegisterSkill),
    "directory" Directory(RegisterDirectory),
    "completion" Completion(RegisterCompletion),
    "completer" Completer(RegisterCompleter),
    "provider" Provider(RegisterProvider),
    "middleware" Middleware(RegisterMiddleware),
    "requestHandler" RequestHandler(RegisterRequestHandler),
    "mount" Mount(RegisterMount),
    "proxy" Proxy(RegisterProxy),
    "visibility" Visibility(RegisterVisibility),
    "verifier" Verifier(RegisterVerifier),
    "lifespan" Lifespan(RegisterLifespan),
}

impl Registration {
    /// The feature that it replaces.
    pub(crate) fn replaces(&self) -> Option<u64> {
        match self {
            Self::Tool(given) => given.replaces,
            Self::Resource(given) => given.replaces,
            Self::ResourceTemplate(given) => given.replaces,
            Self::Prompt(given) => given.replaces,
            _ => None,
        }
    }

    /// Returns whether the core serves it without calling the host.
    pub(crate) fn is_answered_by_the_core(&self) -> bool {
        matches!(self, Self::Skill(_) | Self::Directory(_) | Self::Mount(_) | Self::Proxy(_))
    }
}

/// The server requests that the host handles, by the name of the operation (`elicit`, `elicit_url`,
/// `sample`, `sample_with_tools`), with the drainer that receives their calls. The capabilities
/// that they require are declared.
pub type Handlers = BTreeMap<String, Lane>;

message! {
    /// Opens a listener or a connection: set either `server` or `client`. The reply is a
    /// BoundAddress object for a listener, and a ConnectionDescription object for a connection.
    pub struct OpenMessage {
        /// For a listener: `{"type": "stdio"}`, or HttpOptions with `"type": "http"`, and also
        /// `"mounted": true` for an endpoint without a socket. For a connection: ChildCommand with
        /// `"type": "child"`, HttpEndpoint with `"type": "http"`, Memory, Configured or Group.
        transport: Map<String, Value> = "transport",
        ;
        /// The server, for a listener.
        server: Option<u64> = "server",
        /// The ClientOptions, for a connection. All of them are optional.
        client: Option<Map<String, Value>> = "client",
        /// The server requests that the host handles, each with its lane, and functions for the
        /// authorization, for a connection. The capabilities that they require are declared.
        handlers: Handlers = "handlers",
        /// The authorization, for a connection.
        auth: Option<OAuthOptions> = "auth",
        /// Fetch the reply with `wait`.
        wait: bool = "wait",
        /// For a mounted listener: open the lifespan of the server first, as other listeners do,
        /// instead of with the first request. Requests must then wait for the reply.
        open_lifespan: bool = "openLifespan",
        /// Let the host read the pipe itself while messages arrive one at a time.
        host_driven_reads: bool = "hostDrivenReads",
        /// The span that the host has started for opening a connection.
        span: Option<HostSpan> = "span",
        /// The program ends with the listener. If the host does not drain the `close` of a lifespan
        /// or the `Closed` event for two seconds, because a handler blocks it, the process exits
        /// with status 1.
        foreground: bool = "foreground",
        /// The host already handles SIGINT and SIGTERM. Has the effect of `foreground` of
        /// `NotifyListener`, but before the first call can block the host.
        signals: bool = "signals",
    }

    /// A span that the host has started, with the record that `telemetry` returned for opening a
    /// connection or for a notification. The event `Telemetry` ends it.
    pub struct HostSpan as Object {
        /// The number of the record.
        number: u64 = "number",
        ;
        /// Its trace context: `traceparent`, `tracestate`, `baggage`.
        trace: Option<Value> = "trace",
    }

    /// A server of this process to connect to in memory: `{"type": "memory", …}`.
    pub struct Memory {
        /// The server.
        server: u64 = "server",
        ;
        /// The number of the server's port. By default, the same port.
        port: Option<u64> = "port",
    }

    /// A server from a configuration to connect to: `{"type": "config", …}`.
    pub struct Configured {
        /// An entry of `mcpServers`, a configuration with one server, or the path of its file.
        server: Value = "server",
        ;
        /// Transport options for what the entry does not set.
        defaults: ServerDefaults = "defaults",
    }

    /// The servers of a group to connect to: `{"type": "group", …}`. If one of them fails, the
    /// others are still connected.
    pub struct Group {
        /// A configuration with `mcpServers`, or the path of its file; or the servers by name, each
        /// an entry of `mcpServers`, a URL, a command as a list, or a `SharedConnection` object.
        servers: Value = "servers",
        ;
        /// Transport options for what the entries do not set. Each applies to the servers that it
        /// fits.
        defaults: ServerDefaults = "defaults",
    }

    /// An existing connection as a server of a group. It keeps its own handlers and options, and is
    /// not closed with the group.
    pub struct SharedConnection {
        /// Handle of the connection, which must be open.
        connection: u64 = "connection",
        ;
        /// The number of the connection's port. By default, the port of the group.
        port: Option<u64> = "port",
    }
}

impl SharedConnection {
    /// Returns whether a server is given in this form.
    pub(crate) fn is_meant(place: &Value) -> bool {
        place.get("connection").is_some()
    }
}

/// The method with which middleware runs the rest of the request. On a subscription it returns the
/// next change, and on a task the next state.
pub const NEXT: &str = "next";
/// The name of calls that explain refused arguments of a tool.
pub const EXPLAIN: &str = "explain";
/// The name of calls that open a lifespan. Also the method that `telemetry` uses for opening a
/// connection; the target is 0.
pub const OPEN: &str = "open";
/// The name of calls that close a lifespan.
pub const CLOSE: &str = "close";
/// The method that opens a subscription.
pub const SUBSCRIBE: &str = "subscribe";
/// The method that starts or resumes a task; the params are a [`StartTask`].
pub const START_TASK: &str = "startTask";
/// The method that returns the result of a task.
pub const RESULT: &str = "result";
/// The method that cancels a task.
pub const CANCEL: &str = "cancel";
/// The method that sends the input requested by a task (2026-07-28); the params are the responses
/// by key.
pub const RESPOND: &str = "respond";

trunkline::bridge_support::options! {
    /// A request to the server of a connection, to the client of a call, or to a subscription or
    /// task.
    #[derive(Clone)]
    pub struct Request {
        /// The method. On a connection also `subscribe` and `startTask`; in middleware `next`; on a
        /// subscription `next`; on a task `next`, `result`, `respond` and `cancel`.
        method: String => "method" as Required = String::new(),
        /// The parameters. The core adds `_meta`, tokens, ids and headers.
        params: Option<RawJson> => "params" = None,
        /// Key that matches a handler's request for input with its answer. By default, an equal
        /// request gets the answer.
        key: Option<String> => "key" = None,
        /// Fetch all pages of a list, as one result.
        all: bool => "all" = false,
        /// Report progress, as `Notification` events with the ticket of the request, before its
        /// `Reply`.
        progress: bool => "progress" = false,
        /// JSON Schema that the `structuredContent` of a tool's result must match; otherwise the
        /// request fails with the kind `transport`. Results with `isError` are not checked.
        result_schema: Option<Value> => "resultSchema" = None,
        /// `resultSchema` describes the value of `{"result": value}`.
        wrap_result: bool => "wrapResult" = false,
        /// Fetch the reply with `wait`.
        wait: bool => "wait" = false,
        /// The request may cause calls in this process, such as to an in-memory server, and the
        /// host keeps state for them under its ticket. `Freed` follows when it can cause no more
        /// calls.
        causes: bool => "causes" = false,
        /// Trace context of the span that the host has started for the request: `traceparent`,
        /// `tracestate`, `baggage`. `telemetry` returns the end of the request.
        trace: Option<Value> => "trace" = None,
        /// Only for `telemetry`: the message is a notification, which is sent with `notify`.
        notification: bool => "notification" = false,
        ;
        /// The options.
        options: RequestOptions,
    }
}

impl Request {
    /// The parameters, as an object.
    pub(crate) fn read_params<T: DeserializeOwned>(&self) -> Result<T, BridgeError> {
        let params = self.params.clone().unwrap_or_else(RawJson::empty_object);
        params.read().map_err(|problem| BridgeError::invalid(format!("{}: {problem}", self.method)))
    }
}

message! {
    /// The params of `startTask`: calls a tool as a task, or resumes a task. The reply is the task,
    /// or `null` if the server did not create one. Until it is cancelled, the ticket of the request
    /// then names the task, for `next`, `result`, `respond` and `cancel`.
    pub struct StartTask {
        ;
        /// The name of the tool.
        name: Option<String> = "name",
        /// The arguments, matching the input schema.
        arguments: Option<RawJson> = "arguments",
        /// Requested lifetime of the task (2025-11-25).
        ttl: Option<Time> = "ttlMs",
        /// The id of a task to resume; the other members are not set.
        task_id: Option<String> = "taskId",
    }

    /// A notification from a handler to the client of its call, or to the core. The members are
    /// independent of each other.
    pub struct NotifyCall {
        ;
        /// The progress of the call. Values that do not increase are dropped. Nothing is sent if
        /// the client did not ask for progress.
        progress: Option<f64> = "progress",
        /// The total progress, if known.
        total: Option<f64> = "total",
        /// A description of the progress.
        message: Option<String> = "message",
        /// A log message, sent if the client wants its level.
        log: Option<LogMessage> = "log",
        /// A value to store for later runs of the handler within the same request.
        once: Option<Once> = "once",
        /// Closes the HTTP response early, if the client can reconnect for the result.
        close_stream: bool = "closeStream",
        /// Turns the call into a task from here on, if possible.
        start_task: bool = "startTask",
        /// The status message of the task, if the call is one.
        task_message: Option<String> = "taskMessage",
    }

    /// A log message.
    pub struct LogMessage {
        /// The severity.
        level: LoggingLevel = "level",
        ;
        /// The part of the server that logs it.
        logger: Option<String> = "logger",
        /// The message, as any JSON value.
        data: Value = "data",
    }

    /// A value to store for later runs of a handler.
    pub struct Once {
        /// The name, unique within the handler.
        name: String = "name",
        ;
        /// The value.
        value: Value = "value",
    }

    /// A notification from a server to its clients. The members are independent of each other.
    pub struct NotifyServer {
        ;
        /// A list of a provider that has changed: `tools`, `resources`, `resourceTemplates` or
        /// `prompts`.
        list_changed: Option<String> = "listChanged",
        /// The URI of a resource that has changed. Sent to its subscribers.
        resource_updated: Option<String> = "resourceUpdated",
        /// The id of a completed URL elicitation. Sent to the client that received it.
        elicitation_complete: Option<String> = "elicitationComplete",
    }

    /// A message to the core about a listener.
    pub struct NotifyListener {
        ;
        /// The host ends with this listener, and handles SIGINT and SIGTERM: the first signal
        /// closes the listener and restores the default action. This makes the process exit even if
        /// a handler blocks the host, after the drain deadline.
        foreground: bool = "foreground",
    }

    /// A message to the core about a feature.
    pub struct NotifyFeature {
        ;
        /// `false` hides a tool, resource, resource template or prompt: it is omitted from lists,
        /// and calls fail as if it did not exist. It keeps its name and its position. `true` shows
        /// it again.
        enabled: Option<bool> = "enabled",
    }

    /// A notification from a client to its server, or to the core. The members are independent of
    /// each other.
    pub struct NotifyConnection {
        ;
        /// The method of a notification.
        method: Option<String> = "method",
        /// The parameters of the notification.
        params: Option<Value> = "params",
        /// The span that the host has started for the notification.
        span: Option<HostSpan> = "span",
        /// Replaces the server requests that the host handles, as in `open`. In the legacy era,
        /// none may require a capability that was not declared when the connection was opened.
        handlers: Option<Handlers> = "handlers",
        /// Replaces the roots. A server of the legacy era is notified.
        roots: Option<Vec<Root>> = "roots",
    }

    /// A message about the whole port; the target is 0. The members are independent of each other.
    pub struct NotifyPort {
        ;
        /// Minimum severity of the log records that the host receives, for all ports of the
        /// process: `error`, `warn`, `info` (the default) or `debug`.
        log_level: Option<LogLevel> = "logLevel",
        /// The host uses OpenTelemetry: enables telemetry for all servers of the port, and for
        /// connections opened later, unless their option `telemetry` is `false`.
        telemetry: bool = "telemetry",
    }
}

json_names! {
    /// The severity of a log record.
    pub enum LogLevel, by default Info {
        /// Something failed.
        Error = "error",
        /// Something that may become an error.
        Warn = "warn",
        /// Rare events, such as the start of a listener.
        Info = "info",
        /// Everything, including each access over HTTP.
        Debug = "debug",
    }

    /// The kind of a failure of a call.
    pub enum FailKind, by default Tool {
        /// A tool result that reports the failure; outside of tools, a JSON-RPC error with the
        /// message.
        Tool = "tool",
        /// An error for invalid arguments that match the schema, reported like a schema violation.
        Invalid = "invalid",
        /// A generic message for the client; the details are logged.
        Internal = "internal",
        /// A JSON-RPC error of the handler's choice.
        Protocol = "protocol",
    }
}

/// A notification.
#[derive(Debug, Clone)]
pub enum Notification {
    /// For the port.
    Port(NotifyPort),
    /// For a call.
    Call(NotifyCall),
    /// For a server.
    Server(NotifyServer),
    /// For a listener.
    Listener(NotifyListener),
    /// For a feature.
    Feature(NotifyFeature),
    /// For a connection.
    Connection(NotifyConnection),
}

message! {
    /// A failure of a call.
    pub struct Fail {
        /// The kind of failure.
        kind: FailKind = "kind",
        /// The error message.
        message: String = "message",
        ;
        /// For the kind `invalid`: the location in the arguments, as a JSON pointer.
        path: Option<String> = "path",
        /// For the kind `protocol`: the JSON-RPC error code. By default, that of an internal error.
        code: Option<i64> = "code",
        /// For the kind `protocol`: the JSON-RPC error data.
        data: Option<Value> = "data",
        /// For the kind `internal`: the host has already logged it, so the core does not.
        logged: bool = "logged",
    }

    /// Input that a handler needs from the client before it has a result: the body of the shape
    /// `input`.
    pub struct InputRequired {
        ;
        /// The requests by key, in the order in which the user should answer them. The handler
        /// chooses the keys.
        input_requests: IndexMap<String, InputRequest> = "inputRequests",
        /// State that the handler receives again when it is called with the answers. The client
        /// gets it sealed.
        state: Option<Value> = "state",
    }

    /// A request for input.
    pub struct InputRequest {
        /// The method.
        method: String = "method",
        ;
        /// The parameters.
        params: Value = "params",
    }

    /// The head of a request passed by a web framework.
    pub struct HttpHead {
        /// The method.
        method: String = "method",
        /// The path as received, percent-encoded.
        path: String = "path",
        /// The headers in order. Names and values have one character per byte.
        headers: Vec<(String, String)> = "headers",
        ;
        /// The query as received.
        query: Option<String> = "query",
        /// If nothing is served at the path, return 0 as the exchange, without any events.
        optional: bool = "optional",
        /// The IP address of the peer. Ignored if it is not a valid address.
        remote_address: Option<String> = "remoteAddress",
    }
}

impl Fail {
    /// The message, after the location in the arguments.
    pub(crate) fn located_message(self) -> String {
        match self.path.as_deref() {
            None | Some("") => self.message,
            Some(path) => format!("{path}: {}", self.message),
        }
    }

    pub(crate) fn into_protocol_error(self) -> RpcError {
        RpcError { code: self.code.unwrap_or(code::INTERNAL_ERROR), message: self.message, data: self.data }
    }
}

/// The messages to the core, for the interface description.
pub(crate) fn to_core() -> impl Iterator<Item = &'static ObjectDescription> {
    let others = [
        SkillFile::OBJECT,
        OpenMessage::OBJECT,
        #[cfg(feature = "child-process")]
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
        Request::OBJECT,
    ];
    Registration::MESSAGES.iter().copied().chain(others)
}
