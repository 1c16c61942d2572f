//! Typed handlers: async functions whose argument type gives the input schema and whose return type the output schema.

use super::{
    AskError, CompletionEntry, CompletionTarget, InputRequired, PromptEntry, ResourceEntry, ResourceTemplateEntry,
    ToolEntry, ToolError, call::Call, context::Context, outcome::Outcome,
};
use crate::protocol::{
    RawJson, RpcError,
    model::{CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents},
};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use std::{
    any::Any,
    future::Future,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    task::Poll,
};

/// The arguments of a call as a type.
pub struct Params<T>(pub T);

/// Why a handler failed. Made by `?` from any error: a [`ToolError`] is told to the model, an [`RpcError`] becomes that JSON-RPC
/// error, and anything else is an internal failure whose detail goes to the log only.
#[derive(Debug)]
pub struct CallError(Outcome);

impl CallError {
    pub(super) fn into_outcome(self) -> Outcome {
        self.0
    }

    /// An internal failure, for errors that `?` cannot turn into one because they are no [`std::error::Error`].
    pub fn internal(detail: impl std::fmt::Display) -> Self {
        Self(Outcome::Internal(detail.to_string()))
    }
}

impl<E: std::error::Error + 'static> From<E> for CallError {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(error) = any.downcast_ref::<ToolError>() {
            return Self(Outcome::ToolError(error.message().to_owned()));
        }
        if let Some(error) = any.downcast_ref::<RpcError>() {
            return Self(Outcome::Protocol(error.clone()));
        }
        if let Some(InputRequired { requests, state }) = any.downcast_ref::<InputRequired>() {
            return Self(Outcome::InputRequired { requests: requests.clone(), state: state.clone() });
        }
        if let Some(error) = any.downcast_ref::<AskError>() {
            return Self(Outcome::Protocol(error.clone().into_rpc()));
        }
        Self(Outcome::Internal(error.to_string()))
    }
}

/// An async function that can serve a tool, resource, resource template or prompt: `(Context, Params<T>)`, `(Params<T>)`, `(Context)` or no arguments, giving
/// `Result<R, CallError>` where `R` can be JSON and has a schema.
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    note = "a handler is `|ctx: Context, Params(p): Params<T>| async move {{ Ok(value) }}` (either argument may be left out), and its result is `Result<value, CallError>`; T needs Deserialize and JsonSchema, the value Serialize and JsonSchema"
)]
pub trait AsyncHandler<M>: Send + Sync + 'static {
    /// The schema of the arguments; `None` if there are none.
    fn input_schema() -> Option<Value>;
    /// The output schema, and whether it describes `{"result": value}`.
    fn output_schema() -> Option<(Value, bool)>;
    /// Which row of the return mapping the value falls under.
    fn return_kind() -> ReturnKind;
    /// Runs the function.
    fn run(
        &self,
        context: Context,
        arguments: &RawJson,
        kind: ReturnKind,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;
}

/// A value that a handler may return.
pub trait IntoOutcome: Serialize + JsonSchema {
    /// The value as an outcome of a kind.
    fn into_outcome(self, kind: ReturnKind) -> Outcome;
}

impl<R: Serialize + JsonSchema> IntoOutcome for R {
    fn into_outcome(self, kind: ReturnKind) -> Outcome {
        let raw = match RawJson::from_value(&self) {
            Ok(raw) => raw,
            Err(error) => return Outcome::Internal(format!("the returned value cannot be JSON: {error}")),
        };
        match kind {
            ReturnKind::Text => match raw.parse() {
                Ok(text) => Outcome::Text(text),
                Err(_) => Outcome::Value(raw),
            },
            ReturnKind::Content => Outcome::Content(raw),
            ReturnKind::Result => Outcome::Result(raw),
            ReturnKind::Object => Outcome::Object(raw),
            ReturnKind::Value => Outcome::Value(raw),
        }
    }
}

/// Which row of the return mapping a type falls under; worked out once, at registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnKind {
    /// A string.
    Text,
    /// Content blocks.
    Content,
    /// A struct.
    Object,
    /// A number, list, map, or nothing.
    Value,
    /// A full result.
    Result,
}

