//! The names that most servers and clients need: `use trunkline::prelude::*;`.
//!
//! [`crate::Result`] and [`crate::Ok`] are not among them: they would hide those of the standard library.

pub use crate::{
    CallError, ChildCommand, Client, ClientError, ClientOptions, ContentBlock, Context, Json, Params, Prompt,
    RequestOptions, Resource, ResourceTemplate, RpcError, Server, ServerOptions, State, Tool, ToolError,
    server::{IntoPromptResult, IntoResourceResult, IntoToolResult, TaskSupport},
};
