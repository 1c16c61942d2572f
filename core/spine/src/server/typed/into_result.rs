//! Return values of handlers. The mapping is the same in every language.

use super::derived_schema::OutputSchema;
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

/// A value that a handler can return. `R` is the kind of result: [`CallToolResult`] for tools,
/// [`ReadResourceResult`] for resources and resource templates, [`GetPromptResult`] for prompts,
/// [`CompleteResult`] for completions, [`JsonObject`] for custom requests, and `bool` for functions
/// that decide who sees a feature.
///
/// For each of them, `Result<T, E>` where E converts into [`ToolError`] is the result of T, or the
/// error; and an [`Outcome`] is itself.
///
/// # Tools
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
///
/// To return your own struct, implement this trait, most easily through [`Json`]:
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Serialize;
/// use trunkline::protocol::model::CallToolResult;
/// use trunkline::server::{IntoResult, Json, Outcome, OutputSchema};
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     temperature: f64,
/// }
///
/// impl IntoResult<CallToolResult> for Weather {
///     fn output_schema() -> Option<OutputSchema> {
///         Some(OutputSchema::of::<Self>())
///     }
///
///     fn into_outcome(self) -> Outcome {
///         Json(self).into()
///     }
/// }
/// ```
///
/// # Resources
///
/// | type | contents |
/// | --- | --- |
/// | `String`, `&str`, `Cow<str>` | text |
/// | `Vec<u8>`, `&[u8]`, [`Bytes`] | blob |
/// | [`ResourceContents`], its variants, and a `Vec` or array of them | as they are; an empty URI stands for that of the request |
/// | [`Json`], [`Value`] | the JSON as text, with the type `application/json` |
/// | [`ReadResourceResult`] | unchanged |
/// | `Option<T>` | those of T, or a "resource not found" error |
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
///
/// # Prompts
///
/// | type | messages |
/// | --- | --- |
/// | `String`, `&str`, `Cow<str>` | one user message |
/// | [`ContentBlock`], its variants, and a `Vec` or array of them | one user message each |
/// | [`PromptMessage`], and a `Vec` or array of them | unchanged |
/// | [`GetPromptResult`] | unchanged |
/// | [`Json`], [`Value`] | the JSON as one user message |
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
///
/// # Completions
///
/// Strings as a `Vec` or array, a [`Completion`], or a [`CompleteResult`].
///
/// # Custom requests
///
/// | type | result |
/// | --- | --- |
/// | [`Json`] of a struct or map, [`JsonObject`], [`Value`] | the object; another value is an internal error |
/// | `()` | an empty object |
///
/// ```
/// use trunkline::{CallError, Server, protocol::model::JsonObject};
///
/// let server = Server::builder("locks", "1.0.0")
///     .request_handler("com.acme/unlock", async || -> Result<JsonObject, CallError> { Ok(JsonObject::new()) })
///     .build();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned as a `{R}`",
    note = "a tool returns a string, content blocks, a number, `Json(value)` where the value has Serialize and JsonSchema, a `CallToolResult`, `()`, or an `Option` or `Result` of one",
    note = "a resource returns a string, bytes, `ResourceContents`, `Json(value)` where the value has Serialize, a `ReadResourceResult`, or an `Option` or `Result` of one",
    note = "a prompt returns a string, content blocks, `PromptMessage`s, a `GetPromptResult`, or a `Result` of one",
    note = "a completion returns strings as a `Vec` or array, a `Completion`, a `CompleteResult`, or a `Result` of one",
    note = "a custom request returns an object: `Json(value)` where the value has Serialize, `JsonObject`, `Value`, `()`, or a `Result` of one",
    note = "the error of a `Result` must convert into `ToolError`; `trunkline::CallError` converts from any error with `?`"
)]
pub trait IntoResult<R> {
    /// The schema of the structured content of a tool; `None` if there is none.
    fn output_schema() -> Option<OutputSchema> {
        None
    }

    /// Converts the value into the outcome of the call.
    fn into_outcome(self) -> Outcome;
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

pub(super) fn raw(value: &impl Serialize, outcome: fn(RawJson) -> Outcome) -> Outcome {
    RawJson::from_value(value).map_or_else(
        |error| Outcome::Internal(format!("the returned value cannot be serialized as JSON: {error}")),
        outcome,
    )
}

/// An object, or another value.
impl<T: Serialize> From<Json<T>> for Outcome {
    fn from(Json(value): Json<T>) -> Self {
        raw(&value, |raw| match raw.as_bytes() {
            [b'{', ..] => Self::Object(raw),
            _ => Self::Value(raw),
        })
    }
}

impl<T: Serialize + JsonSchema> IntoResult<CallToolResult> for Json<T> {
    fn output_schema() -> Option<OutputSchema> {
        Some(OutputSchema::of::<T>())
    }

    fn into_outcome(self) -> Outcome {
        self.into()
    }
}

macro_rules! json_without_schema {
    ($($result:ty),*) => {
        $(impl<T: Serialize> IntoResult<$result> for Json<T> {
            fn into_outcome(self) -> Outcome {
                self.into()
            }
        })*
    };
}

json_without_schema!(ReadResourceResult, GetPromptResult, JsonObject);

// Without the attribute, the compiler only mentions `ToolError: From<E>`, and none of the notes
// above.
#[diagnostic::do_not_recommend]
impl<R, T: IntoResult<R>, E: Into<ToolError>> IntoResult<R> for Result<T, E> {
    fn output_schema() -> Option<OutputSchema> {
        T::output_schema()
    }

