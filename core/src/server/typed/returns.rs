//! Return values of handlers. The mapping is the same in every language.

use super::schema::OutputSchema;
use crate::{
    protocol::{
        RawJson,
        model::{
            AudioContent, BlobResourceContents, CallToolResult, CompleteResult, Completion, ContentBlock,
            EmbeddedResource, GetPromptResult, ImageContent, JsonObject, PromptMessage, ReadResourceResult,
            ResourceContents, ResourceLink, TextContent, TextResourceContents,
        },
    },
    server::{Outcome, ToolError},
};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// A value that a tool can return.
///
/// | type | content | structured content |
/// | --- | --- | --- |
/// | `String`, `&str`, `Cow<str>` | one text block | none |
/// | [`ContentBlock`], its variants, and a `Vec` or array of them | unchanged | none |
/// | [`Json`] of a struct or map, [`JsonObject`] | its JSON as one text block | the object, with its schema as the output schema |
/// | [`Json`] of anything else, numbers, `bool`, lists of them or of texts, [`Value`] | its JSON as one text block | `{"result": value}` |
/// | `()` | none | none |
/// | [`CallToolResult`] | unchanged | unchanged |
/// | `Option<T>` | that of T, or `null` | that of T, or `{"result": null}` |
/// | `Result<T, E>` where E converts into [`ToolError`] | that of T, or of the error | that of T |
///
/// To return your own struct, implement this trait, most easily through [`Json`]:
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Serialize;
/// use trunkline::server::{IntoToolResult, Json, Outcome, OutputSchema};
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     temperature: f64,
/// }
///
/// impl IntoToolResult for Weather {
///     fn output_schema() -> Option<OutputSchema> {
///         Json::<Self>::output_schema()
///     }
///
///     fn into_tool_result(self) -> Outcome {
///         Json(self).into_tool_result()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "a tool returns a string, content blocks, a number, `Json(value)` where the value has Serialize and JsonSchema, a `CallToolResult`, `()`, or an `Option` or `Result` of one",
    note = "the error of a `Result` must convert into `ToolError`; `trunkline::CallError` converts from any error with `?`"
)]
pub trait IntoToolResult {
    /// The schema of the structured content; `None` if there is none.
    fn output_schema() -> Option<OutputSchema> {
        None
    }

    /// Converts the value into the outcome of the call.
    fn into_tool_result(self) -> Outcome;
}

/// A value that a resource or resource template can return.
///
/// | type | contents |
/// | --- | --- |
/// | `String`, `&str`, `Cow<str>` | text |
/// | `Vec<u8>`, `&[u8]`, [`Bytes`] | blob |
/// | [`ResourceContents`], its variants, and a `Vec` or array of them | as they are; an empty URI stands for that of the request |
/// | [`Json`], [`Value`] | the JSON as text, with the type `application/json` |
/// | [`ReadResourceResult`] | unchanged |
/// | `Option<T>` | those of T, or a "resource not found" error |
/// | `Result<T, E>` where E converts into [`ToolError`] | those of T, or the error |
///
/// ```
/// use trunkline::{Params, Server};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Note {
///     name: String,
/// }
///
/// let server = Server::builder("notes", "1.0.0")
///     .resource("notes://all", "all", async || "milk")
///     .resource_template("notes://{name}", "note", async |Params(note): Params<Note>| {
///         (note.name == "milk").then_some("Buy two bottles.")
///     })
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    note = "a resource returns a string, bytes, `ResourceContents`, `Json(value)` where the value has Serialize, a `ReadResourceResult`, or an `Option` or `Result` of one",
    note = "the error of a `Result` must convert into `ToolError`; `trunkline::CallError` converts from any error with `?`"
)]
pub trait IntoResourceResult {
    /// Converts the value into the outcome of the call.
    fn into_resource_result(self) -> Outcome;
}

/// A value that a prompt can return.
///
/// | type | messages |
/// | --- | --- |
/// | `String`, `&str`, `Cow<str>` | one user message |
/// | [`ContentBlock`], its variants, and a `Vec` or array of them | one user message each |
/// | [`PromptMessage`], and a `Vec` or array of them | unchanged |
/// | [`GetPromptResult`] | unchanged |
/// | [`Json`], [`Value`] | the JSON as one user message |
/// | `Result<T, E>` where E converts into [`ToolError`] | those of T, or the error |
///
/// ```
/// use trunkline::{Server, protocol::model::PromptMessage};
///
/// let server = Server::builder("prompts", "1.0.0")
///     .prompt("review", "Review the changes.", async || "Please review these changes.")
///     .prompt("dialogue", "Begin a dialogue.", async || {
///         [PromptMessage::user("Who are you?"), PromptMessage::assistant("A reviewer.")]
///     })
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "a prompt returns a string, content blocks, `PromptMessage`s, a `GetPromptResult`, or a `Result` of one",
    note = "the error of a `Result` must convert into `ToolError`; `trunkline::CallError` converts from any error with `?`"
)]
pub trait IntoPromptResult {
    /// Converts the value into the outcome of the call.
    fn into_prompt_result(self) -> Outcome;
}

