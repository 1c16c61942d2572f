//! The names that most servers and clients need: `use trunkline::prelude::*;`.
//!
//! [`crate::Result`] and [`crate::Ok`] are not among them: they would hide those of the standard
//! library.

#[cfg(feature = "child-process")]
pub use crate::ChildCommand;
#[cfg(feature = "server")]
pub use crate::{
    CallError, Context, Json, Params, Prompt, Resource, ResourceTemplate, Server, ServerOptions, State, Tool,
    ToolError,
    server::{IntoPromptResult, IntoResourceResult, IntoToolResult, TaskSupport},
};
#[cfg(feature = "client")]
pub use crate::{Client, ClientError, ClientOptions, RequestOptions};
pub use crate::{ContentBlock, RpcError};