    fn into_outcome(self) -> Outcome {
        self.map_or_else(|error| Outcome::from(error.into()), T::into_outcome)
    }
}

impl<T: IntoResult<CallToolResult>> IntoResult<CallToolResult> for Option<T> {
    fn output_schema() -> Option<OutputSchema> {
        T::output_schema().map(OutputSchema::or_null)
    }

    fn into_outcome(self) -> Outcome {
        self.map_or_else(|| raw(&(), Outcome::Value), T::into_outcome)
    }
}

impl<T: IntoResult<ReadResourceResult>> IntoResult<ReadResourceResult> for Option<T> {
    fn into_outcome(self) -> Outcome {
        self.map_or(Outcome::NotFound, T::into_outcome)
    }
}

impl<R> IntoResult<R> for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

macro_rules! texts {
    ($text:ty: $($result:ty),*) => {
        $(impl IntoResult<$result> for $text {
            fn into_outcome(self) -> Outcome {
                Outcome::Text(self.into())
            }
        })*
    };
}

texts!(String: CallToolResult, ReadResourceResult, GetPromptResult);
texts!(&str: CallToolResult, ReadResourceResult, GetPromptResult);
texts!(Box<str>: CallToolResult, ReadResourceResult, GetPromptResult);
texts!(Cow<'_, str>: CallToolResult, ReadResourceResult, GetPromptResult);

/// Values that are serialized as an outcome without a schema.
macro_rules! results {
    ($outcome:ident: $($result:ty => $($value:ty),+;)+) => {
        $($(impl IntoResult<$result> for $value {
            fn into_outcome(self) -> Outcome {
                raw(&self, Outcome::$outcome)
            }
        })+)+
    };
}

results! { Value:
    CallToolResult => ();
    ReadResourceResult => Value;
    GetPromptResult => Value;
    JsonObject => JsonObject, Value, ();
    bool => bool;
}
results! { Result:
    CallToolResult => CallToolResult;
    ReadResourceResult => ReadResourceResult;
    GetPromptResult => GetPromptResult;
    CompleteResult => CompleteResult, Completion;
}

/// Values of tools, whose type is their schema. A `Value` that is an object may be the structured
/// content itself, if the tool sets the output schema.
macro_rules! values {
    ($($value:ty),+) => {
        $(impl IntoResult<CallToolResult> for $value {
            fn output_schema() -> Option<OutputSchema> {
                Some(OutputSchema::of::<Self>())
            }

            fn into_outcome(self) -> Outcome {
                Json(self).into()
            }
        })+
    };
}

values!(bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, JsonObject, Value);

/// A type whose lists a handler can return; `R` is as in [`IntoResult`].
#[diagnostic::on_unimplemented(
    message = "a list of `{Self}` cannot be returned as a `{R}`",
    note = "a tool returns lists of content blocks, strings, numbers and `bool`; any other list as `Json(list)`",
    note = "a resource returns lists of `ResourceContents`, a prompt of content blocks and `PromptMessage`s, and a completion of strings"
)]
pub trait ListItem<R>: Sized {
    /// The schema of the list as a result of a tool; `None` if it is content.
    fn list_schema() -> Option<OutputSchema> {
        None
    }

    /// Converts the list into the outcome of the call.
    fn into_outcome(list: &[Self]) -> Outcome;
}

impl<R, T: ListItem<R>> IntoResult<R> for Vec<T> {
    fn output_schema() -> Option<OutputSchema> {
        T::list_schema()
    }

    fn into_outcome(self) -> Outcome {
        T::into_outcome(&self)
    }
}

impl<R, T: ListItem<R>, const N: usize> IntoResult<R> for [T; N] {
    fn output_schema() -> Option<OutputSchema> {
        T::list_schema()
    }

    fn into_outcome(self) -> Outcome {
        T::into_outcome(&self)
    }
}

/// Lists of values that are serialized as an outcome without a schema.
macro_rules! lists {
    ($outcome:ident: $($result:ty => $($item:ty),+;)+) => {
        $($(impl ListItem<$result> for $item {
            fn into_outcome(list: &[Self]) -> Outcome {
                raw(&list, Outcome::$outcome)
            }
        })+)+
    };
}

lists!(Value: CompleteResult => String, &str, Cow<'_, str>;);

/// Parts of a result, which can be returned alone or in a list.
macro_rules! parts {
    ($($parts:tt)+) => {
        results!(Content: $($parts)+);
        lists!(Content: $($parts)+);
    };
}

parts! {
    CallToolResult => ContentBlock, TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink;
    ReadResourceResult => ResourceContents, TextResourceContents, BlobResourceContents;
    GetPromptResult =>
        PromptMessage, ContentBlock, TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink;
}
/// Lists of values of tools, whose type is their schema.
macro_rules! value_lists {
    ($($item:ty),+) => {
        $(impl ListItem<CallToolResult> for $item {
            fn list_schema() -> Option<OutputSchema> {
                Some(OutputSchema::of::<Vec<Self>>())
            }

            fn into_outcome(list: &[Self]) -> Outcome {
                raw(&list, Outcome::Value)
            }
        })+
    };
}

value_lists!(bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, Value);
value_lists!(String, &str, Cow<'_, str>);

macro_rules! blobs {
    ($($bytes:ty),+) => {
        $(impl IntoResult<ReadResourceResult> for $bytes {
            fn into_outcome(self) -> Outcome {
                // The URI comes from the request.
                raw(&ResourceContents::blob("", self), Outcome::Content)
            }
        })+
    };
}

blobs!(Vec<u8>, &[u8], Bytes);
