//! Conversations: one client on a pipe, in an HTTP session, or in a single HTTP exchange.

mod announcements;
mod arriving;
mod batch;
mod capabilities;
mod client_requests;
mod connection;
mod listeners;
mod local_mount;
mod log_level;
mod name_room;
mod names;
mod notifications;
mod observed;
mod opener;
mod outbound;
mod pending;
mod rehearsal;
mod server_state;
mod shared;
mod shared_state;
mod subscriptions;

pub use outbound::{ErrorInfo, Outbound, OutgoingMessage};
pub use rehearsal::HandlerFailure;

pub(crate) use announcements::{Announce, Announcement, Announcer};
pub(crate) use arriving::Arriving;
pub(crate) use connection::{Connection, ConversationStart, Origin};
pub(crate) use pending::PendingNotifications;
pub(crate) use rehearsal::Rehearsal;
pub(crate) use shared_state::{SessionChange, SharedState};

pub(super) use connection::Dispatch;
pub(super) use listeners::TaskChange;
pub(super) use local_mount::LocalMount;
pub(super) use name_room::client_of;
pub(super) use opener::ConversationOpener;
pub(super) use server_state::ServerState;
