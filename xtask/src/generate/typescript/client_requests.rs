//! The requests of a handler to its client: functions that make them as values, and the methods of
//! the context.

use super::{facts, literals, model_of, names_word, readonly, tagged, typed};
use crate::generate::surface::{Caller, Field, Operation, Presence, Surface, Type};
use crate::generate::text::{camel, pascal};

/// The model in whose place users give a schema, and the message for which a string may stand.
const FORM: &str = "FormSchema";
const MESSAGE: &str = "SamplingMessage";
/// The result that is generic over the values of a form.
const ANSWER: &str = "ElicitResult";

const ROUNDS: &str = "The same code serves all revisions. From 2026-07-28 on, a client responds by sending its request again: \
    this rejects, which ends the handler without a failure, and the handler runs again from the top and gets the response \
    here. Side effects before it belong in `once`. A client that lacks the capability, or cannot be reached from this call, \
    is a {@link ProtocolError} at once.";

/// The file of functions and of the class that the context extends.
pub(super) fn render(surface: &Surface) -> String {
    let rows: Vec<Request> = surface
        .operations
        .iter()
        .filter(|row| row.caller == Caller::Handler)
        .map(|row| Request { row, surface })
        .collect();
    let mut body = String::new();
    for row in &rows {
        body.push('\n');
        body.push_str(&row.function());
    }
    body.push_str(
        "
/** Sends the requests of a handler. */
export interface ClientRequestSender {
  /** Gives the result, or one member of it. */
  send(request: InputRequest, options: ClientRequestOptions, member?: string): Promise<unknown>;
  sendForm<S extends Schema>(message: string, schema: S, options: ClientRequestOptions): Promise<ElicitResult<FormContent<S>>>;
}

/** The requests of a handler to its client, one method each, and the facts about its call. */
export abstract class ClientRequests {
  readonly #sender: ClientRequestSender;

  /** @internal */
  constructor(sender: ClientRequestSender) {
    this.#sender = sender;
  }
",
    );
    let call = facts::facts(&surface.facts, "CallDescription");
    body.push_str(&call.map(facts::getters).unwrap_or_default());
    for row in &rows {
        body.push('\n');
        body.push_str(&row.method());
    }
    body.push_str("}\n\n");
    body.push_str(&call.map(facts::interface).unwrap_or_default());
    let mut used: Vec<&str> = rows
        .iter()
        .flat_map(|request| {
            let fields = request.row.params.iter().filter_map(|field| model_of(&field.ty));
            let result = match request.only_list() {
                Some((_, item)) => Some(item),
                None => request.row.result.as_deref(),
            };
            fields.chain(result)
        })
        .chain(rows.iter().map(|request| request.row).filter(|row| super::in_object(row)).map(|_| "SampleParams"))
        .chain(call.into_iter().flat_map(facts::models))
        .chain(["JsonObject"])
        .filter(|name| *name != ANSWER && names_word(&body, name))
        .collect();
    used.sort_unstable();
    used.dedup();
    format!(
        "import {{ conversation, formSchema, type ElicitResult, type ElicitUrlResult, type FormContent }} from \
         \"../client-requests.js\";\nimport type {{ ClientRequestOptions }} from \"../requests.js\";\nimport type {{ Schema }} from \
         \"../schema/convert.js\";\nimport type {{ {} }} from \"./model.js\";\nimport {{ methods, type InputRequest }} from \
         \"./operations.js\";\n{body}",
        used.join(", ")
    )
}

/// The type of a request that a handler makes or returns.
pub(super) fn request_type(rows: &[&Operation]) -> String {
    let mut methods: Vec<String> = rows.iter().map(|row| row.method.clone()).collect();
    methods.dedup();
    format!(
        "\n/** A request to the client, for an {{@link InputRequired}}. */\nexport interface InputRequest {{\n  /** The \
         method. */\n  readonly method: {};\n  /** Its parameters. */\n  readonly params?: JsonObject;\n}}\n",
        literals(&methods)
    )
}

/// An operation of a handler.
struct Request<'a> {
    row: &'a Operation,
    surface: &'a Surface,
}

