//! The surface as data: everything in this library that the packages of other languages expose.
//!
//! `cargo xtask generate` gets it from the program `surface` and writes the parts of the packages
//! that follow from it. Everything is declared where it is used; this module collects it.

use crate::{
    ErrorKind, Shape,
    calls::verifications::AccessToken,
    description::{
        CallDescription, ConnectionDescription, HandlerMemory, PortDescription, ServerFeatures, VerificationDescription,
    },
    error::{self, ErrorDescription},
    events::TO_HOST,
    host::{client_authorization, custom_store, custom_transport, function::FunctionRow},
    message,
    open::{endpoint_auth::AuthConfig, groups},
    requests::{logout, skills},
    telemetry::{TelemetryMeasurements, TelemetryRecord},
};
use prose::text;
use serde_json::{Map, Value, json};
use trunkline::{
    ClientOptions, HttpOptions, ProxyOptions, RequestOptions, ServerOptions,
    auth::{Identity, OAuthOptions},
    bridge_support::BoundAddress,
    protocol::{
        Revision,
        describe::{Described, FieldDescription, ObjectDescription, Type, Unit},
        error::{CODES, ProtocolErrorCode, code},
        method::Sender,
        model::{Change, SubscriptionFilter},
        operation::{self, Operation, OperationParams, ServerNotification},
        options::Options,
    },
    server::{
        DirectoryOptions, PromptOptions, RequestHandlerOptions, ResourceTemplateOptions, SkillOptions, ToolOptions,
    },
    transport::HttpEndpoint,
};

mod prose;

/// The surface as JSON.
pub fn surface() -> Value {
    let mut models = Models::default();
    models.seen.extend(["ServerOptions", "HttpOptions", "ClientOptions", "OAuthOptions"]);
    // In this order: models are listed as they are first needed.
    let options = models.all_options();
    let messages = models.messages();
    let operations =
        operation::CLIENT.iter().chain(skills::OPERATIONS).chain([&logout::OPERATION]).chain(operation::HANDLER);
    let operations = list(operations, |row| models.operation(row));
    let facts = [CallDescription::OBJECT, ConnectionDescription::OBJECT, VerificationDescription::OBJECT];
    let facts = list(facts, |object| models.object(object));
    let mut host: Vec<Value> = operation::HOST.iter().map(|row| models.answered(&row.operation)).collect();
    models.as_requests(&mut host);
    host.extend(client_authorization::FUNCTIONS.iter().map(|row| models.host_function(row)));
    let channel = list(custom_transport::FUNCTIONS, |row| models.spread_function(row));
    let store = list(custom_store::FUNCTIONS, |row| models.spread_function(row));
    // Subscriptions are not a protocol method: each language implements these with a few lines of
    // code.
    let _ = [&SubscriptionFilter::TYPE, &Change::TYPE].map(|ty| models.named(ty));
    let notifications = list(operation::NOTIFICATIONS, |row| models.notification(row));
    let group = list(groups::FUNCTIONS, |row| models.group_function(row));
    let mut kinds: Vec<_> = error::DESCRIPTIONS.iter().collect();
    kinds.sort_unstable_by_key(|row| row.kind);
    let errors = list(kinds, |row| models.error(row));
    json!({
        "revisions": Revision::ALL.map(Revision::as_str),
        "errors": errors,
        "errorCodes": list(CODES, error_code),
        "codes": {"internalError": code::INTERNAL_ERROR, "invalidRequest": code::INVALID_REQUEST},
        "shapes": list(Shape::ALL, shape),
        "options": options,
        "messages": messages,
        "models": models.all,
        "operations": operations,
        "waistMethods": [message::NEXT, message::EXPLAIN, message::OPEN, message::CLOSE],
        "host": host,
        "channel": channel,
        "store": store,
        "group": group,
        "facts": facts,
        "notifications": notifications,
    })
}

fn list<T>(rows: impl IntoIterator<Item = T>, describe: impl FnMut(T) -> Value) -> Value {
    rows.into_iter().map(describe).collect()
}

fn error_code(code: &ProtocolErrorCode) -> Value {
    json!({"name": code.name, "number": code.number, "doc": text(code.doc), "remedy": code.remedy})
}

fn shape((shape, name, doc): &(Shape, &str, &[&str])) -> Value {
    json!({"name": name, "number": *shape as u8, "doc": text(doc)})
}

fn object(ty: &Type) -> Option<&'static ObjectDescription> {
    match ty {
        Type::Model(object) => Some(object),
        _ => None,
    }
}

/// The types of the model that the rest of the surface needs, in the order in which they are first
/// needed.
#[derive(Default)]
struct Models {
    all: Vec<Value>,
    seen: Vec<&'static str>,
}