impl ReturnKind {
    fn of<R: JsonSchema>() -> Self {
        let name = R::schema_name();
        let parts = [ContentBlock::schema_name(), ResourceContents::schema_name(), PromptMessage::schema_name()];
        let lists = [
            <Vec<ContentBlock>>::schema_name(),
            <Vec<ResourceContents>>::schema_name(),
            <Vec<PromptMessage>>::schema_name(),
        ];
        if parts.contains(&name) || lists.contains(&name) {
            return Self::Content;
        }
        let results =
            [CallToolResult::schema_name(), ReadResourceResult::schema_name(), GetPromptResult::schema_name()];
        if results.contains(&name) {
            return Self::Result;
        }
        match root_schema::<R>().get("type").and_then(Value::as_str) {
            Some("string") => Self::Text,
            // A map has no fixed members: it is a value like a list is.
            Some("object") if root_schema::<R>().get("properties").is_some() => Self::Object,
            _ => Self::Value,
        }
    }
}

fn root_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_number_formats));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        // 2020-12 is the protocol's default dialect.
        members.shift_remove("$schema");
        // The name of the Rust type tells a model nothing; a title that was written stays.
        if members.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
            members.shift_remove("title");
        }
    }
    schema
}

/// schemars notes the Rust type of a number as a format (`uint64`), which JSON Schema does not have and some clients refuse.
fn without_number_formats(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if matches!(format.trim_end_matches(|end: char| end.is_ascii_digit()), "int" | "uint" | "float" | "double") {
        schema.as_object_mut().map(|members| members.shift_remove("format"));
    }
}

fn input_schema<T: JsonSchema>() -> Value {
    root_schema::<T>()
}

fn output_schema<R: JsonSchema>() -> Option<(Value, bool)> {
    match ReturnKind::of::<R>() {
        ReturnKind::Text | ReturnKind::Content | ReturnKind::Result => None,
        ReturnKind::Object => Some((root_schema::<R>(), false)),
        ReturnKind::Value => {
            let mut inner = root_schema::<R>();
            let definitions = inner.as_object_mut().and_then(|members| members.shift_remove("$defs"));
            let mut schema = json!({"type": "object", "properties": {"result": inner}, "required": ["result"]});
            if let Some(definitions) = definitions {
                schema["$defs"] = definitions;
            }
            Some((schema, true))
        }
    }
}

/// Marks the form of a handler, so that the compiler tells them apart.
pub struct Form<Arguments, R>(std::marker::PhantomData<fn(Arguments) -> R>);

macro_rules! async_handler {
    ($marker:ty, [$($param:ident)?], |$this:ident, $context:ident, $arguments:ident| $call:expr, ($($argument:ty),*)) => {
        impl<F, Fut, R, $($param)?> AsyncHandler<Form<$marker, R>> for F
        where
            F: Fn($($argument),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<R, CallError>> + Send + 'static,
            R: IntoOutcome + 'static,
            $($param: DeserializeOwned + JsonSchema + 'static)?
        {
            fn input_schema() -> Option<Value> {
                let schema: Option<Value> = None;
                $(let schema = schema.or_else(|| Some(input_schema::<$param>()));)?
                schema
            }

            fn output_schema() -> Option<(Value, bool)> {
                output_schema::<R>()
            }

            fn return_kind() -> ReturnKind {
                ReturnKind::of::<R>()
            }

            fn run(&self, $context: Context, $arguments: &RawJson, kind: ReturnKind) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
                let $this = self;
                let future = $call;
                Box::pin(async move {
                    match future.await {
                        Ok(value) => value.into_outcome(kind),
                        Err(CallError(outcome)) => outcome,
                    }
                })
            }
        }
    };
}

async_handler!((), [], |this, _context, _arguments| this(), ());
async_handler!((Context,), [], |this, context, _arguments| this(context), (Context));
async_handler!(
    (Params<T>,),
    [T],
    |this, _context, arguments| match read(arguments) {
        Ok(params) => this(params),
        Err(outcome) => return refused(outcome),
    },
    (Params<T>)
);
async_handler!(
    (Context, Params<T>),
    [T],
    |this, context, arguments| match read(arguments) {
        Ok(params) => this(context, params),
        Err(outcome) => return refused(outcome),
    },
    (Context, Params<T>)
);

/// The schema let the arguments pass; a type that is stricter still may refuse them.
fn read<T: DeserializeOwned>(arguments: &RawJson) -> Result<Params<T>, Outcome> {
    arguments.parse().map(Params).map_err(|error| Outcome::InvalidArguments(error.to_string()))
}

fn refused(outcome: Outcome) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
    Box::pin(std::future::ready(outcome))
}

