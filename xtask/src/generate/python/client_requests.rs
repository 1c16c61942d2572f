//! The requests of a handler to its client: functions that make them as values, and methods of the
//! context that send them.

use std::fmt::Write as _;

use super::{PROSE, given, to_sync};
use crate::generate::surface::{Caller, Field, Operation, Presence, Surface, Type};
use crate::generate::text::{pascal, wrapped};

/// The model whose values Python makes of a class or a JSON Schema.
const FORM: &str = "FormSchema";
/// The model of a list for which Python takes a text, too.
const MESSAGE: &str = "SamplingMessage";
/// The result that is generic over the values of a form.
const ANSWER: &str = "ElicitResult";

const FORM_DOC: &str = "A dataclass, TypedDict or pydantic model, or a JSON Schema.";
const MESSAGES_DOC: &str = "A text is a message of the user.";
const ROUNDS: &str = "The same code serves all revisions. Where the client is asked by rounds (2026-07-28), the handler ends \
    here and is called again from the top when the answer is there: an effect before a request belongs in `once`.";

/// The functions; and the methods, for handlers made with `async def` and with `def`.
pub(super) fn render(surface: &Surface) -> [(&'static str, &'static str, String); 3] {
    let rows: Vec<Request> = surface
        .operations
        .iter()
        .filter(|row| row.caller == Caller::Handler)
        .map(|row| Request { row, surface })
        .collect();
    let (functions, methods) = (functions(&rows), methods(&rows));
    let sync = to_sync(&methods, "");
    [
        ("client_requests/_generated/requests.py", "Requests of a handler to its client, as values.", functions),
        ("context/_generated/client_requests.py", "Requests of `async def` handlers to their client.", methods),
        ("context/_generated/sync_client_requests.py", "Requests of `def` handlers to their client.", sync),
    ]
}

/// An operation of a handler.
struct Request<'a> {
    row: &'a Operation,
    surface: &'a Surface,
}

