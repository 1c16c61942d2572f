//! The surface as data: all that packages of other languages show of this library.
//!
//! `cargo xtask generate` prints it with the program `surface` and writes those parts of the
//! packages that follow from it. Each thing is declared where it is used; this module collects.

use crate::{
    ErrorKind,
    calls::verifications::AccessToken,
    description::{
        CallDescription, ConnectionDescription, HandlerMemory, PortDescription, ServerFeatures, VerificationDescription,
    },
    events,
    host::{authorization, channel, function::HostFunctionRow, store},
    message::{self, Request},
    open::{
        endpoint_auth::AuthConfig,
        groups::{self, GroupOperation},
    },
    requests::skills,
    telemetry::{TelemetryMeasurements, TelemetryRecord},
};
use serde_json::{Map, Value, json};
use trunkline::protocol::{
    Revision,
    describe::{Described, FieldDescription, ObjectDescription, Type, Unit},
    error::{CODES, ProtocolErrorCode, code},
    method::Sender,
    model::{Change, SubscriptionFilter},
    operation::{self, Operation, OperationParams, ServerNotification},
    options::Options,
    project::field_span,
};
use trunkline::{
    ChildCommand, ClientOptions, HttpOptions, ProxyOptions, RequestOptions, ServerOptions,
    auth::{Identity, OAuthOptions},
    bridge_support::BoundAddress,
    server::{
        DirectoryOptions, PromptOptions, RequestHandlerOptions, ResourceTemplateOptions, SkillOptions, ToolOptions,
    },
    transport::HttpEndpoint,
};

mod prose;

use prose::text;

