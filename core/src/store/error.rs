//! Failures of stores.

/// A store could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The store {store} {kind}: {problem}")]
#[non_exhaustive]
pub struct StoreError {
    /// The kind of failure.
    pub kind: StoreErrorKind,
    /// The URL of the store, without its password.
    pub store: String,
    /// The detail.
    pub problem: String,
}

/// Kinds of failures of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It cannot be reached, or did not answer in time. The effect of the call is unknown.
    Unavailable,
    /// There is no room in it.
    Full,
    /// An entry of it cannot be read.
    Corrupt,
    /// Its URL or the call is wrong.
    Invalid,
}

impl StoreError {
    /// A failure of the store with that URL, which must not hold a password.
    pub fn new(kind: StoreErrorKind, store: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { kind, store: store.into(), problem: problem.into() }
    }
}

impl std::fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "is not available",
            Self::Full => "is full",
            Self::Corrupt => "holds something that cannot be read",
            Self::Invalid => "cannot be used so",
        })
    }
}
