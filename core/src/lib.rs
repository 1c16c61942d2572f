//! The Model Context Protocol: servers and clients, every revision, one core.
//!
//! A server is written once and answers every revision on every transport; a client speaks whatever its server speaks.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use serde_json::json;
//! use trunkline::{Client, Params, Server};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Forecast {
//!     city: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), trunkline::ClientError> {
//! let server = Server::builder("weather", "1.0.0")
//!     .tool("forecast", "Forecast the weather of a city.", async |Params(f): Params<Forecast>| {
//!         format!("{}: sunny", f.city)
//!     })
//!     .build();
//!
//! // In memory here; `server.serve_stdio()` and `server.listen("127.0.0.1:8000")` serve other processes.
//! let client = Client::connect(&server).await?;
//! let result = client.call_tool("forecast", json!({"city": "Oslo"})).await?;
//! assert_eq!(result.content[0].as_text(), Some("Oslo: sunny"));
//! # Ok(())
//! # }
//! ```
//!
//! [`protocol`] and [`engine`] are re-exported from the pure crate `trunkline-proto`. [`server`] and [`client`] are async over
//! traits, and [`transport`] drives them with tokio.

#![forbid(unsafe_code)]

pub mod auth;
#[doc(hidden)]
pub mod bridge_support;
pub mod client;
pub mod runtime;
pub mod server;
mod sync;
pub mod transport;
pub mod wire_log;

use trunkline_proto::http;
pub use trunkline_proto::{engine, protocol};

pub use client::{Client, ClientError, ClientEvents, ClientOptions, RequestOptions};
pub use engine::RevisionChoice;
pub use protocol::{Revision, RpcError, model::ContentBlock};
pub use server::{
    CallError, Context, Json, Params, Prompt, Resource, ResourceTemplate, Server, ServerOptions, State, Tool,
    ToolError,
    typed::result::{Ok, Result},
};
pub use transport::{ChildCommand, HttpOptions, Listener};
