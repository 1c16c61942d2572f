//! Registration errors.

/// The error if a feature cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(#[doc(hidden)] pub String);

impl RegisterError {
    pub(crate) fn removed() -> Self {
        Self("The feature is no longer registered: it was removed or replaced".into())
    }
}
