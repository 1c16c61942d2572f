//! Combines the features of several servers; used by client groups and servers with mounts.

pub mod names;
pub mod rewriting;
