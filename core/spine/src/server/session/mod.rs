//! Conversations: one client on a pipe, in an HTTP session, or in a single HTTP exchange.

mod arrival_reply;
mod batch;
mod call_observer;
mod change_listeners;
mod client_names;
mod client_request_deadlines;
mod client_request_state;
mod connection;
mod conversation_observers;
mod declared_capabilities;
mod local_mount;
mod name_budget;
mod notifications;
mod open_requests;
mod opener;
mod outbound;
mod pending;
mod server_state;
mod session_state;
mod shared;
mod shared_state;
mod subscriptions;

pub use conversation_observers::{HandlerFailure, TestSession};
pub use outbound::{ErrorInfo, Outbound, OutgoingMessage};

pub(crate) use arrival_reply::ArrivalReply;
pub(crate) use connection::{Connection, ConversationSetup, ConversationStart, Origin};
pub(crate) use pending::{Announce, Announcement, PendingNotifications};
pub(crate) use shared_state::{SessionChange, SharedState};

pub(super) use call_observer::CallObserver;
pub(super) use change_listeners::TaskChange;
pub(super) use client_request_state::PendingRequest;
pub(super) use connection::{AllowedResources, Dispatch};
pub(super) use local_mount::LocalMount;
pub(super) use name_budget::client_of;
pub(super) use open_requests::{Reply, ServedRequest, StartedCall};
pub(super) use opener::ConversationOpener;
pub(super) use server_state::ServerState;
