//! Requests and notifications of servers: classes of what a handler is given, and the decorators
//! that register handlers.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{DICTS, class, docstring};
use crate::generate::surface::{Field, HostOperation, Model, Notification, ObjectModel, Presence, Surface, Type};
use crate::generate::text::pascal;

/// Notifications that reach a program in another way: with the call or the subscription that they
/// are about.
const ELSEWHERE: [&str; 2] = ["progress", "resource_updated"];

/// The model with a class of its own.
const WRITTEN_BY_HAND: &str = "ElicitResult";

const REGISTERED: &str = "Registered before connecting or after; a new handler takes the place of the one before.";
const BEFORE: &str = "Registered before connecting.";
const ASKED_FOR: &str =
    "Registered before connecting: newer servers notify only clients that asked when they connected.";

pub(super) fn render(surface: &Surface) -> String {
    let notifications = || surface.notifications.iter().filter(|row| !ELSEWHERE.contains(&row.name.as_str()));
    let mut text = String::new();
    text += &surface
        .host
        .iter()
        .map(|row| &row.params)
        .fold(Vec::<&String>::new(), |mut known, params| {
            if !known.contains(&params) {
                known.push(params);
            }
            known
        })
        .into_iter()
        .filter_map(|params| surface.object(params))
        .map(request)
        .collect::<String>();
    text += "\n\n# A result as the protocol writes it.\nResult: TypeAlias = Mapping[str, Any]\n\n";
    for row in &surface.host {
        let (variable, request) = (variable(&row.name), &row.params);
        let result = result_of(row);
        let _ = writeln!(
            text,
            "{variable} = TypeVar(\"{variable}\", bound=Callable[[{request}], Awaitable[{result}] | \
             {result}])"
        );
    }
    for row in notifications() {
        let (variable, given) = (variable(&row.name), row.params.as_deref().unwrap_or_default());
        let _ =
            writeln!(text, "{variable} = TypeVar(\"{variable}\", bound=Callable[[{given}], Awaitable[None] | None])");
    }
    text += "\n# Reads the params of a request or notification.\nRead: TypeAlias = Callable[[Any], Any]\n";
    text += "\n\nclass HostHandlers:\n    \"\"\"The handlers for what the server asks and reports. Each decorator registers a\n    \
             function, and gives it back.\n    \"\"\"\n\n    def _answer(self, operation: str, function: Callable[..., Any], read: Read) \
             -> None:\n        raise NotImplementedError\n\n    def _listen(self, method: str, function: Callable[..., Any], read: \
             Read | None) -> None:\n        raise NotImplementedError\n";
    text += &surface.host.iter().map(answered).collect::<String>();
    text += &notifications().map(notified).collect::<String>();
    imports(surface, &text) + &text
}

/// The imports of a module: the models that it names, and what belongs to all of them.
fn imports(surface: &Surface, text: &str) -> String {
    // Every second part is a docstring.
    let code = text.split("\"\"\"").step_by(2);
    let words: BTreeSet<&str> =
        code.flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric() && letter != '_')).collect();
    let elsewhere = |name: &str| name == WRITTEN_BY_HAND || text.contains(&format!("\nclass {name}("));
    let models: BTreeSet<&str> = surface.models.iter().map(name_of).collect();
    let models: Vec<&str> = models.into_iter().filter(|name| words.contains(name) && !elsewhere(name)).collect();
    format!(
        "from collections.abc import Awaitable, Callable, Mapping, Sequence\nfrom typing import Any, Literal, TypeAlias, \
         TypeVar\n\nfrom ..._generated.models import ({})\nfrom ...client_requests.input_request import {WRITTEN_BY_HAND}\n\
         from ...messages import Message\nfrom ...model.base import Model, list_of, protocol_names, string_of\n",
        models.join(", ")
    )
}

fn name_of(model: &Model) -> &str {
    match model {
        Model::Object(model) => &model.name,
        Model::Values(model) => &model.name,
        Model::Union(model) => &model.name,
    }
}

fn variable(name: &str) -> String {
    format!("_{}", pascal(name))
}

fn result_of(row: &HostOperation) -> String {
    match row.result.as_deref() {
        Some("ElicitResult") => "ElicitResult[Any] | Result".into(),
        Some(other) => format!("{other} | Result"),
        None => "None".into(),
    }
}

/// The class of the parameters of a request.
fn request(params: &ObjectModel) -> String {
    let fields = params.fields.iter().filter(|field| field.name != "mode").map(|field| Field {
        ty: match &field.ty {
            Type::Model(name) if name == "FormSchema" => Type::Object,
            Type::List(item) if **item == Type::Model("SamplingMessage".into()) => {
                Type::List(Box::new(Type::Model("Message".into())))
            }
            other => other.clone(),
        },
        // A conversation is never empty.
        presence: if field.name == "messages" { Presence::List } else { field.presence },
        ..field.clone()
    });
    let object =
        ObjectModel { name: params.name.clone(), doc: params.doc.clone(), tag: None, fields: fields.collect() };
    class(&object, &DICTS)
}

fn answered(row: &HostOperation) -> String {
    let HostOperation { name, doc, method, params, .. } = row;
    let when = if method.is_some() { REGISTERED } else { BEFORE };
    let doc = docstring("        ", &format!("{doc} {when}"));
    let (variable, request) = (variable(name), params);
    format!(
        "\n    def on_{name}(self, function: {variable}) -> {variable}:\n{doc}        self._answer(\"{name}\", function, \
         {request}.from_json)\n        return function\n"
    )
}

fn notified(row: &Notification) -> String {
    let Notification { name, doc, method, params } = row;
    let when = if name.ends_with("_changed") { ASKED_FOR } else { REGISTERED };
    let doc = docstring("        ", &format!("{doc} {when}"));
    let variable = variable(name);
    let read = params.as_ref().map_or_else(|| "None".to_owned(), |params| format!("{params}.from_json"));
    format!(
        "\n    def on_{name}(self, function: {variable}) -> {variable}:\n{doc}        self._listen(\"{method}\", function, \
         {read})\n        return function\n"
    )
}
