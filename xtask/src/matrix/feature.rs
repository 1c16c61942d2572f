//! The features, as data: tests/matrix/features.json.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::matrix::party::{REVISIONS, Transport};
use crate::workspace::Workspace;

/// The connection itself, in a given revision.
pub(super) const CONNECT: &str = "connect";
/// A connection for which the client negotiates the newest common revision.
pub(super) const NEGOTIATION: &str = "negotiation";

const FILE: &str = "tests/matrix/features.json";

pub(crate) struct Features(Vec<Feature>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feature {
    pub(crate) name: String,
    /// The first revision that has it; the very first if absent.
    since: Option<String>,
    /// The first revision that no longer has it.
    before: Option<String>,
    /// The transports that support it; all if absent.
    over: Option<Vec<Transport>>,
    /// Only played with servers that require an access token.
    #[serde(default)]
    pub(super) protected: bool,
    /// The operations of the client.
    #[serde(rename = "do")]
    pub(crate) operations: Vec<Value>,
    /// A pattern for the output line of each.
    pub(crate) results: Vec<Value>,
}

impl Features {
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        Self::parse(&workspace.text(FILE)?).context(FILE)
    }

    fn parse(text: &str) -> Result<Self> {
        let features: Vec<Feature> = serde_json::from_str(text)?;
        let mut names = vec![CONNECT, NEGOTIATION];
        for feature in &features {
            if names.contains(&feature.name.as_str()) {
                bail!("the feature {:?} is there twice", feature.name);
            }
            if feature.operations.is_empty() || feature.operations.len() != feature.results.len() {
                bail!("the feature {:?} needs one result for each operation, and at least one", feature.name);
            }
            for revision in [&feature.since, &feature.before].into_iter().flatten() {
                if !REVISIONS.contains(&revision.as_str()) {
                    bail!("the feature {:?} names {revision:?}, which is not a revision", feature.name);
                }
            }
            names.push(&feature.name);
        }
        Ok(Self(features))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Feature> {
        self.0.iter()
    }

    /// The names of all rows of the tables, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let own = self.0.iter().map(|feature| feature.name.as_str());
        [CONNECT, NEGOTIATION].into_iter().chain(own).collect()
    }
}

impl Feature {
    /// Returns whether a revision has it over a transport. Revision names are dates, so they
    /// compare as strings.
    pub(crate) fn is_defined_in(&self, revision: &str, transport: Transport) -> bool {
        self.since.as_deref().is_none_or(|since| since <= revision)
            && self.before.as_deref().is_none_or(|before| revision < before)
            && self.over.as_ref().is_none_or(|over| over.contains(&transport))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_checked() {
        let row = |rest: &str| format!(r#"[{{"name": "a", "do": [{{"ping": {{}}}}], "results": [{{}}]{rest}}}]"#);
        let rest = r#", "since": "2025-03-26", "before": "2026-07-28", "over": ["http"]"#;
        let features = Features::parse(&row(rest)).unwrap();
        let defined = |revision| features.0[0].is_defined_in(revision, Transport::Http);
        assert_eq!(REVISIONS.map(defined), [false, true, true, true, false]);
        assert!(!features.0[0].is_defined_in("2025-03-26", Transport::Stdio));
        assert_eq!(features.names(), ["connect", "negotiation", "a"]);
        for wrong in [
            row(r#", "since": "2025-03-27""#),
            row(r#", "sinec": "2025-03-26""#),
            row(r#", "over": ["pigeon"]"#),
            row("").replace(r#"[{}]"#, "[]"),
            row("").replace(r#""a""#, r#""connect""#),
        ] {
            assert!(Features::parse(&wrong).is_err(), "{wrong}");
        }
    }
}