impl Request<'_> {
    fn name(&self) -> &str {
        &self.row.name
    }

    /// The parameters that are named one by one; the optional ones of a long list come as keywords
    /// of a `TypedDict`.
    fn params(&self) -> impl Iterator<Item = &Field> {
        let many = self.has_options();
        self.row.params.iter().filter(move |field| !many || field.presence != Presence::Optional)
    }

    fn has_options(&self) -> bool {
        self.row.params.len() > 3
    }

    fn has_form(&self) -> bool {
        self.row.params.iter().any(is_form)
    }

    /// The member that is all that the result says.
    fn only_list(&self) -> Option<(&str, &str)> {
        self.surface.object(self.row.result.as_deref()?)?.only_list()
    }

    /// The type of the answer, with a form filled in as `form`.
    fn answer(&self, form: &str) -> String {
        match (self.row.result.as_deref(), self.only_list()) {
            (_, Some((_, item))) => format!("list[{item}]"),
            (Some(ANSWER), _) if self.has_form() => format!("{ANSWER}[{form}]"),
            (Some(ANSWER), _) => format!("{ANSWER}[None]"),
            (result, _) => result.unwrap_or("None").to_owned(),
        }
    }

    /// The parameters of a function, with a form of the type `form`; `more` are keywords at the
    /// end.
    fn signature(&self, form: &str, more: &[&str]) -> String {
        let (mut positional, mut keywords) = (Vec::new(), Vec::new());
        for field in self.params() {
            let (name, ty) = (parameter(field), typed(field, form));
            match field.presence {
                Presence::Optional => keywords.push(format!("{name}: {ty} | None = None")),
                _ if self.has_options() && !positional.is_empty() => keywords.push(format!("{name}: {ty}")),
                _ => positional.push(format!("{name}: {ty}")),
            }
        }
        keywords.extend(more.iter().map(|&keyword| keyword.to_owned()));
        if !keywords.is_empty() {
            positional.push("*".into());
            positional.append(&mut keywords);
        }
        if self.has_options() {
            positional.push(format!("**options: Unpack[{}Options]", pascal(self.name())));
        }
        positional.join(", ")
    }

    /// The arguments that hand a method's parameters to its function.
    fn arguments(&self) -> String {
        let mut arguments = Vec::new();
        for field in self.params() {
            let name = parameter(field);
            let by_keyword = field.presence == Presence::Optional || (self.has_options() && !arguments.is_empty());
            arguments.push(if by_keyword { format!("{name}={name}") } else { name.to_owned() });
        }
        if self.has_options() {
            arguments.push("**options".into());
        }
        arguments.join(", ")
    }

    fn members(&self) -> String {
        let mut members: Vec<String> =
            self.row.fixed.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        for field in self.params() {
            let value = match field {
                _ if is_form(field) => "form.schema".to_owned(),
                _ if is_messages(field) => format!("messages_of({})", parameter(field)),
                _ => parameter(field).to_owned(),
            };
            members.push(format!("\"{}\": {value}", field.json));
        }
        if self.has_options() {
            members.push(format!("**encoded({}_OPTIONS, options)", self.name().to_uppercase()));
        }
        members.join(", ")
    }

    /// A docstring with the arguments; `rounds`: of a method that sends the request.
    fn doc(&self, indent: &str, rounds: bool) -> String {
        let mut arguments: Vec<(String, String)> = self
            .params()
            .map(|field| {
                let more = if is_form(field) {
                    FORM_DOC
                } else if is_messages(field) {
                    MESSAGES_DOC
                } else {
                    ""
                };
                (parameter(field).to_owned(), format!("{} {more}", field.doc).trim().to_owned())
            })
            .collect();
        let mut text = self.row.doc.clone();
        if rounds {
            text += "\n\n";
            text += ROUNDS;
            let key = "The request that the answer belongs to (default: requests of a kind are counted).";
            arguments.push(("key".into(), key.into()));
            arguments
                .push(("timeout".into(), "Seconds for the answer (default: the server's `input_timeout`).".into()));
        }
        if self.has_options() {
            arguments.push(("options".into(), format!("See `{}Options`.", pascal(self.name()))));
        }
        let mut doc = format!("{indent}\"\"\"");
        for (index, line) in wrapped(&text, PROSE - indent.len()).iter().enumerate() {
            let lead = if index == 0 || line.is_empty() { "" } else { indent };
            let _ = writeln!(doc, "{lead}{line}");
        }
        if !arguments.is_empty() {
            let _ = write!(doc, "\n{indent}Args:\n");
        }
        for (name, text) in arguments {
            for (index, line) in wrapped(&format!("{name}: {text}"), PROSE - 2 - indent.len()).iter().enumerate() {
                let _ = writeln!(doc, "{indent}    {}{line}", if index == 0 { "" } else { "    " });
            }
        }
        if rounds {
            let _ = write!(
                doc,
                "\n{indent}Raises:\n{indent}    ProtocolError: The client cannot be asked, or refuses.\n{indent}    \
                 TimeoutError: No answer came in time.\n{indent}    ClosedError: The client is gone, or the call is \
                 answered already.\n"
            );
        } else if doc.lines().count() == 1 {
            return format!("{}\"\"\"\n", doc.trim_end());
        }
        doc + indent + "\"\"\"\n"
    }
}

fn is_form(field: &Field) -> bool {
    field.ty == Type::Model(FORM.into())
}

fn is_messages(field: &Field) -> bool {
    field.ty == Type::List(Box::new(Type::Model(MESSAGE.into())))
}

fn parameter(field: &Field) -> &str {
    if is_form(field) { "schema" } else { &field.name }
}

fn typed(field: &Field, form: &str) -> String {
    match field {
        _ if is_form(field) => form.to_owned(),
        _ if is_messages(field) => "Messages".to_owned(),
        _ => given(&field.ty),
    }
}

/// The types of a form, and of its values: of a class, of a JSON Schema, and of either.
const FORMS: [(&str, &str); 3] = [("type[T]", "T"), ("Mapping[str, Any]", "dict[str, Any]"), ("Any", "Any")];