impl Request<'_> {
    fn function(&self) -> String {
        let name = camel(&self.row.name);
        let mut members: Vec<String> = self.row.fixed.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        for field in self.params() {
            let argument = argument(field);
            let value = match field {
                _ if is_form(field) => "formSchema(schema)".to_owned(),
                _ if is_messages(field) => format!("conversation({argument})"),
                _ if is_url(field) => format!("String({argument})"),
                _ => argument.to_owned(),
            };
            members.push(if value == field.json { value } else { format!("{}: {value}", field.json) });
        }
        for field in self.optional() {
            members.push(format!("...({0} !== undefined && {{ {0} }})", field.json));
        }
        if super::in_object(self.row) {
            members.insert(0, "...params".to_owned());
        }
        let params = if members.is_empty() { String::new() } else { format!(", params: {{ {} }}", members.join(", ")) };
        let mut docs = vec![format!("{} The response is {}.", self.row.doc, self.response())];
        docs.extend(self.docs());
        let mut signature = self.signature("Schema");
        let optional: Vec<&str> = self.optional().map(|field| field.json.as_str()).collect();
        if !optional.is_empty() {
            signature.push(format!("{{ {} }}: {{ {} }} = {{}}", optional.join(", "), self.optional_types()));
        }
        tagged("", &docs)
            + &format!(
                "export function {name}({}): InputRequest {{\n  return {{ method: methods.{name}{params} }};\n}}\n",
                signature.join(", ")
            )
    }

    fn method(&self) -> String {
        let name = camel(&self.row.name);
        let mut docs = vec![format!("{}\n\n{ROUNDS}", self.row.doc)];
        docs.extend(self.docs());
        docs.push(super::FAILURE.to_owned());
        let mut arguments: Vec<&str> = self.params().map(argument).collect();
        if super::in_object(self.row) {
            arguments.push("params");
        }
        if self.optional().next().is_some() {
            arguments.push("options");
        }
        let mut signature = self.signature("S");
        let options = match self.optional().next() {
            Some(_) => format!("ClientRequestOptions & {{ {} }}", self.optional_types()),
            None => "ClientRequestOptions".to_owned(),
        };
        signature.push(format!("options: {options} = {{}}"));
        let member = self.only_list().map(|(list, _)| format!(", \"{list}\"")).unwrap_or_default();
        let request = format!("this.#sender.send({name}({}), options{member})", arguments.join(", "));
        let (generic, answer, body) = match (self.row.result.as_deref(), self.only_list()) {
            (_, Some((_, item))) => ("", format!("{item}[]"), request),
            (Some(ANSWER), _) if self.has_form() => (
                "<S extends Schema>",
                format!("{ANSWER}<FormContent<S>>"),
                format!("this.#sender.sendForm({}, options)", arguments.join(", ")),
            ),
            (Some(ANSWER), _) => ("", format!("{}Result", pascal(&self.row.name)), request),
            (result, _) => ("", result.unwrap_or("void").to_owned(), request),
        };
        let cast = if generic.is_empty() { format!(" as Promise<{answer}>") } else { String::new() };
        tagged("  ", &docs)
            + &format!(
                "  {name}{generic}({}): Promise<{answer}> {{\n    return {body}{cast};\n  }}\n",
                signature.join(", ")
            )
    }

    /// The parameters that are always there, one by one.
    fn params(&self) -> impl Iterator<Item = &Field> {
        let first = if super::in_object(self.row) { 1 } else { usize::MAX };
        self.row.params.iter().take(first).filter(|field| field.presence != Presence::Optional)
    }

    /// The few that may be absent.
    fn optional(&self) -> impl Iterator<Item = &Field> {
        let none = super::in_object(self.row);
        self.row.params.iter().filter(move |field| !none && field.presence == Presence::Optional)
    }

    fn optional_types(&self) -> String {
        let types: Vec<_> = self
            .optional()
            .map(|field| format!("{}?: {} | undefined", field.json, typed(&self.row.name, field)))
            .collect();
        types.join("; ")
    }

    fn signature(&self, schema: &str) -> Vec<String> {
        let mut signature: Vec<String> = self
            .params()
            .map(|field| {
                let ty = match field {
                    _ if is_form(field) => schema.to_owned(),
                    _ if is_messages(field) => format!("string | {MESSAGE} | readonly {MESSAGE}[]"),
                    _ if is_url(field) => "string | URL".to_owned(),
                    _ => readonly(&typed(&self.row.name, field)),
                };
                format!("{}: {ty}", argument(field))
            })
            .collect();
        if super::in_object(self.row) {
            signature.push(format!("params: {}", super::params_name(self.row)));
        }
        signature
    }

    /// The documentation of the parameters.
    fn docs(&self) -> Vec<String> {
        self.params()
            .map(|field| {
                let more = match field {
                    _ if is_form(field) => " A JSON Schema or a Standard Schema.",
                    _ if is_messages(field) => " A string is a message of the user.",
                    _ => "",
                };
                format!("@param {} {}{more}", argument(field), field.doc)
            })
            .collect()
    }

    fn response(&self) -> String {
        match (self.row.result.as_deref(), self.has_form()) {
            (Some(ANSWER), false) => format!("an {{@link {}Result}}", pascal(&self.row.name)),
            (Some(ANSWER), true) => format!("an {{@link {ANSWER}}}"),
            (result, _) if self.only_list().is_some() => format!("a `{}`", result.unwrap_or_default()),
            (result, _) => format!("a {{@link {}}}", result.unwrap_or_default()),
        }
    }

    fn has_form(&self) -> bool {
        self.row.params.iter().any(is_form)
    }

    /// The member that is all that the result says.
    fn only_list(&self) -> Option<(&str, &str)> {
        self.surface.object(self.row.result.as_deref()?)?.only_list()
    }
}

fn is_form(field: &Field) -> bool {
    field.ty == Type::Model(FORM.into())
}

fn is_messages(field: &Field) -> bool {
    field.ty == Type::List(Box::new(Type::Model(MESSAGE.into())))
}

fn is_url(field: &Field) -> bool {
    field.json == "url"
}

fn argument(field: &Field) -> &str {
    if is_form(field) { "schema" } else { super::argument(field) }
}
