//! The items of the hidden module `engine` that the crate `trunkline` re-exports.

pub use crate::engine::{Limits, NegotiationError, RequestInfo, RevisionChoice};
