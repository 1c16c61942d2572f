//! One client with one server over one transport, in all common revisions.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;
use std::process::Command;

use crate::http_servers::Urls;
use crate::language::Language;
use crate::matrix::feature::{CONNECT, Feature, Features, NEGOTIATION};
use crate::matrix::party::{Form, OUR_SERVERS, PEERS, Party, Transport};
use crate::workspace::Workspace;

/// The prefix of the names of our HTTP servers.
pub(super) const OURS: &str = "our ";

/// Features, by revision.
pub(super) type Chosen = BTreeMap<&'static str, BTreeSet<String>>;

pub(crate) struct Pairing {
    pub(crate) client: Party,
    pub(crate) server: Party,
    form: Form,
    revisions: &'static [&'static str],
    /// The features of the cells that are played, by revision; `None` for all cells.
    pub(super) chosen: Option<Chosen>,
}

/// All pairings of the given languages with each other and with the peers.
pub(crate) fn all(languages: &[Language]) -> Vec<Pairing> {
    let mut pairings = ours(languages);
    for peer in PEERS.iter().filter(|peer| peer.is_available()) {
        let peer_party = Party::Peer(peer);
        for &language in languages {
            let ours = Party::Ours(language);
            pairings
                .extend(peer.servers().into_iter().map(|form| Pairing::new(ours, peer_party, form, form.revisions)));
            let is_spoken = |form: &Form| form.transport != Transport::Sse || peer.without_sse.client.is_none();
            for form in OUR_SERVERS.into_iter().filter(is_spoken) {
                let shorter = |revisions: &&[&str]| revisions.len() < form.revisions.len();
                let revisions = Some(peer.speaks()).filter(shorter).unwrap_or(form.revisions);
                pairings.push(Pairing::new(peer_party, ours, form, revisions));
            }
        }
    }
    pairings
}

/// All pairings of the given languages with each other.
pub(crate) fn ours(languages: &[Language]) -> Vec<Pairing> {
    let mut pairings = Vec::new();
    for &client in languages {
        for &server in languages {
            let (client, server) = (Party::Ours(client), Party::Ours(server));
            pairings.extend(OUR_SERVERS.map(|form| Pairing::new(client, server, form, form.revisions)));
        }
    }
    pairings
}

