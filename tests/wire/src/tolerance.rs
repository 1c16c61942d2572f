//! Known faults of peers, which are counted instead of reported.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tally::Origin;
use crate::{Revision, Violation};

/// Tolerated faults of received messages, with their reasons.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The end of the path of a folder of records, such as `peers/mcp 2.3.0`.
    folder: PathBuf,
    /// The revisions of the messages; empty: all.
    #[serde(default)]
    revisions: Vec<Revision>,
    /// Locations in the messages, as JSON pointers with `*` for any one step; empty: anywhere.
    #[serde(default)]
    at: Vec<String>,
    why: String,
    /// Number of matching violations.
    #[serde(skip_deserializing)]
    count: usize,
}

impl Tolerance {
    /// Returns whether it matches a violation in a received message of this file, which is then
    /// counted.
    pub(crate) fn takes(&mut self, file: &Path, origin: &Origin, violation: &Violation) -> bool {
        let takes = file.ancestors().any(|folder| folder.ends_with(&self.folder))
            && (self.revisions.is_empty() || self.revisions.contains(&origin.revision))
            && (self.at.is_empty() || self.at.iter().any(|place| is_at(&violation.pointer, place)));
        self.count += usize::from(takes);
        takes
    }

    /// Adds the counts of another reader of records.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
    }
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tolerated in what was received in {}", self.count, self.folder.display())?;
        if !self.at.is_empty() {
            write!(f, " at {}", self.at.join(" and "))?;
        }
        write!(f, ": {}", self.why)
    }
}

fn is_at(pointer: &str, place: &str) -> bool {
    let (mut steps, mut wanted) = (pointer.split('/'), place.split('/'));
    loop {
        match (steps.next(), wanted.next()) {
            (None, None) => return true,
            (Some(step), Some(wanted)) if wanted == "*" || step == wanted => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_at;

    #[test]
    fn a_star_stands_for_one_step() {
        assert!(is_at("/result/tools/0/outputSchema", "/result/tools/*/outputSchema"));
        assert!(!is_at("/result/tools/0/inputSchema", "/result/tools/*/outputSchema"));
        assert!(!is_at("/result/tools/0/outputSchema/x", "/result/tools/*/outputSchema"));
        assert!(!is_at("/result/tools", "/result/tools/*"));
    }
}
