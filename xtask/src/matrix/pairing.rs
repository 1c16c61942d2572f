//! One client with one server over one transport, in all common revisions.

use std::process::Command;

use crate::http_servers::Urls;
use crate::language::Language;
use crate::matrix::feature::Feature;
use crate::matrix::party::{Form, OUR_SERVERS, PEERS, Party, Peer, Transport};
use crate::workspace::Workspace;

/// The prefix of the names of our HTTP servers.
pub(super) const OURS: &str = "our ";

pub(crate) struct Pairing {
    pub(crate) client: Party,
    pub(crate) server: Party,
    form: Form,
    pub(crate) revisions: &'static [&'static str],
}

/// The pairings of the given languages with each other and with the peers: those of the page, or
/// all.
pub(crate) fn all(languages: &[Language], long: bool) -> Vec<Pairing> {
    let mut pairings = ours(languages, long);
    for peer in PEERS.iter().filter(|peer| peer.is_available()) {
        let meet = |language: &&Language| long || meets_peer(**language, peer);
        for &language in languages.iter().filter(meet) {
            let ours = Party::Ours(language);
            let peer_party = Party::Peer(peer);
            for form in peer.servers() {
                pairings.push(Pairing { client: ours, server: peer_party, form, revisions: form.revisions });
            }
            let is_spoken = |form: &Form| form.transport != Transport::Sse || peer.without_sse.client.is_none();
            for form in OUR_SERVERS.into_iter().filter(is_spoken) {
                let shorter = |revisions: &&[&str]| revisions.len() < form.revisions.len();
                let revisions = Some(peer.speaks()).filter(shorter).unwrap_or(form.revisions);
                pairings.push(Pairing { client: peer_party, server: ours, form, revisions });
            }
        }
    }
    pairings
}

/// The pairings of the given languages with each other.
pub(crate) fn ours(languages: &[Language], long: bool) -> Vec<Pairing> {
    let mut pairings = Vec::new();
    for &client in languages {
        let meet = |server: &&Language| long || meets(client, **server);
        for &server in languages.iter().filter(meet) {
            let (client, server) = (Party::Ours(client), Party::Ours(server));
            pairings.extend(OUR_SERVERS.map(|form| Pairing { client, server, form, revisions: form.revisions }));
        }
    }
    pairings
}

/// Returns whether the page has the pairing of two languages.
fn meets(client: Language, server: Language) -> bool {
    let is_rust = [client, server].iter().any(|language| language.name == "rust");
    client == server || is_rust || client.meets_all && server.meets_all
}

/// Returns whether the page has the pairings of a language and a peer.
fn meets_peer(language: Language, peer: &Peer) -> bool {
    let is_newer = Language::ALL.iter().any(|one| one.name == peer.language && !one.meets_all);
    peer.language == language.name || if is_newer { language.name == "rust" } else { language.meets_all }
}

impl Pairing {
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

    /// Returns whether a feature is played in this pairing, in a revision.
    pub(crate) fn plays(&self, feature: &Feature, revision: &str) -> bool {
        feature.protected == self.is_protected() && feature.is_defined_in(revision, self.transport())
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

    /// The command of the client, to play a file.
    pub(crate) fn client_command(
        &self,
        workspace: &Workspace,
        file: &std::path::Path,
        urls: &Urls,
    ) -> Result<Command, String> {
        let words = self.client.client(workspace);
        let mut command = self.command(workspace, &words[0]);
        command.args(&words[1..]).arg("--play").arg(file);
        match self.transport() {
            Transport::Stdio => command.arg("--stdio").args(self.server.server(workspace, &self.form)),
            Transport::Http | Transport::Sse => command.arg(self.url(urls)?),
        };
        Ok(command)
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
        let older: Vec<_> = Language::ALL.into_iter().filter(|language| language.meets_all).collect();
        let pairings = all(&older, false);
        let names: std::collections::BTreeSet<String> = pairings.iter().map(Pairing::name).collect();
        let with_sdks_of_newer_languages = 3 * (4 + 4);
        let expected = 4 * 4 * 4 + 4 * 19 + 5 * 4 * 3 + 4 * 4 + with_sdks_of_newer_languages;
        assert_eq!(
            (names.len(), pairings.len()),
            (expected, expected),
            "ours, forms of servers, clients, and over SSE"
        );
        for name in ["our c calls our node over stdio", "mcp 1.30.0 calls our rust over sse"] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn a_newer_language_meets_rust_and_itself() {
        let names = |long| all(&Language::ALL, long).iter().map(Pairing::name).collect::<Vec<_>>();
        for name in [
            "our ruby calls our rust over stdio",
            "our rust calls our ruby over stdio",
            "our ruby calls our ruby over stdio",
        ] {
            assert!(names(false).contains(&name.to_owned()), "{name}");
        }
        let further = "our ruby calls our node over stdio".to_owned();
        assert!(!names(false).contains(&further) && names(true).contains(&further));
    }
}