impl Models {
    fn all_options(&mut self) -> Vec<Value> {
        let is_of_input = |json: &str| RequestOptions::OF_INPUT.contains(&json);
        let is_of_cache = |json: &str| RequestOptions::OF_KEPT_RESULTS.contains(&json);
        vec![
            self.options::<ServerOptions>(),
            self.options::<HttpOptions>(),
            self.options::<ClientOptions>(),
            self.request_options(RequestOptions::OBJECT.name, "Options of one request.", |json| {
                !is_of_input(json) && !is_of_cache(json)
            }),
            self.request_options(
                "InputOptions",
                "Options of a request whose input the caller supplies itself (2026-07-28).",
                is_of_input,
            ),
            self.request_options(
                "CacheOptions",
                "Options of a request whose result the client may cache.",
                is_of_cache,
            ),
            self.options_named::<AuthConfig>(
                "AuthOptions",
                "`AuthorizationOptions`, `JwtOptions` and `StaticTokenOptions`",
            ),
            #[cfg(feature = "child-process")]
            self.options_named::<trunkline::ChildCommand>("ChildOptions", "`ChildCommand`"),
            self.options_named::<HttpEndpoint>("EndpointOptions", "`HttpEndpoint`"),
            self.options::<OAuthOptions>(),
            self.options::<ToolOptions>(),
            self.options_named::<ResourceTemplateOptions>(
                "ResourceOptions",
                "`ResourceTemplateOptions`, and without `unsafe_paths` of `ResourceOptions`",
            ),
            self.options::<PromptOptions>(),
            self.options::<SkillOptions>(),
            self.options::<DirectoryOptions>(),
            self.options::<ProxyOptions>(),
            self.options::<RequestHandlerOptions>(),
        ]
    }

    fn messages(&mut self) -> Vec<Value> {
        let mut messages: Vec<_> = message::to_core().map(|message| self.message(message, "toCore")).collect();
        for (ty, direction) in [(&AccessToken::TYPE, "body"), (&Identity::TYPE, "answer")] {
            self.shape(ty);
            messages.extend(object(ty).map(|object| self.message(object, direction)));
        }
        let replies = [
            BoundAddress::OBJECT,
            ConnectionDescription::OBJECT,
            CallDescription::OBJECT,
            VerificationDescription::OBJECT,
            HandlerMemory::OBJECT,
            ServerFeatures::OBJECT,
            PortDescription::OBJECT,
            TelemetryRecord::OBJECT,
            TelemetryMeasurements::OBJECT,
        ];
        messages.extend(replies.map(|reply| self.message(reply, "reply")));
        messages.extend(TO_HOST.iter().map(|(kind, event)| {
            let mut described = self.message(event, "toHost");
            described["number"] = (*kind as u8).into();
            described
        }));
        messages
    }

    fn options<T: Options>(&mut self) -> Value {
        self.object(T::OBJECT)
    }

    fn object(&mut self, object: &'static ObjectDescription) -> Value {
        self.record(object.name, object.doc, object.fields, |_| true)
    }

    /// Options whose structs have other names in Rust.
    fn options_named<T: Options>(&mut self, name: &str, in_rust: &str) -> Value {
        let mut options = self.options::<T>();
        options["name"] = name.into();
        options["inRust"] = in_rust.into();
        options
    }

    /// Some options of one request.
    fn request_options(&mut self, name: &str, doc: &str, wanted: impl Fn(&str) -> bool) -> Value {
        self.record(name, &[doc], RequestOptions::OBJECT.fields, |field| wanted(field.json))
    }

    fn record(
        &mut self,
        name: &str,
        doc: &[&str],
        fields: &'static [FieldDescription],
        wanted: impl Fn(&FieldDescription) -> bool,
    ) -> Value {
        let fields: Vec<Value> = fields.iter().filter(|field| wanted(field)).map(|field| self.field(field)).collect();
        json!({"name": name, "doc": text(doc), "fields": fields})
    }

    fn error(&mut self, row: &ErrorDescription) -> Value {
        let kind = row.kind;
        // Clients in Rust have no such errors.
        let own = matches!(kind, ErrorKind::Blocking | ErrorKind::Forked | ErrorKind::Internal | ErrorKind::Suspended);
        json!({
            "kind": kind.as_str(),
            "class": row.class,
            "rust": (!own).then_some(row.name),
            "cCode": kind as u8,
            "doc": text(row.doc),
            "remedy": row.remedy,
            "facts": self.fields(kind.facts()),
            // `Suspended` ends a handler that will run again, and is not an error of the package.
            "public": kind != ErrorKind::Suspended,
        })
    }

