//! The names that most servers and clients need: `use trunkline::prelude::*;`.
//!
//! It does not include names that would clash with other imports: [`crate::Result`] and
//! [`crate::Ok`], which would hide those of the standard library, and [`crate::Tool`],
//! [`crate::Resource`], [`crate::ResourceTemplate`] and [`crate::Prompt`], because
//! `trunkline::protocol::model::*` has types of the same names.

#[cfg(feature = "child-process")]
pub use crate::ChildCommand;
#[cfg(feature = "server")]
pub use crate::{
    CallError, Context, Json, Params, Server, ServerOptions, State, ToolError,
    server::{IntoResult, TaskSupport},
};
#[cfg(feature = "client")]
pub use crate::{Client, ClientError, ClientOptions, RequestOptions};
pub use crate::{ContentBlock, RpcError};
