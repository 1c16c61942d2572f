//! Registration errors.

/// The error if a feature cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub(crate) String);
