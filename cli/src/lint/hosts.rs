//! Hosts, as `hosts/*.json` describes them: each limit has the source that it is from.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::OnceLock};

const FILES: [&str; 10] = [
    include_str!("../../hosts/claude-code.json"),
    include_str!("../../hosts/claude-desktop.json"),
    include_str!("../../hosts/openai.json"),
    include_str!("../../hosts/codex.json"),
    include_str!("../../hosts/cursor.json"),
    include_str!("../../hosts/vscode.json"),
    include_str!("../../hosts/gemini.json"),
    include_str!("../../hosts/windsurf.json"),
    include_str!("../../hosts/zed.json"),
    include_str!("../../hosts/opencode.json"),
];

const MAX_NAME: usize = 1_000;

/// The effect of a limit on a tool beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effect {
    /// Each request to the model fails, also those about other tools.
    Refuses,
    /// The tool is left out.
    Drops,
    Cuts,
    Renames,
    Misreads,
}

impl Effect {
    pub(super) fn loses(self) -> bool {
        matches!(self, Self::Refuses | Self::Drops)
    }
}

/// A host that does not take something as it is.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Affected {
    pub(super) host: &'static str,
    pub(super) effect: Effect,
    pub(super) source: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) names: Option<Names>,
    /// By the rule that they belong to.
    pub(super) limits: BTreeMap<String, Limit>,
    pub(super) ignores: Option<Ignores>,
}

/// The name of a tool, as the model gets it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    /// `{server}` and `{tool}` are replaced.
    shown: String,
    /// If another form counts for the maximum length.
    counted: Option<String>,
    /// The name of the server in it, if it differs from that of the tool.
    server: Option<ServerName>,
    cut: Option<Cut>,
    pub(super) source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerName {
    punctuation: String,
    #[serde(default)]
    lowercase: bool,
    /// Several characters in a row are replaced by one underscore.
    #[serde(default)]
    collapse: bool,
    most: Option<usize>,
}

/// The parts that stay of a name that is too long.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cut {
    first: usize,
    last: usize,
    between: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub(super) effect: Effect,
    pub(super) most: Option<usize>,
    /// Allowed besides ASCII letters and digits.
    punctuation: Option<String>,
    #[serde(default)]
    pub(super) keywords: Vec<String>,
    source: String,
}

impl Limit {
    pub(super) fn allows(&self, character: char) -> bool {
        self.punctuation.as_deref().is_none_or(|others| is_plain(character, others))
    }

    pub(super) fn is_exceeded_by(&self, length: usize) -> bool {
        self.most.is_some_and(|most| length > most)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ignores {
    pub(super) capabilities: Vec<String>,
    pub(super) source: String,
}

pub(super) fn is_plain(character: char, others: &str) -> bool {
    character.is_ascii_alphanumeric() || others.contains(character)
}

pub(super) fn all() -> &'static [Host] {
    static HOSTS: OnceLock<Vec<Host>> = OnceLock::new();
    HOSTS.get_or_init(|| FILES.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

/// The hosts whose limit of a rule is exceeded.
pub(super) fn affected(rule: &str, exceeds: impl Fn(&Limit) -> bool) -> Vec<Affected> {
    affected_by(rule, |_, limit| exceeds(limit))
}

pub(super) fn affected_by(rule: &str, exceeds: impl Fn(&Host, &Limit) -> bool) -> Vec<Affected> {
    let limits = all().iter().filter_map(|host| Some((host, host.limits.get(rule)?)));
    let exceeded = limits.filter(|(host, limit)| exceeds(host, limit));
    let affected = |(host, limit): (&'static Host, &'static Limit)| Affected {
        host: &host.name,
        effect: limit.effect,
        source: &limit.source,
    };
    exceeded.map(affected).collect()
}

impl Host {
    /// The number of characters that count for the maximum length of a name.
    pub(super) fn counted(&self, server: &str, tool: &str) -> usize {
        let form = self.names.as_ref().map_or("{tool}", |names| names.counted.as_ref().unwrap_or(&names.shown));
        self.filled(form, server, tool).chars().count()
    }

    /// The name of a tool, as the model gets it.
    pub(super) fn shown(&self, server: &str, tool: &str) -> String {
        let form = self.names.as_ref().map_or("{tool}", |names| &names.shown);
        let whole = self.filled(form, server, tool);
        let most = self.limits.get("name-length").and_then(|limit| limit.most);
        let cut = self.names.as_ref().and_then(|names| names.cut.as_ref());
        let length = whole.chars().count();
        match cut.filter(|_| most.is_some_and(|most| length > most)) {
            Some(Cut { first, last, between }) => {
                let start: String = whole.chars().take(*first).collect();
                let end: String = whole.chars().skip(length.saturating_sub(*last)).collect();
                start + between + &end
            }
            None => whole,
        }
    }

    fn filled(&self, form: &str, server: &str, tool: &str) -> String {
        let (server, tool) = (start_of(server), start_of(tool));
        let renamed = |text: &str| match self.limits.get("name-characters") {
            Some(limit) if limit.effect == Effect::Renames => {
                text.chars().map(|character| if limit.allows(character) { character } else { '_' }).collect()
            }
            _ => text.to_owned(),
        };
        let server = match self.names.as_ref().and_then(|names| names.server.as_ref()) {
            Some(name) => name.of(server),
            None => replaced(server, "_-", false),
        };
        // The name of a tool may contain a placeholder.
        let (start, end) = form.split_once("{tool}").unwrap_or((form, ""));
        start.replace("{server}", &server) + &renamed(tool) + end
    }
}

impl ServerName {
    fn of(&self, server: &str) -> String {
        let name = if self.lowercase { server.to_lowercase() } else { server.to_owned() };
        let name = replaced(&name, &self.punctuation, self.collapse);
        name.chars().take(self.most.unwrap_or(usize::MAX)).collect()
    }
}

/// The part of a name that matters: each limit is lower.
fn start_of(name: &str) -> &str {
    name.char_indices().nth(MAX_NAME).map_or(name, |(end, _)| &name[..end])
}

/// Replaces other characters by underscores.
fn replaced(text: &str, punctuation: &str, collapse: bool) -> String {
    let mut name = String::with_capacity(text.len());
    let mut was_replaced = false;
    for character in text.chars() {
        let is_kept = is_plain(character, punctuation);
        if is_kept || !collapse || !was_replaced {
            name.push(if is_kept { character } else { '_' });
        }
        was_replaced = !is_kept;
    }
    name
}
