//! A registered tool of the host.

use crate::callback::ToolCallback;

/// Shared by the port's table and by each call that was started, so that `user_data` outlives calls
/// that are answered later.
pub(crate) struct Tool {
    pub(crate) server: u64,
    pub(crate) callback: ToolCallback,
}
