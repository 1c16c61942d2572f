//! Registration errors, and the policy for names that are already in use.

/// The error if a feature cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(#[doc(hidden)] pub String);

impl RegisterError {
    pub(crate) fn removed() -> Self {
        Self("The feature is no longer registered: it was removed or replaced".into())
    }
}

trunkline_proto::json_names! {
    /// Policy for registering a name, URI or argument twice.
    pub enum OnDuplicate, by default Error, non_exhaustive {
        /// The registration fails.
        Error = "error",
        /// The new registration replaces the old one. Running calls continue.
        Replace = "replace",
    }
}
