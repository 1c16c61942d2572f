//! The origin of a call, in a binding.

use std::fmt::Debug;

/// Something of a binding's host that causes calls: an exchange of its web framework, a request to
/// a server in the same process, or `next` of its middleware.
///
/// All calls that it causes share it until the last handler is done, including calls that start
/// after the response, such as those of tasks. Dropping it tells the host that no more calls
/// follow.
pub trait Cause: Debug + Send + Sync + 'static {
    /// The number of the host's port.
    fn port(&self) -> u64;
    /// Its ticket at that port.
    fn number(&self) -> u64;
}
