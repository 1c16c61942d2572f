//! Requests that a web framework passes to a mounted listener.

pub(crate) mod credit;
pub(crate) mod exchanges;
