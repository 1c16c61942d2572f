//! The client: opens a conversation, makes requests, and receives notifications.

pub(crate) mod calls;
#[expect(clippy::module_inception, reason = "the client itself, next to its parts")]
mod client;
mod client_builder;
mod client_error;
mod client_options;
pub(crate) mod config;
mod error_kinds;
mod events;
mod group_target;
mod inbox;
mod inner;
mod link;
mod link_failure;
mod opening;
mod resource_uris;
mod response_cache;
mod server_requests;
mod subscription;
mod tasks;
pub(crate) mod telemetry;
mod terminal;
mod timer;

pub use crate::engine::NegotiationError;
pub use calls::client_call::ClientCall;
pub use calls::input_required::{InputRequest, InputRequired, InputResponses};
#[cfg(feature = "skills")]
pub use calls::loaded_skills::LoadedSkill;
#[cfg(all(feature = "bridge", feature = "skills"))]
#[doc(hidden)]
pub use calls::loaded_skills::skill_file_uri;
#[doc(hidden)]
pub use calls::read_result::readable;
pub use client::Client;
pub use client_builder::ClientBuilder;
pub use client_error::ClientError;
#[doc(hidden)]
pub use client_options::report_progress;
pub use client_options::{ClientOptions, ProgressHook, RequestOptions};
pub use config::{ConfigError, ServerDefaults, ServerEntry, ServersConfig};
pub use error_kinds::ErrorKind;
pub use events::ClientEvents;
pub use group_target::GroupTarget;
pub use link::{ClientId, Connector, Inbox, Link, LinkMessage, LocalCaller, RequestHead};
pub use link_failure::{LinkFailure, ProcessExit};
pub use opening::server_description::ServerDescription;
#[doc(hidden)]
pub use server_requests::client_handlers::PassingHandler;
pub use server_requests::client_handlers::{
    ClientHandlers, ElicitRequest, ElicitUrlRequest, RequestHandler, SampleRequest, ServerRequest,
};
pub use server_requests::handler_error::HandlerError;
#[doc(hidden)]
pub use server_requests::observation::Observation;
pub use subscription::Subscription;
pub use tasks::ClientTask;
#[doc(hidden)]
pub use tasks::{OtherClient, requires_extension};