impl ToolEntry {
    /// A tool from an async function; see [`AsyncHandler`].
    pub fn typed<M, H: AsyncHandler<M>>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self {
        let mut descriptor = json!({"name": name.into(), "description": description.into()});
        if let Some(schema) = H::input_schema() {
            descriptor["inputSchema"] = schema;
        }
        let mut wrap = false;
        if let Some((schema, wrapped)) = H::output_schema() {
            descriptor["outputSchema"] = schema;
            wrap = wrapped;
        }
        Self::new(descriptor, serve(handler, |input| Ok(input.clone()))).wrap_output(wrap)
    }
}

impl ResourceEntry {
    /// A resource from an async function without [`Params`]: a string becomes its text, [`ResourceContents`] is what it says.
    pub fn typed<M, H: AsyncHandler<M>>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self {
        let descriptor = json!({"uri": uri.into(), "name": name.into()});
        Self::new(descriptor, serve(handler, |input| Ok(input.clone())))
    }
}

impl ResourceTemplateEntry {
    /// A template from an async function whose [`Params`] are the template's variables.
    pub fn typed<M, H: AsyncHandler<M>>(uri_template: impl Into<String>, name: impl Into<String>, handler: H) -> Self {
        #[derive(serde::Deserialize)]
        struct Matched<'a> {
            #[serde(borrow)]
            variables: &'a RawValue,
        }
        let variables = |input: &RawJson| {
            let matched: Matched<'_> = input.parse().map_err(|error| Outcome::Internal(error.to_string()))?;
            Ok(RawJson::slice_of(input.buffer(), matched.variables))
        };
        let descriptor = json!({"uriTemplate": uri_template.into(), "name": name.into()});
        Self::new(descriptor, serve(handler, variables))
    }
}

impl PromptEntry {
    /// A prompt from an async function whose [`Params`] are its arguments: the members of the type, which must read strings.
    pub fn typed<M, H: AsyncHandler<M>>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self {
        let mut descriptor = json!({"name": name.into(), "description": description.into()});
        let schema = H::input_schema().unwrap_or_default();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let argument = |(name, of): (&String, &Value)| {
            let mut argument = json!({"name": name, "required": required.contains(&name.as_str().into())});
            for told in ["title", "description"] {
                if let Some(text) = of.get(told) {
                    argument[told] = text.clone();
                }
            }
            argument
        };
        if let Some(properties) = schema["properties"].as_object() {
            descriptor["arguments"] = properties.iter().map(argument).collect();
        }
        Self::new(descriptor, serve(handler, |input| Ok(input.clone())))
    }
}

impl CompletionEntry {
    /// A completion from an async function whose [`Params`] are `{"ref", "argument": {"name", "value"}, "context"?}`, giving
    /// texts or a [`crate::protocol::model::Completion`].
    pub fn typed<M, H: AsyncHandler<M>>(target: CompletionTarget, argument: impl Into<String>, handler: H) -> Self {
        Self::new(target, argument, serve(handler, |input| Ok(input.clone())))
    }
}

/// The core form of an async handler; `arguments` are what of a call's input its [`Params`] are read from.
fn serve<M, H: AsyncHandler<M>>(
    handler: H,
    arguments: fn(&RawJson) -> Result<RawJson, Outcome>,
) -> impl Fn(Call) + Send + Sync + 'static {
    let kind = H::return_kind();
    move |call: Call| {
        let facts = call.facts().clone();
        match arguments(call.input()) {
            Ok(arguments) => {
                let future = handler.run(Context::new(facts.clone()), &arguments, kind);
                in_background(call, future);
            }
            Err(outcome) => drop(call.complete(outcome)),
        }
    }
}

/// A handler's future.
pub(super) type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Runs a handler's future until it is done or its call is cancelled, which drops it. A panic costs the call only.
pub(super) fn in_background(call: Call, future: Work) {
    let spawner = call.facts().clone();
    let facts = spawner.clone();
    let task = async move {
        let mut cancelled = pin!(facts.cancelled());
        let mut future = future;
        let outcome = std::future::poll_fn(|context| {
            let step = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
            match step {
                Err(_) => Poll::Ready(Some(Outcome::Internal("the handler panicked".into()))),
                Ok(Poll::Ready(outcome)) => Poll::Ready(Some(outcome)),
                Ok(Poll::Pending) => cancelled.as_mut().poll(context).map(|()| None),
            }
        })
        .await;
        drop(future);
        if let Some(outcome) = outcome {
            call.complete(outcome);
        }
    };
    spawner.runtime().spawn(Box::pin(task));
}
