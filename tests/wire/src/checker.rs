//! Determines the type of a message, and finds the faults in it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::catalog::{CallKind, Catalog, RequestType};
use crate::extension::{Extension, Extensions};
use crate::schema::NodeId;
use crate::walk::{check_as_one_of, condense, find_unknown_fields, validate};
use crate::{Direction, Revision, SchemaError, Violation, ViolationKind};

/// A message as sent, with what is needed to determine its type.
#[derive(Debug, Clone)]
pub struct Record {
    /// The revision that governs the message.
    pub revision: Revision,
    /// The sender and the receiver.
    pub direction: Direction,
    /// For a response: the method of the request it answers, if known. Requests and notifications
    /// carry their own.
    pub method: Option<String>,
    /// The ids of the extensions that the client declared, if known, and `tasks` for the capability
    /// of 2025-11-25. Only these are part of the closed world, if the checker knows their messages.
    /// Requests of 2026-07-28 carry their own. If methods or results may belong to an unknown
    /// extension, only the JSON-RPC envelope is checked.
    pub extensions: Option<Vec<String>>,
    /// The message, or a batch of them.
    pub message: Value,
}

/// Checks messages of all revisions. It compiles each schema once and can be shared between
/// threads.
pub struct Checker {
    catalogs: Catalogs,
}

type Catalogs = BTreeMap<(Revision, Extensions), Catalog>;

impl Checker {
    /// A checker for all revisions and extensions.
    ///
    /// # Errors
    /// If a bundled schema is broken.
    pub fn new() -> Result<Self, SchemaError> {
        let choices = |revision| Extension::choices(revision).into_iter().map(move |choice| (revision, choice));
        let load = |(revision, choice): (Revision, Extensions)| {
            Ok(((revision, choice.clone()), Catalog::load(revision, choice)?))
        };
        Ok(Self { catalogs: Revision::ALL.into_iter().flat_map(choices).map(load).collect::<Result<_, _>>()? })
    }

    /// All faults of the message; empty if it is valid.
    pub fn check(&self, record: &Record) -> Vec<Violation> {
        let catalog = &self.catalogs[&(record.revision, Extension::of(record))];
        let mut check = Check { catalogs: &self.catalogs, catalog, record, found: Vec::new() };
        match &record.message {
            Value::Object(message) => check.message(&record.message, message),
            Value::Array(messages) => check.batch(messages),
            other => check.no_message("", format!("{other} is not a JSON-RPC message")),
        }
        condense(check.found)
    }
}

struct Check<'a> {
    catalogs: &'a Catalogs,
    catalog: &'a Catalog,
    record: &'a Record,
    found: Vec<Violation>,
}

