//! What all ports of a process share: the runtime, the log and standard error.

pub(crate) mod log;
pub(crate) mod log_scope;
pub(crate) mod runtime;
pub(crate) mod stderr;
pub(crate) mod sync;
