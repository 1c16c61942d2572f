//! The matrix: every client with every server over every transport, in every common revision, and
//! each feature separately.
//!
//! The features are data (`tests/matrix`). For each pair of programs, their operations are written
//! to a file, which the client plays (`client --play FILE`). The lines that it prints are matched
//! with patterns.

mod absent;
mod cell;
mod command;
mod cover;
mod feature;
mod page;
mod pairing;
mod party;
mod play;
pub(crate) mod table;

pub(crate) use cell::{Cell, Status};
pub(crate) use command::{check, play, run, shorten, show};
pub(crate) use feature::Features;
pub(crate) use pairing::{Pairing, ours};
pub(crate) use party::official_servers;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::console;
use crate::http_servers;
use crate::workers;
use crate::workspace::Workspace;
use absent::Absences;
use party::Transport;

/// A client mostly waits for its server, so run more of them than there are processors.
const CLIENTS_AT_ONCE: usize = 6;

/// The results of a run.
pub(crate) struct Findings {
    /// In the order of the pairings.
    pub(crate) cells: Vec<Cell>,
    /// Failures outside any cell: our own programs that did not exit cleanly.
    pub(crate) faults: Vec<String>,
    pub(crate) seconds: f64,
}

impl Findings {
    pub(crate) fn passed(&self) -> usize {
        self.cells.iter().filter(|cell| matches!(cell.status, Status::Pass(_))).count()
    }

    pub(crate) fn failed(&self) -> usize {
        self.failures().len()
    }

    /// The failures with their locations and reasons.
    pub(crate) fn failures(&self) -> Vec<String> {
        let of_cells = self.cells.iter().filter_map(|cell| match &cell.status {
            Status::Fail(reason) => Some(format!("{}: {reason}", cell.name())),
            _ => None,
        });
        of_cells.chain(self.faults.iter().cloned()).collect()
    }
}

/// Plays all pairings, several at a time.
fn play_all(workspace: &Workspace, pairings: &[Pairing], features: &Features) -> Result<Findings> {
    let start = Instant::now();
    let absences = Absences::load(workspace)?;
    absences.check(features)?;
    let token = token(workspace)?;
    // Several pairings have the same server.
    let commands: BTreeMap<_, _> = pairings.iter().filter_map(|pairing| pairing.http_server(workspace)).collect();
    let (servers, urls) = http_servers::start(commands);
    let mut played: Vec<Option<play::Played>> = pairings.iter().map(|_| None).collect();
    let mut done = 0;
    let groups = groups(pairings, features);
    workers::run(
        CLIENTS_AT_ONCE,
        &groups,
        |group| {
            let pairings: Vec<&Pairing> = group.iter().map(|&index| &pairings[index]).collect();
            play::play(workspace, &pairings, features, &urls, &token)
        },
        |index, outcomes| {
            for (&index, outcome) in groups[index].iter().zip(outcomes) {
                played[index] = Some(outcome);
                done += 1;
                console::news(&format!("{done} of {} pairs … last: {}", pairings.len(), pairings[index].name()));
            }
        },
    );
    let (mut cells, mut faults) = (Vec::new(), Vec::new());
    for (pairing, played) in pairings.iter().zip(played.into_iter().flatten()) {
        cells.extend(cell::judge(pairing, features, &played, &absences));
        faults.extend(played.fault.map(|fault| format!("{}: {fault}", pairing.name())));
    }
    // The HTTP+SSE connections that peers do not support.
    let stdio = pairings.iter().filter(|pairing| pairing.transport() == Transport::Stdio);
    cells.extend(stdio.filter_map(cell::without_sse));
    // Our own servers must stop when asked; others are killed if they do not.
    faults.extend(servers.stop(|name| name.starts_with(pairing::OURS)).err());
    Ok(Findings { cells, faults, seconds: start.elapsed().as_secs_f64() })
}

/// The indexes of the pairings that one client process plays, those with the most cells first.
fn groups(pairings: &[Pairing], features: &Features) -> Vec<Vec<usize>> {
    let mut groups = BTreeMap::<_, Vec<usize>>::new();
    for (index, pairing) in pairings.iter().enumerate() {
        groups.entry(pairing.group()).or_default().push(index);
    }
    let is_played = |pairing: &Pairing, cell: &(&str, &str)| pairing.has(cell.0, cell.1);
    let cells = |&index: &usize| {
        let pairing = &pairings[index];
        pairing.cells(features).iter().filter(|cell| is_played(pairing, cell)).count()
    };
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_cached_key(|group| Reverse(group.iter().map(cells).sum::<usize>()));
    groups
}

/// The access token that protected servers accept.
fn token(workspace: &Workspace) -> Result<String> {
    let data: Value = workspace.json(party::AUTHORIZATION)?;
    data["token"].as_str().map(str::to_owned).with_context(|| format!("{}: no token", party::AUTHORIZATION))
}
