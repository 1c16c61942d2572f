//! Store errors.

/// An error from a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The store {store} {kind}: {problem}")]
#[non_exhaustive]
pub struct StoreError {
    /// The kind of failure.
    pub kind: StoreErrorKind,
    /// The URL of the store, without its password.
    pub store: String,
    /// Details.
    pub problem: String,
}

/// The kinds of store errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store could not be reached or timed out. The call may or may not have taken effect.
    Unavailable,
    /// The store is full.
    Full,
    /// A stored entry cannot be decoded.
    Corrupt,
    /// The URL or the call is invalid.
    Invalid,
}

impl StoreError {
    /// Creates an error for the store at this URL, which must not contain a password.
    pub fn new(kind: StoreErrorKind, store: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind, store: store.into(), problem: problem.into() }
    }
}

impl std::fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "is not available",
            Self::Full => "is full",
            Self::Corrupt => "contains invalid data",
            Self::Invalid => "cannot be used this way",
        })
    }
}
