//! The origin of a call in a program of another language.

use std::fmt::Debug;

/// Something of the host of a binding that calls come of: an exchange of its web framework, a
/// request to a server of its own process, or `next` of its middleware.
///
/// All that comes of it shares it, until the last handler is done: also calls that begin after the
/// response, such as those of tasks. Its drop tells the host that nothing comes of it any more.
pub trait Cause: Debug + Send + Sync + 'static {
    /// The number of the port of the host that knows it.
    fn port(&self) -> u64;
    /// The number by which that port knows it.
    fn number(&self) -> u64;
}
