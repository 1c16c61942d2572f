//! Findings, and hashes of files.

use sha2::{Digest, Sha256};

/// Something that would be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The rule, such as `version-range`.
    pub(crate) rule: &'static str,
    /// A JSON pointer to the member.
    pub(crate) place: String,
    pub(crate) problem: String,
}

impl Finding {
    pub(super) fn new(rule: &'static str, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { rule, place: place.into(), problem: problem.into() }
    }
}

/// The SHA-256 of a file, in lower case.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
