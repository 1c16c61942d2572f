//! Tables of the results: a row for each feature, and a column for each side.

use crate::matrix::cell::{Cell, Status};
use crate::matrix::feature::Features;
use crate::matrix::party::{PEERS, Party, REVISIONS, Transport};
use crate::table::Table;

const PASS: &str = "✓";
const FAIL: &str = "✗";
/// Shown if the revisions do not have the feature.
const NOTHING: &str = "";

/// All tables of the matrix. `notes` collects the reasons for absent features.
pub(super) fn all(features: &Features, cells: &[Cell], notes: &mut Vec<String>) -> Vec<Table> {
    let is_ours = |party| matches!(party, Party::Ours(_));
    let between: Vec<&Cell> = cells.iter().filter(|cell| is_ours(cell.client) && is_ours(cell.server)).collect();
    let as_clients: Vec<&Cell> = cells.iter().filter(|cell| is_ours(cell.client) && !is_ours(cell.server)).collect();
    let as_servers: Vec<&Cell> = cells.iter().filter(|cell| !is_ours(cell.client)).collect();
    let servers = PEERS.iter().flat_map(|peer| {
        let http = peer.servers().into_iter().filter(|form| form.transport == Transport::Http && !form.is_protected);
        http.map(|form| format!("{}{}", Party::Peer(peer).name(), form.suffix))
    });
    let all: Vec<&Cell> = cells.iter().collect();
    let transports = Transport::ALL.iter().map(|transport| transport.name().to_owned());
    let clients = PEERS.iter().map(|peer| Party::Peer(peer).name().to_owned());
    vec![
        make("Our clients with our servers", features, REVISIONS.map(str::to_owned).to_vec(), |name, revision| {
            verdict(&between, name, |cell| cell.revision == revision, notes)
        }),
        make("Our clients with the official servers", features, servers.collect(), |name, server| {
            verdict(&as_clients, name, |cell| cell.server_name == server, notes)
        }),
        make("The official clients with our servers", features, clients.collect(), |name, client| {
            verdict(&as_servers, name, |cell| cell.client.name() == client, notes)
        }),
        make("All of them, by transport", features, transports.collect(), |name, transport| {
            verdict(&all, name, |cell| cell.transport == transport, notes)
        }),
    ]
}

pub(crate) fn make(
    title: &'static str,
    features: &Features,
    columns: Vec<String>,
    mut content: impl FnMut(&str, &str) -> String,
) -> Table {
    let rows = features.names().into_iter().map(|name| {
        let row = columns.iter().map(|column| content(name, column)).collect();
        (name.to_owned(), row)
    });
    let rows = rows.collect();
    Table { title, columns, rows }
}

/// `✓` if all pass, `✗` if one fails, and the note numbers of absent features.
fn verdict(cells: &[&Cell], feature: &str, is_in: impl Fn(&Cell) -> bool, notes: &mut Vec<String>) -> String {
    let (mut passed, mut failed) = (false, false);
    let mut numbers: Vec<usize> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.feature == feature && is_in(cell)) {
        match &cell.status {
            Status::Pass(_) => passed = true,
            Status::Fail(_) => failed = true,
            Status::Undefined => {}
            Status::Absent(reason) => {
                let known = notes.iter().position(|note| note == reason).unwrap_or_else(|| {
                    notes.push(reason.clone());
                    notes.len() - 1
                });
                if !numbers.contains(&(known + 1)) {
                    numbers.push(known + 1);
                }
            }
        }
    }
    let mut text = match (failed, passed) {
        (true, _) => FAIL,
        (false, true) => PASS,
        (false, false) => NOTHING,
    }
    .to_owned();
    for number in numbers {
        text.push_str(&format!(" ({number})"));
    }
    text.trim_start().to_owned()
}