impl Pairing {
    fn new(client: Party, server: Party, form: Form, revisions: &'static [&'static str]) -> Self {
        Self { client, server, form, revisions, chosen: None }
    }

    pub(crate) fn name(&self) -> String {
        let owner = |party| if matches!(party, Party::Ours(_)) { OURS } else { "" };
        let (client, server) = (self.client, self.server_name());
        let transport = self.transport().name();
        let protected = if self.is_protected() { " with a token" } else { "" };
        format!("{}{} calls {}{server} over {transport}{protected}", owner(client), client.name(), owner(self.server))
    }

    /// Returns whether the server requires an access token.
    pub(crate) fn is_protected(&self) -> bool {
        self.form.is_protected
    }

    /// The revisions in which the client connects.
    pub(crate) fn connections(&self) -> Vec<&'static str> {
        let is_chosen = |revision: &&str| {
            let features = self.chosen.as_ref().map(|chosen| chosen.get(revision));
            features.is_none_or(|features| features.into_iter().flatten().any(|feature| feature != NEGOTIATION))
        };
        self.revisions.iter().copied().filter(is_chosen).collect()
    }

    /// Returns whether one more connection negotiates its revision.
    pub(crate) fn negotiates(&self) -> bool {
        !self.is_protected() && self.has(self.newest(), NEGOTIATION)
    }

    /// Returns whether a feature is played in this pairing, in a revision.
    pub(crate) fn plays(&self, feature: &Feature, revision: &str) -> bool {
        self.is_defined(feature, revision) && self.has(revision, &feature.name)
    }

    /// Returns whether a cell is one of those that are played, if the revision defines it.
    pub(super) fn has(&self, revision: &str, feature: &str) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.is_none_or(|chosen| chosen.get(revision).is_some_and(|features| features.contains(feature)))
    }

    fn is_defined(&self, feature: &Feature, revision: &str) -> bool {
        feature.protected == self.is_protected() && feature.is_defined_in(revision, self.transport())
    }

    /// The revision and feature of each of its cells, chosen or not.
    pub(super) fn cells<'a>(&self, features: &'a Features) -> Vec<(&'static str, &'a str)> {
        let mut cells = Vec::new();
        for &revision in self.revisions {
            // Connections to a server that requires a token are only made for its features.
            cells.extend((!self.is_protected()).then_some((revision, CONNECT)));
            let defined = features.iter().filter(|feature| self.is_defined(feature, revision));
            cells.extend(defined.map(|feature| (revision, &*feature.name)));
        }
        cells.extend((!self.is_protected()).then_some((self.newest(), NEGOTIATION)));
        cells
    }

    pub(crate) fn server_name(&self) -> String {
        format!("{}{}", self.server.name(), self.form.suffix)
    }

    pub(crate) fn transport(&self) -> Transport {
        self.form.transport
    }

    pub(crate) fn newest(&self) -> &'static str {
        self.revisions.last().copied().unwrap_or_default()
    }

    /// The official SDK of the pairing, if it has one.
    fn peer(&self) -> Option<&'static str> {
        [self.client, self.server].into_iter().find(|party| matches!(party, Party::Peer(_))).map(Party::name)
    }

    /// The HTTP server to run, with its name. Each peer gets a separate server of ours, so that the
    /// records of its messages are in the peer's directory.
    pub(crate) fn http_server(&self, workspace: &Workspace) -> Option<(String, Command)> {
        let words = self.server.server(workspace, &self.form);
        let mut command = self.command(workspace, &words[0]);
        command.args(&words[1..]);
        (self.transport() != Transport::Stdio).then(|| (self.http_server_name(), command))
    }

    fn http_server_name(&self) -> String {
        let name = match (self.server, self.peer()) {
            (Party::Ours(language), None) => format!("{OURS}{}", language.name),
            (Party::Ours(language), Some(peer)) => format!("{OURS}{} for {peer}", language.name),
            (Party::Peer(_), _) if self.transport() == Transport::Sse => format!("{} over sse", self.server_name()),
            (Party::Peer(_), _) => self.server_name(),
        };
        if self.is_protected() { format!("{name} with a token") } else { name }
    }

    /// The URL of the server. Our servers print the URL of their Streamable HTTP endpoint.
    fn url(&self, urls: &Urls) -> Result<String, String> {
        let url = urls.of(&self.http_server_name())?;
        Ok(match (self.transport(), url.strip_suffix("/mcp")) {
            (Transport::Sse, Some(origin)) => format!("{origin}/sse"),
            _ => url.to_owned(),
        })
    }

    /// The words that name the server on the command line of the client.
    pub(super) fn target(&self, workspace: &Workspace, urls: &Urls) -> Result<Vec<String>, String> {
        if self.transport() != Transport::Stdio {
            return Ok(vec![self.url(urls)?]);
        }
        let words = self.server.server(workspace, &self.form).into_iter();
        Ok(iter::once("--stdio".into()).chain(words.map(|word| word.to_string_lossy().into_owned())).collect())
    }

    /// The command of the client, to play a file.
    pub(super) fn client_command(&self, workspace: &Workspace, file: &Path, target: &[String]) -> Command {
        let words = self.client.client(workspace);
        let mut command = self.command(workspace, &words[0]);
        command.args(&words[1..]).arg("--play").arg(file).args(target);
        command
    }

    /// The key of pairings that share a client process: our records go to the peer's directory.
    pub(super) fn group(&self) -> (bool, &'static str, Option<&'static str>) {
        (matches!(self.client, Party::Ours(_)), self.client.name(), self.peer())
    }

    /// The records of our side are written to the peer's directory.
    fn command(&self, workspace: &Workspace, program: &std::path::Path) -> Command {
        let mut command = workspace.command(program);
        if let (Some(records), Some(peer)) = (&workspace.records, self.peer()) {
            command.env("TRUNKLINE_WIRE_LOG", records.join(peer));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_meets_every_server() {
        let pairings = all(&Language::ALL);
        let names: BTreeSet<String> = pairings.iter().map(Pairing::name).collect();
        let (ours, peers) = (Language::ALL.len(), PEERS.len());
        let forms_of_peers: usize = PEERS.iter().map(|peer| peer.servers().len()).sum();
        let over_sse = PEERS.iter().filter(|peer| peer.without_sse.client.is_none()).count();
        let expected = ours * ours * 4 + ours * forms_of_peers + peers * ours * 3 + over_sse * ours;
        assert_eq!(
            (names.len(), pairings.len()),
            (expected, expected),
            "ours, forms of servers, clients, and over SSE"
        );
        for name in
            ["our c calls our node over stdio", "our ruby calls our go over sse", "mcp 1.30.0 calls our java over sse"]
        {
            assert!(names.contains(name), "{name}");
        }
    }
}
