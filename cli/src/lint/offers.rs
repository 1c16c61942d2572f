//! The input of the checks.

use super::report::List;
use serde_json::Value;

/// The offers of a server, as it sent them.
#[derive(Default)]
pub(crate) struct Offers {
    /// Its name. Hosts use the one in their configuration, which is usually the same.
    pub(crate) server: String,
    pub(crate) capabilities: Value,
    pub(crate) instructions: String,
    /// The revision is 2026-07-28 or newer.
    pub(crate) is_modern: bool,
    pub(crate) lists: Vec<Offered>,
}

/// One of its lists.
pub(crate) struct Offered {
    pub(crate) list: List,
    pub(crate) items: Vec<Value>,
    /// Two reads had the same items in another order.
    pub(crate) is_reordered: bool,
}
