//! The items of the hidden module `engine` that programs see through the crate `trunkline`.

pub use crate::engine::{Limits, NegotiationError, RequestInfo, RevisionChoice};
