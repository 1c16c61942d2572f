//! One client with one server over one transport, in all revisions that both know.

use std::process::Command;

use crate::http_servers::Urls;
use crate::language::Language;
use crate::matrix::party::{Form, OUR_SERVERS, PEERS, Party, REVISIONS, Transport};
use crate::workspace::Workspace;

/// The start of the names of our HTTP servers.
pub(super) const OURS: &str = "our ";

pub(crate) struct Pairing {
    pub(crate) client: Party,
    pub(crate) server: Party,
    form: &'static Form,
    pub(crate) revisions: &'static [&'static str],
}

/// All pairings of the given languages with each other and with the peers.
pub(crate) fn all(languages: &[Language]) -> Vec<Pairing> {
    let mut pairings = ours(languages);
    for peer in &PEERS {
        for &language in languages {
            let ours = Party::Ours(language);
            let peer_party = Party::Peer(peer);
            for form in peer.servers {
                pairings.push(Pairing { client: ours, server: peer_party, form, revisions: form.revisions });
            }
            for form in &OUR_SERVERS {
                pairings.push(Pairing { client: peer_party, server: ours, form, revisions: peer.speaks });
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
            let make = |form| Pairing { client, server, form, revisions: &REVISIONS };
            pairings.extend(OUR_SERVERS.iter().map(make));
        }
    }
    pairings
}

impl Pairing {
    pub(crate) fn name(&self) -> String {
        let owner = |party| if matches!(party, Party::Ours(_)) { OURS } else { "" };
        let (client, server) = (self.client, self.server_name());
        let transport = self.transport().name();
        format!("{}{} calls {}{server} over {transport}", owner(client), client.name(), owner(self.server))
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

    pub(crate) fn client_is_ours(&self) -> bool {
        matches!(self.client, Party::Ours(_))
    }

    /// The official SDK of the pairing, if it has one.
    fn peer(&self) -> Option<&'static str> {
        [self.client, self.server].into_iter().find(|party| matches!(party, Party::Peer(_))).map(Party::name)
    }

    /// The HTTP server that has to run, with its name. Each peer has a server of ours for itself,
    /// so that the records of what they send lie in the folder of the peer.
    pub(crate) fn http_server(&self, workspace: &Workspace) -> Option<(String, Command)> {
        let words = self.server.server(workspace, self.form);
        let mut command = self.command(workspace, &words[0]);
        command.args(&words[1..]);
        (self.transport() == Transport::Http).then(|| (self.http_server_name(), command))
    }

    fn http_server_name(&self) -> String {
        match (self.server, self.peer()) {
            (Party::Ours(language), None) => format!("{OURS}{}", language.name()),
            (Party::Ours(language), Some(peer)) => format!("{OURS}{} for {peer}", language.name()),
            (Party::Peer(_), _) => self.server_name(),
        }
    }

    /// The client, which shall play a file.
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
            Transport::Stdio => command.arg("--stdio").args(self.server.server(workspace, self.form)),
            Transport::Http => command.arg(urls.of(&self.http_server_name())?),
        };
        Ok(command)
    }

    /// The records of our side go to the folder of the peer.
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
        let names: std::collections::BTreeSet<String> = pairings.iter().map(Pairing::name).collect();
        assert_eq!((names.len(), pairings.len()), (116, 116), "4 x 4 x 2, 4 x 11 forms of servers, 5 x 4 x 2");
        for name in ["our c calls our node over stdio", "mcp 1.30.0 calls our rust over http"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