/// The surface as JSON.
pub fn surface() -> Value {
    let mut models = Models::default();
    models.seen.extend(["ServerOptions", "HttpOptions", "ClientOptions", "OAuthOptions"]);
    let options = vec![
        models.options::<ServerOptions>(),
        models.options::<HttpOptions>(),
        models.options::<ClientOptions>(),
        models.request_options(RequestOptions::OBJECT.name, "Options of one request.", |json| {
            !RequestOptions::OF_INPUT.contains(&json) && !RequestOptions::OF_KEPT_RESULTS.contains(&json)
        }),
        models.request_options(
            "InputOptions",
            "Options of a request whose input the caller supplies itself (2026-07-28).",
            |json| RequestOptions::OF_INPUT.contains(&json),
        ),
        models.request_options("CacheOptions", "Options of a request whose result the client may cache.", |json| {
            RequestOptions::OF_KEPT_RESULTS.contains(&json)
        }),
        models.options_named::<AuthConfig>("AuthOptions", "`AuthorizationOptions` and `JwtOptions`"),
        models.options_named::<ChildCommand>("ChildOptions", "`ChildCommand`"),
        models.options_named::<HttpEndpoint>("EndpointOptions", "`HttpEndpoint`"),
        models.options::<OAuthOptions>(),
        models.options::<ToolOptions>(),
        models.options_named::<ResourceTemplateOptions>(
            "ResourceOptions",
            "`ResourceTemplateOptions`, and without `unsafe_paths` of `ResourceOptions`",
        ),
        models.options::<PromptOptions>(),
        models.options::<SkillOptions>(),
        models.options::<DirectoryOptions>(),
        models.options::<ProxyOptions>(),
        models.options::<RequestHandlerOptions>(),
    ];
    let mut messages: Vec<Value> = message::TO_CORE.iter().map(|message| models.message(message, "toCore")).collect();
    messages.push(models.message(Request::OBJECT, "toCore"));
    for (object, direction) in [(&AccessToken::TYPE, "body"), (&Identity::TYPE, "answer")] {
        models.shape(object);
        if let Type::Model(object) = object {
            messages.push(models.message(object, direction));
        }
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
    messages.extend(replies.map(|reply| models.message(reply, "reply")));
    messages.extend(events::TO_HOST.iter().map(|(kind, event)| {
        let mut described = models.message(event, "toHost");
        described["number"] = (*kind as u8).into();
        described
    }));
    let operations: Vec<Value> = operation::CLIENT
        .iter()
        .chain(skills::OPERATIONS)
        .chain(operation::HANDLER)
        .map(|row| models.operation(row))
        .collect();
    let facts = [CallDescription::OBJECT, ConnectionDescription::OBJECT, VerificationDescription::OBJECT]
        .map(|object| models.record(object.name, object.doc, object.fields, |_| true));
    let mut host: Vec<Value> = operation::HOST.iter().map(|row| models.answered(&row.operation)).collect();
    models.as_requests(&mut host);
    host.extend(authorization::FUNCTIONS.iter().map(|row| models.host_function(row)));
    let channel: Vec<Value> = channel::FUNCTIONS.iter().map(|row| models.channel_function(row)).collect();
    let store: Vec<Value> = store::FUNCTIONS.iter().map(|row| models.channel_function(row)).collect();
    // Subscriptions are not a protocol method: each language has a few lines of its own for these.
    let _ = [&SubscriptionFilter::TYPE, &Change::TYPE].map(|ty| models.named(ty));
    let notifications: Vec<Value> = operation::NOTIFICATIONS.iter().map(|row| models.notification(row)).collect();
    let group: Vec<Value> = groups::OPERATIONS.iter().map(|row| models.group_operation(row)).collect();
    let mut kinds = ErrorKind::ALL;
    kinds.sort_unstable();
    let errors: Vec<Value> = kinds.into_iter().map(|kind| models.error(kind)).collect();
    json!({
        "revisions": Revision::ALL.map(Revision::as_str),
        "errors": errors,
        "errorCodes": CODES.iter().map(error_code).collect::<Vec<_>>(),
        "codes": {"internalError": code::INTERNAL_ERROR, "invalidRequest": code::INVALID_REQUEST},
        "shapes": events::Shape::ALL.iter().map(shape).collect::<Vec<_>>(),
        "options": options,
        "messages": messages,
        "models": models.all,
        "operations": operations,
        "waistMethods": [message::NEXT, message::EXPLAIN],
        "host": host,
        "channel": channel,
        "store": store,
        "group": group,
        "facts": facts,
        "notifications": notifications,
    })
}

fn error_code(code: &ProtocolErrorCode) -> Value {
    json!({"name": code.name, "number": code.number, "doc": text(code.doc), "remedy": code.remedy})
}

fn shape((shape, name, doc): &(events::Shape, &str, &[&str])) -> Value {
    json!({"name": name, "number": *shape as u8, "doc": text(doc)})
}

/// The types of the model that the rest of the surface needs, in the order in which they are first
/// needed.
#[derive(Default)]
struct Models {
    all: Vec<Value>,
    seen: Vec<&'static str>,
}

impl Models {
    fn options<T: Options>(&mut self) -> Value {
        self.record(T::OBJECT.name, T::OBJECT.doc, T::OBJECT.fields, |_| true)
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
        let fields: Vec<Value> =
            fields.iter().filter(|field| wanted(field)).map(|field| self.field(field, None)).collect();
        json!({"name": name, "doc": text(doc), "fields": fields})
    }

    fn error(&mut self, kind: ErrorKind) -> Value {
        json!({
            "kind": kind.as_str(),
            "class": kind.class(),
            "rust": kind.rust_name(),
            "cCode": kind as u8,
            "doc": text(kind.doc()),
            "remedy": kind.remedy(),
            "facts": self.fields(kind.facts(), None),
            // It ends a handler that will run again, and is not an error of the package.
            "public": kind != ErrorKind::Suspended,
        })
    }

    fn message(&mut self, message: &'static ObjectDescription, direction: &str) -> Value {
        let mut described = self.record(message.name, message.doc, message.fields, |_| true);
        described["direction"] = direction.into();
        described
    }

    fn operation(&mut self, row: &'static Operation) -> Value {
        let params = match &row.params {
            OperationParams::Each(fields) => self.fields(fields, None),
            OperationParams::Of(Type::Model(object)) => self.fields(object.fields, Some(object)),
            OperationParams::Without(Type::Model(object), without) => {
                let wanted = object.fields.iter().filter(|field| !without.contains(&field.json));
                wanted.map(|field| self.field(field, Some(object))).collect()
            }
            OperationParams::Of(_) | OperationParams::Without(..) => Vec::new(),
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
    fn host_function(&mut self, row: &'static HostFunctionRow) -> Value {
        json!({
            "name": row.name,
            "doc": text(row.doc),
            "params": row.params.as_ref().map(|ty| self.named(ty)),
            "result": row.result.as_ref().map(|ty| self.named(ty)),
        })
    }

    /// A function of a transport or a store of the host's own. Its parameters and the members of
    /// its result are arguments and return values.
    fn channel_function(&mut self, row: &'static HostFunctionRow) -> Value {
        let mut fields = |ty: &Option<Type>| match ty {
            Some(Type::Model(object)) => self.fields(object.fields, None),
            _ => Vec::new(),
        };
        json!({"name": row.name, "doc": text(row.doc), "params": fields(&row.params), "result": fields(&row.result)})
    }

    fn group_operation(&mut self, row: &'static GroupOperation) -> Value {
        let params = match &row.params {
            Some(Type::Model(object)) => self.fields(object.fields, Some(object)),
            _ => Vec::new(),
        };
        json!({
            "name": row.name,
            "doc": text(row.doc),
            "params": params,
            "result": row.result.as_ref().map(|ty| self.named(ty)),
        })
    }

    /// Makes requests of the parameters that handlers get: under the name of the request, and with
    /// the member that names the server in its group.
    fn as_requests(&mut self, host: &mut [Value]) {
        for model in &mut self.all {
            let requests = operation::HOST.iter().zip(&mut *host).filter(|(_, row)| row["params"] == model["name"]);
            let names: Vec<&str> = requests
                .map(|(operation, row)| {
                    row["params"] = operation.request.into();
                    operation.request
                })
                .collect();
            let Some(name) = names.first() else { continue };
            model["name"] = (*name).into();
            if let Some(fields) = model["fields"].as_array_mut() {
                fields.push(json!({
                    "name": "server_name",
                    "json": "serverName",
                    "type": "string",
                    "unit": null,
                    "limit": null,
                    "presence": "optional",
                    "default": null,
                    "doc": "The name of the server in its group, if it is in one.",
                    "since": null,
                    "until": null,
                }));
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

    fn fields(&mut self, fields: &'static [FieldDescription], of: Option<&ObjectDescription>) -> Vec<Value> {
        fields.iter().map(|field| self.field(field, of)).collect()
    }

    fn field(&mut self, field: &'static FieldDescription, of: Option<&ObjectDescription>) -> Value {
        let span = of.and_then(|object| field_span(object.name, field.json));
        json!({
            "name": field.name,
            "json": field.json,
            "type": self.shape(&field.ty),
            "unit": match field.ty {
                Type::Duration => Some(Unit::Milliseconds.as_str()),
                _ => field.unit.map(Unit::as_str),
            },
            "limit": field.limit,
            "presence": field.presence.as_str(),
            "default": field.default.map(|default| default()),
            "doc": text(field.doc),
            "since": span.map(|(since, _)| since).filter(|since| *since > Revision::ALL[0]).map(Revision::as_str),
            "until": span.map(|(_, until)| until).filter(|until| *until < Revision::LATEST).map(Revision::as_str),
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
                    "fields": models.fields(object.fields, Some(object)),
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

    /// Notes a type of the model once, behind the types that it needs itself.
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
