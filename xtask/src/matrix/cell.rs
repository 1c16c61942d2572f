//! One feature of one client with one server over one transport in one revision.

use serde_json::{Value, json};

use crate::matrix::absent::Absences;
use crate::matrix::feature::{CONNECT, Features, NEGOTIATION};
use crate::matrix::pairing::Pairing;
use crate::matrix::party::{Party, REVISIONS, Transport};
use crate::matrix::play::{Outcome, Played};

pub(crate) struct Cell {
    pub(crate) client: Party,
    pub(crate) server: Party,
    /// With the suffix of its form.
    pub(crate) server_name: String,
    pub(crate) revision: &'static str,
    pub(crate) transport: &'static str,
    pub(crate) feature: String,
    pub(crate) status: Status,
}

pub(crate) enum Status {
    /// The time of its operations, in milliseconds.
    Pass(f64),
    Fail(String),
    /// The revision does not have the feature.
    Undefined,
    /// A peer lacks it, with the reason.
    Absent(String),
}

/// The cells of a pairing.
pub(super) fn judge(pairing: &Pairing, features: &Features, played: &Played, absences: &Absences) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |revision, feature: &str, outcome: Option<&Outcome>| {
        let cell = Cell::undefined(pairing, revision, feature);
        let status = match (outcome, absences.reason(&cell)) {
            (None, _) => Status::Undefined,
            (Some(Ok(_)), Some(reason)) => {
                Status::Fail(format!("it works, so tests/matrix/absent.json is wrong: {reason}"))
            }
            (Some(Err(_)), Some(reason)) => Status::Absent(reason.to_owned()),
            (Some(Ok(ms)), None) => Status::Pass(*ms),
            (Some(Err(reason)), None) => Status::Fail(reason.clone()),
        };
        cells.push(Cell { status, ..cell });
    };
    let mut connections = played.connections.iter();
    for revision in pairing.connections() {
        let mut outcomes = connections.next().into_iter().flatten();
        let connect = outcomes.next();
        // Connections to a server that requires a token are only made for its features.
        if !pairing.is_protected() {
            add(revision, CONNECT, connect);
        }
        for feature in features.iter().filter(|feature| feature.protected == pairing.is_protected()) {
            if pairing.has(revision, &feature.name) {
                let outcome = pairing.plays(feature, revision).then(|| outcomes.next()).flatten();
                add(revision, &feature.name, outcome);
            }
        }
    }
    if pairing.negotiates() {
        add(pairing.newest(), NEGOTIATION, connections.next().and_then(|outcomes| outcomes.first()));
    }
    cells
}

/// The HTTP+SSE connection, if the peer of a pairing does not support it.
pub(super) fn without_sse(pairing: &Pairing) -> Option<Cell> {
    let reason = match (pairing.client, pairing.server) {
        (Party::Peer(peer), _) => peer.without_sse.client.clone(),
        (_, Party::Peer(peer)) => peer.without_sse.server.clone(),
        _ => None,
    };
    let cell = Cell::undefined(pairing, REVISIONS[0], CONNECT);
    Some(Cell { transport: Transport::Sse.name(), status: Status::Absent(reason?), ..cell })
}

impl Cell {
    fn undefined(pairing: &Pairing, revision: &'static str, feature: &str) -> Self {
        Self {
            client: pairing.client,
            server: pairing.server,
            server_name: pairing.server_name(),
            revision,
            transport: pairing.transport().name(),
            feature: feature.to_owned(),
            status: Status::Undefined,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let (status, reason, ms) = match &self.status {
            Status::Pass(ms) => ("pass", String::new(), Some(ms)),
            Status::Fail(reason) => ("fail", reason.clone(), None),
            Status::Undefined => {
                ("absent", format!("{} does not define it over {}", self.revision, self.transport), None)
            }
            Status::Absent(reason) => ("absent", reason.clone(), None),
        };
        json!({
            "client": self.client.name(), "server": self.server_name, "revision": self.revision,
            "transport": self.transport, "feature": self.feature, "status": status, "reason": reason, "ms": ms,
        })
    }

    /// Describes the cell.
    pub(crate) fn name(&self) -> String {
        let (client, server, transport) = (self.client.name(), &self.server_name, self.transport);
        format!("{}: {client} calls {server} over {transport}, {}", self.feature, self.revision)
    }
}
