//! Combines the features of several servers; used by client groups and servers with mounts.

pub(crate) mod names;
pub(crate) mod rewriting;