/// A value that a completion can return: strings as a `Vec` or array, a [`Completion`], a
/// [`CompleteResult`], or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "a completion cannot return `{Self}`",
    note = "a completion returns strings as a `Vec` or array, a `Completion`, a `CompleteResult`, or a `Result` of one"
)]
pub trait IntoCompletionResult {
    /// Converts the value into the outcome of the call.
    fn into_completion_result(self) -> Outcome;
}

/// A value as JSON; its schema becomes the output schema of a tool that returns it.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Serialize;
/// use trunkline::{Json, Server};
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     temperature: f64,
/// }
///
/// let server = Server::builder("weather", "1.0.0")
///     .tool("now", "Tell the weather.", async || Json(Weather { temperature: 21.5 }))
///     .build();
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

fn raw(value: &impl Serialize, outcome: fn(RawJson) -> Outcome) -> Outcome {
    RawJson::from_value(value).map_or_else(
        |error| Outcome::Internal(format!("the returned value cannot be serialized as JSON: {error}")),
        outcome,
    )
}

/// An object, or another value.
fn json(value: &impl Serialize) -> Outcome {
    raw(value, |raw| match raw.as_bytes() {
        [b'{', ..] => Outcome::Object(raw),
        _ => Outcome::Value(raw),
    })
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<OutputSchema> {
        Some(OutputSchema::of::<T>())
    }

    fn into_tool_result(self) -> Outcome {
        json(&self.0)
    }
}

impl<T: Serialize> IntoResourceResult for Json<T> {
    fn into_resource_result(self) -> Outcome {
        json(&self.0)
    }
}

impl<T: Serialize> IntoPromptResult for Json<T> {
    fn into_prompt_result(self) -> Outcome {
        json(&self.0)
    }
}

// Without the attribute, the compiler only mentions `ToolError: From<E>`, and none of the notes
// above.
#[diagnostic::do_not_recommend]
impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn output_schema() -> Option<OutputSchema> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_tool_result)
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoResourceResult, E: Into<ToolError>> IntoResourceResult for Result<T, E> {
    fn into_resource_result(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_resource_result)
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoPromptResult, E: Into<ToolError>> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_prompt_result)
    }
}

#[diagnostic::do_not_recommend]
impl<T: IntoCompletionResult, E: Into<ToolError>> IntoCompletionResult for Result<T, E> {
    fn into_completion_result(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_completion_result)
    }
}

/// The return value of a visibility function: a `bool`, or a `Result` of one.
pub trait IntoDecision {
    /// Converts the value into the outcome of a call.
    fn into_decision(self) -> Outcome;
}

impl IntoDecision for bool {
    fn into_decision(self) -> Outcome {
        json(&self)
    }
}

impl<T: IntoDecision, E: Into<ToolError>> IntoDecision for Result<T, E> {
    fn into_decision(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_decision)
    }
}

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn output_schema() -> Option<OutputSchema> {
        T::output_schema().map(OutputSchema::or_null)
    }

    fn into_tool_result(self) -> Outcome {
        self.map_or_else(|| json(&()), T::into_tool_result)
    }
}

impl<T: IntoResourceResult> IntoResourceResult for Option<T> {
    fn into_resource_result(self) -> Outcome {
        self.map_or(Outcome::NotFound, T::into_resource_result)
    }
}

/// Implements the traits for [`Outcome`] itself.
macro_rules! outcome {
    ($($trait:ident $method:ident;)*) => {
        $(impl $trait for Outcome {
            fn $method(self) -> Outcome {
                self
            }
        })*
    };
}

outcome! {
    IntoToolResult into_tool_result;
    IntoResourceResult into_resource_result;
    IntoPromptResult into_prompt_result;
    IntoCompletionResult into_completion_result;
}

macro_rules! text {
    ($($text:ty),*) => {
        $(
            impl IntoToolResult for $text {
                fn into_tool_result(self) -> Outcome {
                    Outcome::Text(self.into())
                }
            }

            impl IntoResourceResult for $text {
                fn into_resource_result(self) -> Outcome {
                    Outcome::Text(self.into())
                }
            }

            impl IntoPromptResult for $text {
                fn into_prompt_result(self) -> Outcome {
                    Outcome::Text(self.into())
                }
            }
        )*
    };
}

