//! The list of requirements, as data.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::requirements::scan::Mentions;
use crate::requirements::sides::Side;
use crate::workspace::Workspace;

const FILE: &str = "tests/requirements/requirements.json";

#[derive(Deserialize)]
pub(super) struct List {
    /// The reasons shared by several requirements, by their short names.
    reasons: BTreeMap<String, String>,
    pub(super) groups: Vec<Group>,
}

#[derive(Deserialize)]
pub(super) struct Group {
    pub(super) prefix: String,
    pub(super) title: String,
    pub(super) requirements: Vec<Requirement>,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Requirement {
    pub(super) id: String,
    pub(super) side: Side,
    level: String,
    versions: String,
    text: String,
    source: String,
    /// Why no test of this library can prove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl List {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let mut list: Self = workspace.json(FILE).context("the list is not as its README says")?;
        ensure!(list.all().next().is_some(), "{FILE} lists no requirements");
        for Group { prefix, requirements, .. } in &mut list.groups {
            for Requirement { id, reason, .. } in requirements {
                ensure!(id.starts_with(&format!("{prefix}-")), "{id} stands in the group {prefix}");
                *reason = reason.take().map(|reason| list.reasons.get(&reason).cloned().unwrap_or(reason));
            }
        }
        Ok(list)
    }

    pub(super) fn prefixes(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.prefix.clone()).collect()
    }

    fn find(&self, id: &str) -> Option<&Requirement> {
        self.all().find(|one| one.id == id)
    }

    /// Ids that tests name, but that are not in the list.
    pub(super) fn unknown(&self, mentions: &Mentions) -> Vec<String> {
        let unknown = mentions.named().filter(|(id, _)| self.find(id).is_none());
        unknown.map(|(id, place)| format!("{place} names {id}, which is not a requirement")).collect()
    }

    /// Names and ranges that contain requirements on clients next to requirements on servers,
    /// although only one of them is under test.
    pub(super) fn crossing(&self, mentions: &Mentions) -> Vec<String> {
        let of_side = |ids: &[String], wanted: Side| {
            let is_of = |id: &&String| self.find(id).is_some_and(|one| one.side == wanted);
            ids.iter().filter(is_of).map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        let crossing = mentions.groups().filter_map(|(place, ids)| {
            let (client, server) = (of_side(ids, Side::Client), of_side(ids, Side::Server));
            (!client.is_empty() && !server.is_empty())
                .then(|| format!("{place} names {client} of clients and {server} of servers"))
        });
        crossing.collect()
    }

    /// Requirements that are only named in tests of the other side.
    pub(super) fn other_side(&self, mentions: &Mentions) -> Vec<String> {
        let wrong = |one: &&Requirement| {
            let sides = mentions.sides(&one.id);
            !sides.is_empty() && !sides.iter().any(|side| side.proves(one.side))
        };
        let told = |one: &Requirement| {
            let files: Vec<_> = mentions.of(&one.id).into_keys().collect();
            format!("{} binds a {:?}, which is not under test in {}", one.id, one.side, files.join(", "))
        };
        self.all().filter(wrong).map(told).collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Requirement> {
        self.groups.iter().flat_map(|group| &group.requirements)
    }
}
