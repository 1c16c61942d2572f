//! Names of many servers as those of one: what a group of clients and a server with mounts have in
//! common.

pub(crate) mod names;
pub(crate) mod rewriting;
