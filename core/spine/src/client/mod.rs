//! The client: opens a conversation, makes requests, and receives notifications.

pub(crate) mod calls;
#[expect(clippy::module_inception, reason = "the client itself, next to its parts")]
mod client;
mod client_builder;
mod client_error;
mod client_handlers;
mod client_options;
pub(crate) mod config;
mod continuing;
mod error_kinds;
mod events;
mod group_target;
mod inbox;
mod inner;
mod input_required;
mod link;
mod link_failure;
pub(crate) mod negotiation_cache;
mod observed_client;
mod opening;
mod reading;
mod server_requests;
pub(crate) mod state;
mod subscription;
mod tasks;
pub(crate) mod telemetry;
mod terminal;

pub use crate::engine::NegotiationError;
#[cfg(feature = "skills")]
pub use calls::loaded_skills::LoadedSkill;
#[cfg(all(feature = "bridge", feature = "skills"))]
#[doc(hidden)]
pub use calls::loaded_skills::skill_file_uri;
pub use client::Client;
pub use client_builder::ClientBuilder;
pub use client_error::ClientError;
#[doc(hidden)]
pub use client_handlers::PassingHandler;
pub use client_handlers::{
    ClientHandlers, ElicitRequest, ElicitUrlRequest, HandlerError, RequestHandler, SampleRequest, ServerRequest,
};
#[doc(hidden)]
pub use client_options::report_progress;
pub use client_options::{ClientOptions, ProgressHook, RequestOptions};
pub use config::{ConfigError, ServerDefaults, ServerEntry, ServersConfig};
pub use error_kinds::ErrorKind;
pub use events::ClientEvents;
pub use group_target::GroupTarget;
pub use input_required::{InputRequest, InputRequired, InputResponses};
pub use link::{ClientId, Connector, Inbox, Link, LinkMessage, LocalCaller, RequestHead};
pub use link_failure::{LinkFailure, ProcessExit};
#[doc(hidden)]
pub use reading::read_result::readable;
#[doc(hidden)]
pub use server_requests::observation::Observation;
pub use state::client_call::ClientCall;
pub use state::server_description::ServerDescription;
#[doc(hidden)]
pub use state::task_wish::{OtherClient, requires_extension};
pub use subscription::Subscription;
pub use tasks::ClientTask;