text!(String, &str, Box<str>, Cow<'_, str>);

/// Types whose lists can be returned as well.
macro_rules! values {
    ($($value:ty),*) => {
        $(
            impl IntoToolResult for $value {
                fn output_schema() -> Option<OutputSchema> {
                    Some(OutputSchema::of::<Self>())
                }

                fn into_tool_result(self) -> Outcome {
                    raw(&self, Outcome::Value)
                }
            }

            impl ListItem for $value {
                fn list_schema() -> Option<OutputSchema> {
                    Some(OutputSchema::of::<Vec<Self>>())
                }

                fn into_outcome(list: &[Self]) -> Outcome {
                    raw(&list, Outcome::Value)
                }
            }
        )*
    };
}

values!(bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, Value);

macro_rules! text_items {
    ($($text:ty),*) => {
        $(
            impl ListItem for $text {
                fn list_schema() -> Option<OutputSchema> {
                    Some(OutputSchema::of::<Vec<Self>>())
                }

                fn into_outcome(list: &[Self]) -> Outcome {
                    raw(&list, Outcome::Value)
                }
            }

            impl IntoCompletionResult for Vec<$text> {
                fn into_completion_result(self) -> Outcome {
                    raw(&self, Outcome::Value)
                }
            }

            impl<const N: usize> IntoCompletionResult for [$text; N] {
                fn into_completion_result(self) -> Outcome {
                    raw(&self.as_slice(), Outcome::Value)
                }
            }
        )*
    };
}

text_items!(String, &str, Cow<'_, str>);

impl IntoToolResult for () {
    fn into_tool_result(self) -> Outcome {
        raw(&self, Outcome::Value)
    }
}

impl IntoToolResult for JsonObject {
    fn output_schema() -> Option<OutputSchema> {
        Some(OutputSchema::of::<Self>())
    }

    fn into_tool_result(self) -> Outcome {
        raw(&self, Outcome::Object)
    }
}

impl IntoResourceResult for Value {
    fn into_resource_result(self) -> Outcome {
        raw(&self, Outcome::Value)
    }
}

impl IntoPromptResult for Value {
    fn into_prompt_result(self) -> Outcome {
        raw(&self, Outcome::Value)
    }
}

/// A type whose lists a tool can return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return a list of `{Self}`",
    note = "lists of content blocks, strings, numbers and `bool` can be returned; any other list is returned as `Json(list)`"
)]
pub trait ListItem: Sized {
    /// The schema of the list; `None` if it is content.
    fn list_schema() -> Option<OutputSchema> {
        None
    }

    /// Converts the list into the outcome of the call.
    fn into_outcome(list: &[Self]) -> Outcome;
}

impl<T: ListItem> IntoToolResult for Vec<T> {
    fn output_schema() -> Option<OutputSchema> {
        T::list_schema()
    }

    fn into_tool_result(self) -> Outcome {
        T::into_outcome(&self)
    }
}

impl<T: ListItem, const N: usize> IntoToolResult for [T; N] {
    fn output_schema() -> Option<OutputSchema> {
        T::list_schema()
    }

    fn into_tool_result(self) -> Outcome {
        T::into_outcome(&self)
    }
}

/// Protocol types, alone or in a list, as the result of one kind of feature.
macro_rules! parts {
    ($trait:ident $method:ident: $($part:ty),*) => {
        $(
            impl $trait for $part {
                fn $method(self) -> Outcome {
                    raw(&self, Outcome::Content)
                }
            }

            impl $trait for Vec<$part> {
                fn $method(self) -> Outcome {
                    raw(&self, Outcome::Content)
                }
            }

            impl<const N: usize> $trait for [$part; N] {
                fn $method(self) -> Outcome {
                    raw(&self.as_slice(), Outcome::Content)
                }
            }
        )*
    };
}

parts!(IntoResourceResult into_resource_result: ResourceContents, TextResourceContents, BlobResourceContents);
parts!(IntoPromptResult into_prompt_result:
    PromptMessage, ContentBlock, TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink);

macro_rules! content {
    ($($block:ty),*) => {
        $(
            impl IntoToolResult for $block {
                fn into_tool_result(self) -> Outcome {
                    raw(&self, Outcome::Content)
                }
            }

            impl ListItem for $block {
                fn into_outcome(list: &[Self]) -> Outcome {
                    raw(&list, Outcome::Content)
                }
            }
        )*
    };
}

content!(ContentBlock, TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink);

macro_rules! full_results {
    ($($trait:ident $method:ident $result:ty;)*) => {
        $(impl $trait for $result {
            fn $method(self) -> Outcome {
                raw(&self, Outcome::Result)
            }
        })*
    };
}

full_results! {
    IntoToolResult into_tool_result CallToolResult;
    IntoResourceResult into_resource_result ReadResourceResult;
    IntoPromptResult into_prompt_result GetPromptResult;
    IntoCompletionResult into_completion_result CompleteResult;
    IntoCompletionResult into_completion_result Completion;
}

macro_rules! blobs {
    ($($bytes:ty),*) => {
        $(impl IntoResourceResult for $bytes {
            fn into_resource_result(self) -> Outcome {
                // The URI comes from the request.
                ResourceContents::blob("", self).into_resource_result()
            }
        })*
    };
}

blobs!(Vec<u8>, &[u8], Bytes);
