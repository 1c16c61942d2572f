//! Resources that all ports of a process share: the runtime, the log and standard error.

pub(crate) mod log_forwarding;
pub(crate) mod log_scope;
pub(crate) mod shared_runtime;
pub(crate) mod stderr_writer;
pub(crate) mod sync_primitives;
