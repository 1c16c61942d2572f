//! The cells of the short form: a selection that covers the tables.
//!
//! Each feature is played by every client and by every server in each of its revisions, and every
//! client calls every server over every transport. The clients that meet a server with all features
//! and their transports take turns, so that as many commits in a row as there are languages, times
//! the transports, play every feature of every pair of ours over every transport.

use std::collections::BTreeSet;

use crate::language::Language;
use crate::matrix::feature::Features;
use crate::matrix::pairing::{Chosen, Pairing};
use crate::matrix::party::{PEERS, Party, Transport};

/// Played before a feature that is played alone. Clients do not wait until the server has set the
/// log level that they ask for, so over HTTP+SSE their first request may overtake it.
const FIRST_FEATURE: &str = "tools: list";

/// A feature of a side in a revision. The server's name has the suffix of its form.
type Covered<'a> = (Side, String, &'static str, &'a str);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Client,
    Server,
}

/// Chooses the cells of each pairing. Pairings without a chosen cell are removed.
pub(super) fn choose(pairings: &mut Vec<Pairing>, features: &Features, turn: usize) {
    let mut covered = BTreeSet::new();
    let mut order: Vec<&mut Pairing> = pairings.iter_mut().collect();
    order.sort_by_key(|pairing| rank(pairing, turn));
    for pairing in order {
        let cells = pairing.cells(features);
        let mut chosen = Chosen::new();
        let mut choose = |revision, feature: &str| chosen.entry(revision).or_default().insert(feature.to_owned());
        for &(revision, feature) in &cells {
            // Both sides count, even if the first one is new.
            let is_new = sides(pairing, revision, feature).map(|side| covered.insert(side));
            if is_new.contains(&true) {
                choose(revision, feature);
            }
        }
        if chosen.is_empty() && !pairing.is_protected() {
            let (revision, feature) = cells[(place(pairing.client) + place(pairing.server) + turn) % cells.len()];
            chosen.entry(revision).or_default().extend([FIRST_FEATURE.to_owned(), feature.to_owned()]);
        }
        pairing.chosen = Some(chosen);
    }
    pairings.retain(|pairing| pairing.chosen.as_ref().is_some_and(|chosen| !chosen.is_empty()));
}

/// Pairings with a low rank come first, and cover most. Peers lack features, so they come last.
fn rank(pairing: &Pairing, turn: usize) -> (bool, usize, usize) {
    let (client, server) = (place(pairing.client), place(pairing.server));
    let is_with_peer = [pairing.client, pairing.server].iter().any(|party| matches!(party, Party::Peer(_)));
    let languages = Language::ALL.len();
    let transport = Transport::ALL.iter().position(|&one| one == pairing.transport()).unwrap_or_default();
    let of_transport = (transport + client + turn / languages) % Transport::ALL.len();
    (is_with_peer, (server + languages * PEERS.len() - client + turn) % languages, of_transport)
}

fn place(party: Party) -> usize {
    let place = match party {
        Party::Ours(language) => Language::known().position(|one| one == language),
        Party::Peer(peer) => PEERS.iter().position(|one| one == peer),
    };
    place.unwrap_or_default()
}

fn sides<'a>(pairing: &Pairing, revision: &'static str, feature: &'a str) -> [Covered<'a>; 2] {
    let of = |side, name: String| (side, name, revision, feature);
    [of(Side::Client, pairing.client.name().to_owned()), of(Side::Server, pairing.server_name())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::pairing::{all, ours};
    use crate::workspace::Workspace;

    fn chosen(turn: usize, features: &Features) -> Vec<Pairing> {
        let mut pairings = all(&Language::ALL);
        choose(&mut pairings, features, turn);
        pairings
    }

    fn cells<'a>(pairings: &'a [Pairing], features: &'a Features) -> Vec<(&'a Pairing, &'static str, &'a str)> {
        let of = |pairing: &'a Pairing| {
            let cells = pairing.cells(features).into_iter();
            cells.map(move |(revision, feature)| (pairing, revision, feature))
        };
        pairings.iter().flat_map(of).filter(|(pairing, revision, feature)| pairing.has(revision, feature)).collect()
    }

    #[test]
    fn the_short_form_covers_both_sides_and_all_pairs() {
        let features = Features::load(&Workspace::find().unwrap()).unwrap();
        let everything = all(&Language::ALL);
        for turn in 0..Language::ALL.len() {
            let short = chosen(turn, &features);
            let played = cells(&short, &features);
            let sides_of = |cells: &[(&Pairing, &'static str, &str)]| -> BTreeSet<String> {
                let sides = cells.iter().flat_map(|(pairing, revision, feature)| sides(pairing, revision, feature));
                let name = |side: Side| if side == Side::Client { "client" } else { "server" };
                sides
                    .map(|(side, party, revision, feature)| {
                        format!("{feature}: the {} {party}, {revision}", name(side))
                    })
                    .collect()
            };
            let missing = &sides_of(&cells(&everything, &features)) - &sides_of(&played);
            assert!(missing.is_empty(), "in neither form at turn {turn}: {missing:#?}");
            let pairs = |pairings: &[Pairing]| -> BTreeSet<String> {
                pairings.iter().filter(|pairing| !pairing.is_protected()).map(Pairing::name).collect()
            };
            assert_eq!(&pairs(&everything) - &pairs(&short), BTreeSet::new(), "turn {turn}");
            assert!(played.len() * 12 < cells(&everything, &features).len(), "{} cells are too many", played.len());
        }
    }

    #[test]
    fn commits_in_a_row_play_everything_of_ours() {
        let features = Features::load(&Workspace::find().unwrap()).unwrap();
        let named = |pairings: &[Pairing]| -> BTreeSet<String> {
            let is_ours = |(pairing, ..): &(&Pairing, &str, &str)| {
                [pairing.client, pairing.server].iter().all(|party| matches!(party, Party::Ours(_)))
            };
            let cells = cells(pairings, &features).into_iter().filter(is_ours);
            cells.map(|(pairing, revision, feature)| format!("{feature}: {}, {revision}", pairing.name())).collect()
        };
        let turns = 1000..1000 + Language::ALL.len() * Transport::ALL.len();
        let played: BTreeSet<String> = turns.flat_map(|turn| named(&chosen(turn, &features))).collect();
        assert_eq!(&named(&ours(&Language::ALL)) - &played, BTreeSet::new());
    }
}
