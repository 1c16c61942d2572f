//! Features that a peer lacks, with the reason: tests/matrix/absent.json. They are tried anyway,
//! and one that works is an error, so that no entry becomes outdated.

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::matrix::cell::Cell;
use crate::matrix::feature::Features;
use crate::matrix::party::{PEERS, Party, REVISIONS};
use crate::workspace::Workspace;

pub(super) struct Absences(Vec<Absence>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Absence {
    /// The peer as a client; or
    client: Option<String>,
    /// the peer as a server: its name with the suffix of its form.
    server: Option<String>,
    features: Vec<String>,
    /// The revisions; all if absent.
    revisions: Option<Vec<String>>,
    transport: Option<String>,
    reason: String,
}

impl Absences {
    pub(super) fn load(workspace: &Workspace) -> Result<Self> {
        workspace.json("tests/matrix/absent.json").map(Self)
    }

    /// Returns an error if an entry names something unknown, or one of our own programs.
    pub(super) fn check(&self, features: &Features) -> Result<()> {
        let known = features.names();
        for row in &self.0 {
            let Some(peer) = row.client.as_ref().xor(row.server.as_ref()) else {
                bail!("absent.json: a row names either a client or a server: {}", row.reason);
            };
            let suits = |name: &str| PEERS.iter().any(|peer| name.starts_with(Party::Peer(peer).name()));
            if !suits(peer) {
                bail!("absent.json: {peer:?} is not a peer; only a peer may lack a feature");
            }
            if row.reason.is_empty() || row.features.is_empty() {
                bail!("absent.json: a row of {peer:?} without a reason or without features");
            }
            if let Some(unknown) = row.features.iter().find(|name| !known.contains(&name.as_str())) {
                bail!("absent.json: there is no feature {unknown:?} (row of {peer:?})");
            }
            let unknown = |revision: &&String| !REVISIONS.contains(&revision.as_str());
            if let Some(revision) = row.revisions.iter().flatten().find(unknown) {
                bail!("absent.json: {revision:?} is not a revision (row of {peer:?})");
            }
        }
        Ok(())
    }

    pub(super) fn reason(&self, cell: &Cell) -> Option<&str> {
        self.0.iter().find(|row| row.is_about(cell)).map(|row| row.reason.as_str())
    }
}

impl Absence {
    fn is_about(&self, cell: &Cell) -> bool {
        self.client.as_deref().is_none_or(|client| client == cell.client.name())
            && self.server.as_deref().is_none_or(|server| server == cell.server_name)
            && self.features.contains(&cell.feature)
            && self.revisions.as_ref().is_none_or(|revisions| revisions.iter().any(|one| one == cell.revision))
            && self.transport.as_deref().is_none_or(|transport| transport == cell.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::matrix::cell::Status;

    #[test]
    fn a_row_is_about_its_peer_in_its_revisions() {
        let absences = Absences(
            serde_json::from_str(
                r#"[{"server": "mcp 1.30.0", "features": ["a"], "revisions": ["2025-03-26"], "reason": "it has no a"}]"#,
            )
            .unwrap(),
        );
        let reason = |server_name: &str, revision| {
            let rust = Party::Ours(Language::ALL[0]);
            let (server_name, feature) = (server_name.to_owned(), "a".to_owned());
            let status = Status::Undefined;
            let cell = Cell { client: rust, server: rust, server_name, revision, transport: "http", feature, status };
            absences.reason(&cell).map(str::to_owned)
        };
        assert_eq!(reason("mcp 1.30.0", "2025-03-26").as_deref(), Some("it has no a"));
        assert_eq!(reason("mcp 1.30.0", "2025-06-18"), None);
        assert_eq!(reason("mcp 2.3.0", "2025-03-26"), None);
    }
}
