//! Publishing a server: whether the registry takes its `server.json`, and its bundle.

mod bundle;
mod files;
mod manifest;
mod rules;

pub(crate) use bundle::bundle;
pub(crate) use files::{Packed, files_of};
pub(crate) use manifest::check as check_manifest;
pub(crate) use rules::check as check_server;

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
    fn new(rule: &'static str, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { rule, place: place.into(), problem: problem.into() }
    }
}

/// The SHA-256 of a file, in lower case.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
