//! Something of a server: what it offers, or a hook.

use crate::callback::CallCallback;

/// Shared by the port's table and by each call that was started, so that `user_data` outlives calls
/// that are answered later.
pub(crate) struct Registered {
    pub(crate) server: u64,
    /// `None`: the core answers everything.
    pub(crate) callback: Option<CallCallback>,
}
