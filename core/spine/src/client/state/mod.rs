//! The state of an open client: its calls, its tasks, its subscriptions, the tools of the server as
//! far as it knows them, the cache, and its host.

pub(super) mod changes;
pub(super) mod client_call;
pub(super) mod client_task_table;
pub(super) mod host;
pub(super) mod host_task_table;
pub(super) mod invalid_frames;
pub(super) mod known_tools;
pub(super) mod open_subscriptions;
pub(super) mod pauses;
pub(super) mod reconnecting;
pub(crate) mod reply_to;
pub(super) mod response_cache;
pub(crate) mod result_schema;
pub(super) mod server_description;
pub(super) mod server_label;
pub(super) mod task_state;
pub(super) mod task_wish;
pub(super) mod timer;