impl Check<'_> {
    fn batch(&mut self, messages: &[Value]) {
        if !self.catalog.batches {
            return self.no_message("", format!("{} has no batches", self.record.revision));
        }
        if messages.is_empty() {
            return self.no_message("", "a batch is not empty");
        }
        let responses = messages.iter().filter(|message| message.get("method").is_none()).count();
        if responses != 0 && responses != messages.len() {
            self.no_message("", "a batch holds either responses or requests and notifications, not both");
        }
        for (index, value) in messages.iter().enumerate() {
            let outer = std::mem::take(&mut self.found);
            match value {
                Value::Object(message) if message.get("method") == Some(&json!("initialize")) => {
                    self.no_message("", "initialize is never part of a batch");
                }
                Value::Object(message) => self.message(value, message),
                other => self.no_message("", format!("{other} is not a JSON-RPC message")),
            }
            let inner = std::mem::replace(&mut self.found, outer);
            self.found.extend(inner.into_iter().map(|violation| violation.below(&format!("/{index}"))));
        }
    }

    fn message(&mut self, value: &Value, message: &Map<String, Value>) {
        match (message.get("method"), message.get("result"), message.get("error")) {
            (Some(Value::String(method)), ..) if message.contains_key("id") => {
                self.call(value, method, CallKind::Request);
            }
            (Some(Value::String(method)), ..) => self.call(value, method, CallKind::Notification),
            (Some(other), ..) => self.no_message("/method", format!("{other} is not a method")),
            (None, Some(result), _) => self.result(value, message, result),
            (None, None, Some(_)) => self.error(value, message),
            (None, None, None) => self.no_message("", "neither a request, a notification nor a response"),
        }
    }

    fn call(&mut self, value: &Value, method: &str, kind: CallKind) {
        let envelope = self.catalog.envelopes.of(kind);
        self.validate(envelope, value);
        match self.catalog.sender(self.record.direction).call(kind, method) {
            Some(known) => {
                self.validate(known, value);
                find_unknown_fields(self.catalog, value, &[known, envelope], "", &mut self.found);
            }
            None if self.may_be_of_an_extension() => {
                find_unknown_fields(self.catalog, value, &[envelope], "", &mut self.found);
            }
            None if is_of_vendor(method) => {}
            None => self.unknown_method("/method", method, self.record.direction, kind),
        }
    }

    fn result(&mut self, value: &Value, message: &Map<String, Value>, result: &Value) {
        let envelope = self.catalog.envelopes.result;
        self.validate(envelope, value);
        self.unknown_response_fields(message, envelope);
        let may_be_of_an_extension = self.may_be_of_an_extension();
        let asker = self.record.direction.opposite();
        let types = match &self.record.method {
            None => &self.catalog.sender(self.record.direction).results,
            Some(method) => match self.catalog.sender(asker).requests.get(method) {
                Some(RequestType { results, .. }) => results,
                None if may_be_of_an_extension || is_of_vendor(method) => return,
                None => return self.unknown_method("/result", method, asker, CallKind::Request),
            },
        };
        let mut wrong = Vec::new();
        check_as_one_of(self.catalog, result, types, "/result", &mut wrong);
        // Extensions name their own kinds of result there.
        let kind = result.get("resultType").and_then(Value::as_str);
        let names_its_type = kind.is_some_and(|kind| !["complete", "input_required", "task"].contains(&kind));
        if !(may_be_of_an_extension && names_its_type) {
            self.found.append(&mut wrong);
        }
    }

    fn error(&mut self, value: &Value, message: &Map<String, Value>) {
        let envelope = self.catalog.envelopes.error;
        let code = value.pointer("/error/code").and_then(Value::as_i64);
        let types = [Some(envelope), code.and_then(|code| self.catalog.errors.get(&code).copied())];
        // An error about a request whose id could not be read has none; only the newer schemas
        // allow that.
        let readable = message.contains_key("id").then(|| value.clone());
        let readable = readable.unwrap_or_else(|| {
            let mut message = message.clone();
            message.insert("id".into(), json!(0));
            Value::Object(message)
        });
        types.into_iter().flatten().for_each(|id| self.validate(id, &readable));
        find_unknown_fields(self.catalog, value, &[envelope], "", &mut self.found);
    }

    fn validate(&mut self, id: NodeId, value: &Value) {
        validate(&self.catalog.schema, id, value, "", &mut self.found);
    }

    fn unknown_response_fields(&mut self, message: &Map<String, Value>, envelope: NodeId) {
        let is_declared = |name: &str| self.catalog.schema.property(envelope, name).is_some();
        for name in message.keys().filter(|name| !is_declared(name)) {
            let problem = format!("\"{name}\" is not defined for a response in {}", self.record.revision);
            self.found.push(Violation::new(ViolationKind::UnknownField, format!("/{name}"), problem));
        }
    }

    fn unknown_method(&mut self, pointer: &str, method: &str, sender: Direction, kind: CallKind) {
        let has_it = |catalog: &&Catalog| catalog.sender(sender).call(kind, method).is_some();
        let having: Vec<&Catalog> = self.catalogs.values().filter(has_it).collect();
        let mut with_it = Vec::new();
        for revision in Revision::ALL {
            let group = having.iter().filter(|catalog| catalog.revision == revision);
            match group.map(|catalog| &catalog.extensions).min_by_key(|extensions| extensions.len()) {
                None => {}
                Some(extensions) if extensions.is_empty() => with_it.push(revision.to_string()),
                Some(extensions) => {
                    let ids: Vec<_> = extensions.iter().map(|extension| extension.id()).collect();
                    with_it.push(format!("{revision} with {}", ids.join(" and ")));
                }
            }
        }
        let elsewhere = match with_it.as_slice() {
            [] => "no revision does".to_owned(),
            some => format!("only {} do", some.join(", ")),
        };
        let party = sender.sender().to_lowercase();
        let problem = format!("{} gives a {party} no \"{method}\" to send; {elsewhere}", self.record.revision);
        self.found.push(Violation::new(ViolationKind::UnknownMethod, pointer, problem));
    }

    fn may_be_of_an_extension(&self) -> bool {
        self.record.extensions.iter().flatten().any(|id| Extension::is_foreign(id))
    }

    fn no_message(&mut self, pointer: &str, problem: impl Into<String>) {
        self.found.push(Violation::new(ViolationKind::NoMessage, pointer, problem));
    }
}

/// Vendors prefix their methods with a reversed domain; no method of the protocol has a dot.
fn is_of_vendor(method: &str) -> bool {
    method.contains('.')
}