    fn message(&mut self, message: &'static ObjectDescription, direction: &str) -> Value {
        let mut described = self.object(message);
        described["direction"] = direction.into();
        described
    }

    fn operation(&mut self, row: &'static Operation) -> Value {
        let params = match &row.params {
            OperationParams::Each(fields) => self.fields(fields),
            OperationParams::Of(ty) => self.members(ty, &[]),
            OperationParams::Without(ty, without) => self.members(ty, without),
        };
        json!({
            "name": row.name,
            "doc": text(row.doc),
            "caller": match row.caller {
                Sender::Client => "client",
                Sender::Server => "handler",
            },
            "method": row.method,
            "params": params,
            "fixed": row.fixed.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>(),
            "result": row.result.as_ref().map(|ty| self.named(ty)),
            "list": row.list_member(),
            "item": row.item.as_ref().map(|ty| self.named(ty)),
            "since": row.since().map(Revision::as_str),
            "until": row.until().map(Revision::as_str),
            "progress": row.progress,
            "input": row.takes_input(),
            "kept": row.may_be_kept(),
        })
    }

    /// An operation that a host answers: its parameters are one object.
    fn answered(&mut self, row: &'static Operation) -> Value {
        let params = match &row.params {
            OperationParams::Of(ty) => self.named(ty),
            OperationParams::Each(_) | OperationParams::Without(..) => Value::Null,
        };
        json!({
            "name": row.name,
            "doc": text(row.doc),
            "method": row.method,
            "params": params,
            "result": row.result.as_ref().map(|ty| self.named(ty)),
            "since": row.since().map(Revision::as_str),
        })
    }

    /// A function of the host that belongs to a connection.
    fn host_function(&mut self, row: &'static FunctionRow) -> Value {
        let params = row.params.as_ref().map_or(Value::Null, |ty| self.named(ty));
        self.function(row, params)
    }

    /// A request that a group answers itself.
    fn group_function(&mut self, row: &'static FunctionRow) -> Value {
        let params = row.params.as_ref().map_or_else(Vec::new, |ty| self.members(ty, &[]));
        self.function(row, params.into())
    }

    fn function(&mut self, row: &'static FunctionRow, params: Value) -> Value {
        let result = row.result.as_ref().map(|ty| self.named(ty));
        json!({"name": row.name, "doc": text(row.doc), "params": params, "result": result})
    }

