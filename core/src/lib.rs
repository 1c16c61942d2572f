//! The Model Context Protocol: servers and clients, every revision, one core.
//!
//! A server is written once and supports every revision on every transport; a client negotiates
//! whatever revision its server supports.
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
//! # A tour
//!
//! **Tools** are async functions. As in axum, their arguments are extractors, here in any order:
//! [`Params`] extracts the arguments of the call and defines the input schema, [`Context`] is the
//! call itself, [`State`] is the state of the server, and you can add others with
//! [`server::FromContext`]. The return type is any [`server::IntoResult`]: a string, content
//! blocks, a number, [`Json`] of a struct, which defines the output schema, or a `Result` of one.
//!
//! **Errors**: the client sees the message of a [`ToolError`]. Any other error is logged with its
//! causes, and the client gets a generic message. In a function that returns `Result<T,
//! CallError>`, `?` accepts every error, including those of `anyhow`; your own errors that convert
//! into [`ToolError`] can be returned directly. In closures, name the error type with
//! [`crate::Ok`].
//!
//! **Resources and prompts** work the same way: [`ServerBuilder::resource`],
//! [`ServerBuilder::resource_template`], [`ServerBuilder::prompt`], [`ServerBuilder::completion`].
//! The builders [`Tool`], [`Resource`], [`ResourceTemplate`] and [`Prompt`] have more settings:
//! titles, annotations, icons, scopes, tasks. Add them with [`ServerBuilder::add_tool`] and its
//! siblings, or to a running server with [`Server::add_tool`].
//!
//! **Client requests** are methods of the context: [`Context::elicit_form`] asks the user with a
//! typed form, [`Context::elicit`] with any form, [`Context::sample`] asks the model,
//! [`Context::list_roots`] asks for folders, and [`Context::progress`] and [`Context::log`] report
//! on the call. The same code works with every revision.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use trunkline::{Tool, prelude::*, protocol::model::ToolAnnotations};
//!
//! #[derive(Clone)]
//! struct Notes(std::path::PathBuf);
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Confirmation {
//!     sure: bool,
//! }
//!
//! async fn clear(State(notes): State<Notes>, ctx: Context) -> Result<String, CallError> {
//!     let answer = ctx.elicit_form::<Confirmation>("Delete all notes?").await?;
//!     if !answer.accepted().is_some_and(|confirmation| confirmation.sure) {
//!         return Err(ToolError::new("The user does not want to"))?;
//!     }
//!     let mut number = 0;
//!     for file in std::fs::read_dir(&notes.0)? {
//!         std::fs::remove_file(file?.path())?;
//!         number += 1;
//!         ctx.progress(number.into(), None).await;
//!     }
//!     Ok(format!("deleted {number} notes"))
//! }
//!
//! let server = Server::builder("notes", "1.0.0")
//!     .with_state(Notes("notes".into()))
//!     .add_tool(
//!         Tool::new("clear", "Delete all notes.", clear)
//!             .annotations(ToolAnnotations::default().with_destructive(true)),
//!     )
//!     .build();
//! ```
//!
//! **Serving**: use [`Server::serve_stdio`], [`Server::listen`] and [`Server::listen_with`], or
//! [`Server::into_service`] for axum and other tower stacks. [`auth::Authorization`] verifies
//! access tokens, and [`Context::auth`] returns the caller's identity.
//!
//! **Clients**: [`Client::connect`] takes a URL, a [`ChildCommand`], or a [`Server`] in the same
//! process. Use the latter to test servers, with [`testing::Script`] in place of the user and
//! model. [`Client::subscribe`] returns a stream of changes, on every revision.
//!
//! # Cargo features
//!
//! The first eleven are on by default; `full` also has the next five. A server over stdio only
//! needs `server` and `stdio`. Each item of this documentation names the features that it needs.
//!
//! | feature | adds |
//! | --- | --- |
//! | `server` | [`Server`] and typed handlers |
//! | `client` | [`Client`] and [`ClientGroup`] |
//! | `tokio` | the runtime, and connections in memory; every transport turns it on |
//! | `stdio` | [`Server::serve_stdio`] |
//! | `child-process` | [`ChildCommand`], for clients of servers that they start |
//! | `http-server` | [`Server::listen`], [`Server::into_service`]: Streamable HTTP and HTTP+SSE |
//! | `http-client` | URLs and [`HttpEndpoint`] as targets of a client, with TLS by rustls |
//! | `auth` | access tokens at HTTP servers; with `http-client`, OAuth of clients |
//! | `schema-validation` | arguments and results are checked against their JSON Schemas |
//! | `request-state` | handlers that ask their client for input on 2026-07-28 |
//! | `testing` | [`testing`]: a client that answers from a script, and a check for stores |
//! | `login` | OAuth with the user's browser, and tokens on disk |
//! | `keychain` | tokens on disk are encrypted with a key in the keychain of the system |
//! | `config-files` | configuration files such as `mcp.json` as targets of clients |
//! | `terminal` | forms and pages of servers, answered at the terminal of a client |
//! | `directories` | the files of folders as resources |
//! | `skills` | agent skills |
//! | `store-sqlite` | state in a SQLite file, shared by the workers of a machine |
//! | `store-redis` | state in Redis or Valkey, shared by workers |
//! | `opentelemetry` | OpenTelemetry spans and metrics |
//! | `bridge` | internal: what the bindings of other languages need |
//!
//! # Other crates in the API
//!
//! Public signatures only use types of `bytes`, `futures-core`, `http`, `http-body`, `schemars`,
//! `serde_json` and `tower-service`. `schemars` and `serde_json` are re-exported, so that you can
//! use the same versions as this crate. Build protocol structs with their constructors or with
//! `..Default::default()`, because later revisions add fields. Build option structs with their
//! setters, such as [`ServerOptions::with_page_size`], because later releases add options.
//!
//! [`protocol`] is re-exported from the pure crate `trunkline-proto`. [`server`] and [`client`] are
//! async over traits, and [`transport`] drives them with tokio.

#![forbid(unsafe_code)]
// docs.rs shows the feature that an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The README of the crate, whose program is compiled as a documentation test.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod prelude;

#[cfg(feature = "testing")]
pub use trunkline_testing as testing;

/// Clients, and groups of them.
#[cfg(feature = "client")]
pub mod client {
    pub use trunkline_core::client::*;
    #[doc(inline)]
    pub use trunkline_gateway::group::*;
}

/// Items for `trunkline-bridge`, from all crates.
#[cfg(feature = "bridge")]
#[doc(hidden)]
pub mod bridge_support {
    pub use trunkline_core::bridge_support::*;
    pub use trunkline_testing::findings_of as store_findings;
}

#[cfg(feature = "auth")]
pub use trunkline_core::auth;
#[cfg(feature = "server")]
pub use trunkline_core::schemars;
#[cfg(feature = "tokio")]
pub use trunkline_core::transport;
pub use trunkline_core::{
    ContentBlock, Limits, Revision, RevisionChoice, RpcError, client_auth, printable, printable_json, protocol,
    runtime, serde_json, store, telemetry, wire_log,
};

#[cfg(feature = "child-process")]
pub use trunkline_core::ChildCommand;
#[cfg(feature = "http-client")]
pub use trunkline_core::HttpEndpoint;
#[cfg(feature = "http-server")]
pub use trunkline_core::HttpOptions;
#[cfg(any(feature = "stdio", feature = "http-server"))]
pub use trunkline_core::Listener;
#[cfg(feature = "server")]
pub use trunkline_core::{
    CallError, Context, Json, Ok, Params, Prompt, Resource, ResourceTemplate, Result, Server, ServerBuilder,
    ServerOptions, State, Tool, ToolError, server,
};
#[cfg(feature = "client")]
pub use trunkline_core::{Client, ClientError, ClientEvents, ClientOptions, ClientTask, RequestOptions, Subscription};
#[cfg(feature = "client")]
pub use trunkline_gateway::{ClientGroup, Surface, surface};
#[cfg(all(feature = "client", feature = "server"))]
pub use trunkline_gateway::{ProxyDefinition, ProxyOptions, Upstream};

#[cfg(test)]
mod tests {
    #[test]
    fn each_cargo_feature_is_in_both_tables() {
        let features = include_str!("../Cargo.toml").split("\n[").find(|section| section.starts_with("features]"));
        let names = features.unwrap().lines().filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
        for name in names.filter(|name| !["default", "full"].contains(name) && !name.starts_with('#')) {
            assert!(include_str!("lib.rs").contains(&format!("//! | `{name}` |")), "{name} in lib.rs");
            let is_internal = name == "bridge";
            assert!(is_internal || include_str!("../README.md").contains(&format!("`{name}`")), "{name} in README.md");
        }
    }
}