fn functions(rows: &[Request]) -> String {
    let mut text = String::from("from collections.abc import Mapping\nfrom typing import Any, TypeVar, overload\n\n");
    text += "from ..._generated import methods\n";
    text += &models("..._generated.models", rows, |request| {
        let result = request.row.result.as_deref().filter(|result| *result != ANSWER);
        result.into_iter().chain(request.only_list().map(|(_, item)| item)).collect()
    });
    let options: Vec<_> = rows.iter().filter(|row| row.has_options()).map(Request::name).collect();
    for name in &options {
        let _ = writeln!(text, "from ..._generated.option_names import {}_OPTIONS", name.to_uppercase());
    }
    for name in &options {
        // Not for the type checker alone: `typing.get_type_hints` reads annotations.
        let _ = writeln!(text, "from ..._generated.{name}_options import {}Options", pascal(name));
    }
    text += "from ...options import Unpack, encoded\nfrom ...requests import params_of\nfrom ...schema.elicitation_forms import Form\nfrom \
             ..input_request import ElicitResult, InputRequest, Messages, messages_of, read_form\n";
    text += "\nT = TypeVar(\"T\")\n";
    for row in rows {
        let name = row.name();
        let forms = if row.has_form() { &FORMS[..] } else { &FORMS[2..] };
        for (form, values) in &forms[..forms.len() - 1] {
            let (signature, answer) = (row.signature(form, &[]), row.answer(values));
            let _ = write!(text, "\n\n@overload\ndef {name}({signature}) -> InputRequest[{answer}]: ...\n");
        }
        let answer = if row.has_form() { "Any".into() } else { row.answer("Any") };
        let _ = write!(text, "\n\ndef {name}({}) -> InputRequest[{answer}]:\n", row.signature("Any", &[]));
        text += &row.doc("    ", false);
        if row.has_form() {
            text += "    form = Form.of(schema)\n";
        }
        let read = match (row.row.result.as_deref(), row.only_list()) {
            (Some(result), Some((list, _))) => format!("lambda answer: {result}.from_json(answer).{list}"),
            (Some(ANSWER), _) => format!("read_form({})", if row.has_form() { "form" } else { "None" }),
            (result, _) => format!("{}.from_json", result.unwrap_or_default()),
        };
        let _ = writeln!(
            text,
            "    return InputRequest(methods.{}, params_of({{{}}}), {read})",
            name.to_uppercase(),
            row.members()
        );
    }
    text
}

fn methods(rows: &[Request]) -> String {
    let mut text = String::from("from collections.abc import Mapping\nfrom typing import Any, TypeVar, overload\n\n");
    text += &models("..._generated.models", rows, |request| match request.only_list() {
        Some((_, item)) => vec![item],
        None => request.row.result.as_deref().filter(|result| *result != ANSWER).into_iter().collect(),
    });
    for name in rows.iter().filter(|row| row.has_options()).map(Request::name) {
        let _ = writeln!(text, "from ..._generated.{name}_options import {}Options", pascal(name));
    }
    text += "from ...calls import AsyncCall\nfrom ...client_requests._generated import requests\nfrom ...client_requests.input_request import ElicitResult, InputRequest, Messages\nfrom ...options import Unpack\nfrom ...requests import read_answer\n\nT = TypeVar(\"T\")\n";
    text += "\n\nclass AsyncClientRequests(AsyncCall):\n    \"\"\"The requests of a handler to its client, one method each.\"\"\"\n\n    __slots__ = ()\n";
    let more = ["key: str | None = None", "timeout: float | None = None"];
    for row in rows {
        let name = row.name();
        let forms = if row.has_form() { &FORMS[..] } else { &FORMS[2..] };
        for (form, values) in &forms[..forms.len() - 1] {
            let (signature, answer) = (row.signature(form, &more), row.answer(values));
            let _ = write!(text, "\n    @overload\n    async def {name}(self, {signature}) -> {answer}: ...\n");
        }
        let signature = row.signature("Any", &more);
        let _ = write!(text, "\n    async def {name}(self, {signature}) -> {}:\n", row.answer("Any"));
        text += &row.doc("        ", true);
        let _ = writeln!(text, "        return await self._ask(requests.{name}({}), key, timeout)", row.arguments());
    }
    text + "\n    async def _ask(self, request: InputRequest[T], key: str | None, timeout: float | None) -> T:\n        \
            return read_answer(request.method, request.read, await self._request(self._request_of(request, key, timeout)))\n"
}

fn models<'a>(module: &str, rows: &'a [Request], of: impl Fn(&'a Request<'a>) -> Vec<&'a str>) -> String {
    let mut names: Vec<&str> = rows.iter().flat_map(of).collect();
    names.sort_unstable();
    names.dedup();
    format!("from {module} import {}\n", names.join(", "))
}