    /// A function of a transport or a store of the host's own. Its parameters and the members of
    /// its result are arguments and return values.
    fn spread_function(&mut self, row: &'static FunctionRow) -> Value {
        let mut members = |ty: &'static Option<Type>| {
            let object = ty.as_ref().and_then(object);
            object.map_or_else(Vec::new, |object| self.fields(object.fields))
        };
        json!({"name": row.name, "doc": text(row.doc), "params": members(&row.params), "result": members(&row.result)})
    }

    /// The members of an object, except some.
    fn members(&mut self, ty: &'static Type, without: &[&str]) -> Vec<Value> {
        let Some(object) = object(ty) else { return Vec::new() };
        let wanted = object.fields.iter().filter(|field| !without.contains(&field.json));
        wanted.map(|field| self.field(field)).collect()
    }

    /// Turns the parameters of handlers into requests: named after the request, and with the member
    /// that names the server in its group.
    fn as_requests(&mut self, host: &mut [Value]) {
        static SERVER_NAME: FieldDescription = FieldDescription {
            name: "server_name",
            json: "serverName",
            doc: &["The name of the server in its group, if it is in one."],
            ty: Type::String,
            ..FieldDescription::EMPTY
        };
        let server_name = self.field(&SERVER_NAME);
        for model in &mut self.all {
            let mut name = None;
            for (operation, row) in operation::HOST.iter().zip(&mut *host) {
                if row["params"] == model["name"] {
                    row["params"] = operation.request.into();
                    name = name.or(Some(operation.request));
                }
            }
            let Some(name) = name else { continue };
            model["name"] = name.into();
            if let Some(fields) = model["fields"].as_array_mut() {
                fields.push(server_name.clone());
            }
        }
    }

    fn notification(&mut self, row: &'static ServerNotification) -> Value {
        json!({
            "name": row.name,
            "doc": text(row.doc),
            "method": row.method,
            "params": row.params.as_ref().map(|ty| self.named(ty)),
        })
    }

    fn fields(&mut self, fields: &'static [FieldDescription]) -> Vec<Value> {
        fields.iter().map(|field| self.field(field)).collect()
    }

    fn field(&mut self, field: &'static FieldDescription) -> Value {
        json!({
            "name": field.name,
            "json": field.json,
            "type": self.shape(&field.ty),
            "unit": match field.ty {
                Type::Duration => Some(Unit::Milliseconds),
                _ => field.unit,
            },
            "limit": field.limit,
            "presence": field.presence,
            "default": field.default.map(|default| default()),
            "doc": text(field.doc),
            "since": field.span.map(|(since, _)| since).filter(|since| *since > Revision::ALL[0]).map(Revision::as_str),
            "until": field.span.map(|(_, until)| until).filter(|until| *until < Revision::LATEST).map(Revision::as_str),
        })
    }

    /// The name of a type of the model.
    fn named(&mut self, ty: &'static Type) -> Value {
        self.shape(ty).get("model").cloned().unwrap_or_default()
    }

    fn shape(&mut self, ty: &'static Type) -> Value {
        match ty {
            Type::String => json!("string"),
            Type::Boolean => json!("boolean"),
            Type::Integer => json!("integer"),
            Type::Number => json!("number"),
            Type::Json => json!("json"),
            Type::Object => json!("object"),
            Type::Duration => json!("duration"),
            Type::OrFalse(inner) => json!({"orFalse": self.shape(inner)}),
            Type::OneOf(values) => json!({"values": values}),
            Type::OneOrList(inner) => json!({"oneOrList": self.shape(inner)}),
            Type::List(inner) => json!({"list": self.shape(inner)}),
            Type::Map(inner) => json!({"map": self.shape(inner)}),
            Type::Model(object) => self.model(object.name, |models| {
                json!({
                    "name": object.name,
                    "doc": text(object.doc),
                    "type": object.tag,
                    "fields": models.fields(object.fields),
                })
            }),
            Type::Values(values) => self.model(values.name, |_| {
                let docs = values.values.iter().map(|(value, doc)| ((*value).to_owned(), text(doc).into()));
                json!({
                    "name": values.name,
                    "doc": text(values.doc),
                    "values": values.values.iter().map(|(value, _)| *value).collect::<Vec<_>>(),
                    "valueDocs": docs.collect::<Map<_, _>>(),
                    "open": values.open,
                })
            }),
            Type::Union(union) => self.model(union.name, |models| {
                let variants = union.variants.iter();
                json!({
                    "name": union.name,
                    "doc": text(union.doc),
                    "tag": union.tag,
                    "variants": variants.map(|(tag, ty)| json!({"tag": tag, "type": models.named(ty)})).collect::<Vec<_>>(),
                    "open": union.open,
                })
            }),
        }
    }

    /// Adds a type of the model once, after the types that it needs itself.
    fn model(&mut self, name: &'static str, describe: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.seen.contains(&name) {
            self.seen.push(name);
            let described = describe(self);
            self.all.push(described);
        }
        json!({"model": name})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(surface: &'a Value, list: &str, name: &str) -> &'a Value {
        surface[list].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
    }

    #[test]
    fn models_are_there_once_and_behind_what_they_need() {
        let surface = surface();
        let names: Vec<_> = surface["models"].as_array().unwrap().iter().map(|model| &model["name"]).collect();
        let place = |name: &str| {
            assert_eq!(names.iter().filter(|found| **found == name).count(), 1, "{name}");
            names.iter().position(|found| **found == name).unwrap()
        };
        assert!(place("TextContent") < place("ContentBlock"));
        assert!(place("ContentBlock") < place("CallToolResult"));
    }

    #[test]
    fn fields_know_their_revisions() {
        let surface = surface();
        let tool = named(&surface, "models", "Tool");
        let field = |name: &str| tool["fields"].as_array().unwrap().iter().find(|field| field["json"] == name).unwrap();
        assert_eq!(
            (&field("execution")["since"], &field("execution")["until"]),
            (&json!("2025-11-25"), &json!("2025-11-25"))
        );
        assert_eq!((&field("name")["since"], &field("name")["until"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn documentation_is_there_and_has_no_words_of_this_library_alone() {
        fn check(value: &Value, at: &str) {
            match value {
                Value::Object(members) => {
                    for (name, member) in members {
                        if name == "doc" {
                            let doc = member.as_str().unwrap();
                            assert!(!doc.trim().is_empty(), "{at} has no documentation");
                            assert!(!doc.contains("[`") && !doc.contains("Self::"), "{at}: {doc}");
                        }
                        check(member, &format!("{at}/{name}"));
                    }
                }
                Value::Array(items) => {
                    for item in items {
                        let name = item["name"].as_str().unwrap_or_default();
                        check(item, &format!("{at}/{name}"));
                    }
                }
                _ => {}
            }
        }
        check(&surface(), "");
    }
}
