//! The client: opens a conversation, makes requests, and receives notifications.

mod builder;
mod cached_calls;
mod call;
pub(crate) mod call_operation;
mod checked_reply;
#[expect(clippy::module_inception, reason = "the client itself, beside the parts that it is made of")]
mod client;
pub(crate) mod config;
mod connect;
mod continuing;
mod description_request;
mod era_cache;
mod error;
mod error_kinds;
mod events;
mod failure;
mod group;
mod handler_error;
mod handlers;
mod host;
mod host_tasks;
mod inbox;
mod inner;
mod input_required;
mod link;
mod mirrored;
mod notifying;
mod observation;
mod observed;
pub(crate) mod observed_opening;
mod observers;
mod operations;
mod options;
mod output_schemas;
mod pages;
mod pauses;
mod prompts;
mod reconnect;
mod reconnecting;
pub(crate) mod reply;
mod requests;
mod response_cache;
pub(crate) mod result_schema;
mod roots;
mod rounds;
mod sending;
mod server_description;
mod server_requests;
#[cfg(feature = "skills")]
mod skills;
mod subscription;
mod tasks;
mod terminal;
mod timer;
mod tools;

pub use crate::engine::NegotiationError;
pub use builder::ClientBuilder;
pub use call::ClientCall;
pub use client::Client;
pub use config::{ConfigError, ServerDefaults, ServerEntry, ServersConfig};
pub use error::ClientError;
pub use error_kinds::ErrorKind;
pub use events::ClientEvents;
pub use failure::{LinkFailure, ProcessEnd};
pub(crate) use group::GroupServerAccess;
pub use group::{ClientGroup, GroupServer, GroupServerState, NamedServer, ServerPlace};
pub use handler_error::HandlerError;
pub(crate) use handlers::PassingHandler;
pub use handlers::{ClientHandlers, ElicitRequest, ElicitUrlRequest, RequestHandler, SampleRequest, ServerRequest};
pub use input_required::{InputRequest, InputRequired, InputResponses};
pub use link::{ClientId, Connector, Inbox, Link, LinkMessage, LocalCaller, RequestHead};
pub use options::{ClientOptions, ProgressHook, RequestOptions};
pub use server_description::ServerDescription;
#[cfg(feature = "skills")]
pub use skills::LoadedSkill;
#[cfg(all(feature = "bridge", feature = "skills"))]
#[doc(hidden)]
pub use skills::skill_file_uri;
pub use subscription::Subscription;
pub use tasks::ClientTask;
pub(crate) use tasks::OtherClient;
