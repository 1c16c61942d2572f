//! The list of requirements, as data.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::requirements::scan::Mentions;
use crate::workspace::Workspace;

const FILE: &str = "tests/requirements/requirements.json";
pub(super) struct List {
    pub(super) groups: Vec<Group>,
}

pub(super) struct Group {
    pub(super) prefix: String,
    pub(super) title: String,
    pub(super) requirements: Vec<Requirement>,
}

pub(super) struct Requirement {
    pub(super) id: String,
    /// `client`, `server` or `both`
    pub(super) side: String,
    pub(super) level: String,
    pub(super) versions: String,
    pub(super) text: String,
    pub(super) source: String,
    /// Why no test of this library can prove it.
    pub(super) reason: Option<String>,
}

impl List {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let text = std::fs::read_to_string(workspace.path(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        let list = Self::parse(&text).with_context(|| format!("{FILE} is not as its README says"))?;
        if list.len() == 0 {
            bail!("{FILE} lists no requirements");
        }
        Ok(list)
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let reasons: BTreeMap<String, String> = serde_json::from_value(value["reasons"].clone())?;
        let mut groups = Vec::new();
        for group in value["groups"].as_array().context("no groups")? {
            let prefix = word(group, "prefix")?;
            let rows = group["requirements"].as_array().with_context(|| format!("{prefix} has no requirements"))?;
            let requirements =
                rows.iter().map(|row| Requirement::parse(row, &prefix, &reasons)).collect::<Result<_>>()?;
            groups.push(Group { title: word(group, "title")?, prefix, requirements });
        }
        Ok(Self { groups })
    }

    pub(super) fn len(&self) -> usize {
        self.all().count()
    }

    pub(super) fn prefixes(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.prefix.clone()).collect()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.all().any(|one| one.id == id)
    }

    /// Names and ranges that contain requirements on clients next to requirements on servers,
    /// although only one of them is under test.
    pub(super) fn crossing(&self, mentions: &Mentions) -> Vec<String> {
        let side = |id: &String| self.all().find(|one| one.id == *id).map(|one| one.side.as_str());
        let of_side = |ids: &[String], wanted: &str| {
            let found: Vec<_> = ids.iter().filter(|id| side(id) == Some(wanted)).map(String::as_str).collect();
            found.join(" ")
        };
        let crossing = mentions.groups().filter_map(|(place, ids)| {
            let (client, server) = (of_side(ids, "client"), of_side(ids, "server"));
            (!client.is_empty() && !server.is_empty())
                .then(|| format!("{place} names {client} of clients and {server} of servers"))
        });
        crossing.collect()
    }

    /// Requirements that are only named in tests of the other side.
    pub(super) fn other_side(&self, mentions: &Mentions) -> Vec<String> {
        let wrong = |one: &&Requirement| {
            let sides = mentions.sides(&one.id);
            !sides.is_empty() && !sides.iter().any(|side| side.proves(&one.side))
        };
        let told = |one: &Requirement| {
            let files: Vec<_> = mentions.of(&one.id).into_keys().collect();
            format!("{} binds a {}, which is not under test in {}", one.id, one.side, files.join(", "))
        };
        self.all().filter(wrong).map(told).collect()
    }

    pub(super) fn named(&self, mentions: &Mentions) -> usize {
        self.all().filter(|one| mentions.has(&one.id)).count()
    }

    pub(super) fn explained(&self, mentions: &Mentions) -> usize {
        self.all().filter(|one| !mentions.has(&one.id) && one.reason.is_some()).count()
    }

    /// Requirements that are neither named by a test nor explained.
    pub(super) fn open(&self, mentions: &Mentions) -> Vec<&str> {
        self.all().filter(|one| one.reason.is_none() && !mentions.has(&one.id)).map(|one| one.id.as_str()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Requirement> {
        self.groups.iter().flat_map(|group| &group.requirements)
    }
}

impl Requirement {
    /// `reasons` are those shared by several requirements, by their short names.
    fn parse(row: &Value, prefix: &str, reasons: &BTreeMap<String, String>) -> Result<Self> {
        let id = word(row, "id")?;
        if !id.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('-')) {
            bail!("{id} stands in the group {prefix}");
        }
        let side = word(row, "side")?;
        if !["client", "server", "both"].contains(&side.as_str()) {
            bail!("{id}: the side {side:?} is not one of client, server, both");
        }
        let reason =
            row["reason"].as_str().map(|reason| reasons.get(reason).cloned().unwrap_or_else(|| reason.to_owned()));
        let [level, versions, text, source] = ["level", "versions", "text", "source"].map(|name| word(row, name));
        Ok(Self { id, side, level: level?, versions: versions?, text: text?, source: source?, reason })
    }
}

fn word(value: &Value, name: &str) -> Result<String> {
    value[name].as_str().map(str::to_owned).with_context(|| format!("no {name} in {value}"))
}
