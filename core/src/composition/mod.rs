//! Combines the names of several servers; shared by client groups and servers with mounts.

pub(crate) mod names;
pub(crate) mod rewriting;
