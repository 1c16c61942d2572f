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
        let mut cell = Cell {
            client: pairing.client,
            server: pairing.server,
            server_name: pairing.server_name(),
            revision,
            transport: pairing.transport().name(),
            feature: feature.to_owned(),
            status: Status::Undefined,
        };
        cell.status = match (outcome, absences.reason(&cell)) {
            (None, _) => Status::Undefined,
            (Some(Outcome::Pass(_)), Some(reason)) => {
                Status::Fail(format!("it works, so tests/matrix/absent.json is wrong: {reason}"))
            }
            (Some(Outcome::Fail(_)), Some(reason)) => Status::Absent(reason.to_owned()),
            (Some(Outcome::Pass(ms)), None) => Status::Pass(*ms),
            (Some(Outcome::Fail(reason)), None) => Status::Fail(reason.clone()),
        };
        cells.push(cell);
    };
    for (revision, connection) in pairing.revisions.iter().zip(&played.pinned) {
        // Connections to a server that requires a token are only made for this feature.
        if !pairing.is_protected() {
            add(revision, CONNECT, Some(&connection.connect));
        }
        let mut outcomes = connection.features.iter();
        for feature in features.iter().filter(|feature| feature.protected == pairing.is_protected()) {
            let outcome = pairing.plays(feature, revision).then(|| outcomes.next()).flatten();
            add(revision, &feature.name, outcome);
        }
    }
    if !pairing.is_protected() {
        add(pairing.newest(), NEGOTIATION, Some(&played.negotiated.connect));
    }
    cells
}

/// The HTTP+SSE connection, if the peer of a pairing does not support it.
pub(super) fn without_sse(pairing: &Pairing) -> Option<Cell> {
    let reason = match (pairing.client, pairing.server) {
        (Party::Peer(peer), _) => peer.without_sse.client.as_ref(),
        (_, Party::Peer(peer)) => peer.without_sse.server.as_ref(),
        _ => None,
    }?;
    Some(Cell {
        client: pairing.client,
        server: pairing.server,
        server_name: pairing.server_name(),
        revision: REVISIONS[0],
        transport: Transport::Sse.name(),
        feature: CONNECT.to_owned(),
        status: Status::Absent(reason.clone()),
    })
}

impl Cell {
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
