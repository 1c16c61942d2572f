//! Plays the features of pairings with one client: one process for all connections and features,
//! because it costs more to start than to call, whose output lines are matched one by one. If a
//! feature produces no line, it is retried separately, and those after it continue without it, so
//! that one that hangs does not affect the others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_pattern::{Saved, filled, matches};

use crate::http_servers::Urls;
use crate::matrix::feature::{Feature, Features};
use crate::matrix::pairing::Pairing;
use crate::matrix::party::Party;
use crate::process::{Process, tail};
use crate::workspace::Workspace;

/// The client and its server may have to import an SDK on a busy machine: before the connection,
/// or, with a revision that needs no handshake, before the first operation.
const LINE_TIMEOUT: Duration = Duration::from_secs(45);
/// The first response of a server may take as long as the import of its SDK.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// The client must exit this soon after its last line.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
const PAIRING_TIMEOUT: Duration = Duration::from_secs(300);
/// The minimum log level that clients request.
const LOG_LEVEL: &str = "error";
/// Reasons show lines only up to this length.
const MAX_SHOWN_CHARS: usize = 400;

pub(super) struct Played {
    /// One per revision, and then the connection that negotiates, if there is one. The first
    /// outcome is that of the connection itself, followed by one per feature of the revision.
    pub(super) connections: Vec<Vec<Outcome>>,
    /// Set if a client of ours did not exit cleanly.
    pub(super) fault: Option<String>,
}

/// The time in milliseconds, or why it failed.
pub(super) type Outcome = Result<f64, String>;

/// Plays pairings of one client, and returns their outcomes in the same order.
pub(super) fn play(
    workspace: &Workspace,
    pairings: &[&Pairing],
    features: &Features,
    urls: &Urls,
    token: &str,
) -> Vec<Played> {
    let wanted: Vec<Wanted<'_>> = (0..pairings.len()).flat_map(|place| wanted(pairings, place, features)).collect();
    let mut player = Player {
        workspace,
        pairings,
        targets: pairings.iter().map(|pairing| pairing.target(workspace, urls)).collect(),
        token,
        wanted: &wanted,
        until: vec![None; pairings.len()],
        outcomes: BTreeMap::new(),
        fault: None,
    };
    player.play_all();
    let mut played: Vec<Played> =
        pairings.iter().map(|_| Played { connections: Vec::new(), fault: player.fault.take() }).collect();
    for (index, Wanted { pairing, .. }) in wanted.iter().enumerate() {
        played[*pairing].connections.push(player.outcomes_of(index));
    }
    played
}

fn wanted<'a>(pairings: &[&Pairing], place: usize, features: &'a Features) -> Vec<Wanted<'a>> {
    let pairing = pairings[place];
    let pinned = pairing.connections().into_iter().map(|revision| Wanted {
        pairing: place,
        asked: revision,
        speaks: revision,
        features: features.iter().filter(|feature| pairing.plays(feature, revision)).collect(),
    });
    let newest = pairing.newest();
    let auto = Wanted { pairing: place, asked: "auto", speaks: newest, features: Vec::new() };
    pinned.chain(pairing.negotiates().then_some(auto)).collect()
}

/// A connection and its purpose.
struct Wanted<'a> {
    pairing: usize,
    asked: &'static str,
    speaks: &'static str,
    features: Vec<&'a Feature>,
}

/// The index of a connection; and 0 for its opening, or the index of a feature plus 1.
type Slot = (usize, usize);

struct Player<'a> {
    workspace: &'a Workspace,
    pairings: &'a [&'a Pairing],
    /// Of each pairing: the words that name its server, or why it has none.
    targets: Vec<Result<Vec<String>, String>>,
    wanted: &'a [Wanted<'a>],
    /// For servers that require one.
    token: &'a str,
    /// Of each pairing that was begun.
    until: Vec<Option<Instant>>,
    outcomes: BTreeMap<Slot, Outcome>,
    fault: Option<String>,
}

/// The client printed no line in time.
struct Stuck {
    slot: Slot,
    reason: String,
}

impl Player<'_> {
    fn play_all(&mut self) {
        let everything = self.wanted.iter().enumerate();
        let mut open: Vec<Slot> =
            everything.flat_map(|(index, wanted)| (0..=wanted.features.len()).map(move |slot| (index, slot))).collect();
        for (index, wanted) in self.wanted.iter().enumerate() {
            if let Err(reason) = self.targets[wanted.pairing].clone() {
                self.fail((index, 0), &reason);
            }
        }
        loop {
            // Without a connection, its features cannot be played.
            open.retain(|slot| !self.outcomes.contains_key(slot));
            let now = Instant::now();
            open.retain(|slot| self.until[self.wanted[slot.0].pairing].is_none_or(|until| now < until));
            if open.is_empty() {
                return;
            }
            let Err(stuck) = self.attempt(&open, true) else { return };
            let place = open.iter().position(|slot| *slot == stuck.slot).unwrap_or(0);
            open.drain(..=place);
            self.play_alone(stuck);
        }
    }

    fn play_alone(&mut self, stuck: Stuck) {
        let alone = if stuck.slot.1 == 0 { vec![stuck.slot] } else { vec![(stuck.slot.0, 0), stuck.slot] };
        let again = self.attempt(&alone, false).err().map(|stuck| stuck.reason);
        if let Some(reason) = again {
            let reason = if reason == stuck.reason { reason } else { format!("{}, and then {reason}", stuck.reason) };
            self.fail(stuck.slot, &reason);
        }
    }

    /// Records a failure. If a connection cannot be opened, all of its features fail.
    fn fail(&mut self, slot: Slot, reason: &str) {
        self.outcomes.insert(slot, Err(reason.to_owned()));
        if slot.1 == 0 {
            for feature in 1..=self.wanted[slot.0].features.len() {
                self.outcomes.insert((slot.0, feature), Err(format!("no connection: {reason}")));
            }
        }
    }

    /// Plays the slots with one client process.
    fn attempt(&mut self, slots: &[Slot], is_all: bool) -> Result<(), Stuck> {
        let first = *slots.first().unwrap_or(&(0, 0));
        let stuck = |reason| Stuck { slot: first, reason };
        let file = self.write(slots).map_err(|error| stuck(format!("the operations cannot be written: {error}")))?;
        let target = self.targets[self.wanted[first.0].pairing].clone().map_err(stuck)?;
        let pairing = self.pairings[self.wanted[first.0].pairing];
        let command = pairing.client_command(self.workspace, &file, &target);
        let mut client = Process::start(command).map_err(|error| stuck(format!("{error:#}")))?;
        for (connection, features) in connections(slots) {
            if self.open(&mut client, connection)? {
                for feature in features {
                    self.feature(&mut client, connection, feature)?;
                }
            }
        }
        if matches!(pairing.client, Party::Ours(_)) && is_all {
            self.fault = end(&mut client);
        }
        Ok(())
    }

    /// Reads the line of a connection. Returns whether it could be opened.
    fn open(&mut self, client: &mut Process, index: usize) -> Result<bool, Stuck> {
        let line = self.line(client, (index, 0))?;
        let speaks = self.wanted[index].speaks;
        if line.get("connected").is_none() {
            self.fail((index, 0), &shown(&line));
            return Ok(false);
        }
        // Only the first opening of a connection counts; a later one is for the retry of a feature.
        let outcome = judged(&[json!({"connected": speaks})], &[line]);
        self.outcomes.entry((index, 0)).or_insert(outcome);
        Ok(true)
    }

    fn feature(&mut self, client: &mut Process, connection: usize, index: usize) -> Result<(), Stuck> {
        let (feature, slot) = (self.wanted[connection].features[index], (connection, index + 1));
        let lines: Result<Vec<Value>, Stuck> = feature.operations.iter().map(|_| self.line(client, slot)).collect();
        self.outcomes.insert(slot, judged(&feature.results, &lines?));
        Ok(())
    }

    fn line(&mut self, client: &mut Process, slot: Slot) -> Result<Value, Stuck> {
        let now = Instant::now();
        let until = *self.until[self.wanted[slot.0].pairing].get_or_insert(now + PAIRING_TIMEOUT);
        let until = until.min(now + LINE_TIMEOUT);
        while let Some(line) = client.stdout_line(until) {
            // SDKs may print other lines.
            if let Ok(line @ Value::Object(_)) = serde_json::from_str(&line) {
                return Ok(line);
            }
        }
        let ended = client.wait(Instant::now());
        let ending =
            ended.map_or_else(|| "no line came in time".to_owned(), |status| format!("the client ended with {status}"));
        let last_words = tail(&client.last_words(), 10);
        Err(Stuck { slot, reason: format!("{ending}\n{last_words}").trim_end().to_owned() })
    }

    /// Writes the operations of the slots to a file.
    fn write(&self, slots: &[Slot]) -> std::io::Result<PathBuf> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = self.workspace.target.join("matrix");
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{}.json", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let play = |(connection, features): (usize, Vec<usize>)| {
            let Wanted { pairing, asked, features: all, .. } = &self.wanted[connection];
            let operations: Vec<&Value> = features.into_iter().flat_map(|feature| &all[feature].operations).collect();
            let probe = PROBE_TIMEOUT.as_millis();
            let mut play = json!({"revision": asked, "host": true, "logLevel": LOG_LEVEL, "probeTimeoutMs": probe, "do": operations});
            play["target"] = self.targets[*pairing].clone().unwrap_or_default().into();
            if self.pairings[*pairing].is_protected() {
                play["token"] = self.token.into();
            }
            play
        };
        let plays: Vec<Value> = connections(slots).into_iter().map(play).collect();
        std::fs::write(&file, json!({"plays": plays}).to_string())?;
        Ok(file)
    }

    fn outcomes_of(&self, connection: usize) -> Vec<Outcome> {
        let outcome = |slot| {
            let untried = || Err(format!("not tried within {} s", PAIRING_TIMEOUT.as_secs()));
            self.outcomes.get(&(connection, slot)).cloned().unwrap_or_else(untried)
        };
        (0..=self.wanted[connection].features.len()).map(outcome).collect()
    }
}

/// The connections of the slots, each with the indexes of its features.
fn connections(slots: &[Slot]) -> Vec<(usize, Vec<usize>)> {
    let features = |slots: &[Slot]| slots.iter().filter_map(|(_, slot)| slot.checked_sub(1)).collect();
    slots.chunk_by(|one, next| one.0 == next.0).map(|slots| (slots[0].0, features(slots))).collect()
}

/// Matches the lines of a feature with their patterns, which may refer to values in earlier lines.
fn judged(patterns: &[Value], lines: &[Value]) -> Outcome {
    let mut saved = Saved::new();
    for (pattern, line) in patterns.iter().zip(lines) {
        if !matches(&filled(pattern.clone(), &saved), line, &mut saved) {
            return Err(format!("{} does not match {pattern}", shown(line)));
        }
    }
    let times = lines.iter().map(|line| line["ms"].as_f64());
    times.sum::<Option<f64>>().ok_or_else(|| "a line without ms".to_owned())
}

fn shown(line: &Value) -> String {
    line.to_string().chars().take(MAX_SHOWN_CHARS).collect()
}

/// Why the client did not exit cleanly.
fn end(client: &mut Process) -> Option<String> {
    let until = Instant::now() + EXIT_TIMEOUT;
    while client.stdout_line(until).is_some() {}
    match client.wait(until) {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("the client ended with {status}\n{}", tail(&client.last_words(), 10))),
        None => Some(format!("the client did not end within {} s of its last line, killed", EXIT_TIMEOUT.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_is_opened_before_its_features() {
        let connections = connections(&[(0, 0), (0, 1), (0, 2), (1, 0), (2, 3)]);
        assert_eq!(connections, [(0, vec![0, 1]), (1, vec![]), (2, vec![2])]);
    }

    #[test]
    fn all_lines_must_match_and_their_times_are_added() {
        let patterns = [json!({"error": "timeout"}), json!({"ping": true})];
        let lines = [json!({"error": "timeout", "ms": 60.5}), json!({"ping": true, "ms": 1})];
        assert!(matches!(judged(&patterns, &lines), Ok(ms) if (ms - 61.5).abs() < 0.01));
        let wrong = [lines[0].clone(), json!({"error": "closed", "ms": 1})];
        assert!(matches!(judged(&patterns, &wrong), Err(reason) if reason.contains("closed")));
        assert!(judged(&patterns[1..], &[json!({"ping": true})]).is_err());
        let same = [json!({"read": "$save:first"}), json!({"read": "$use:first"})];
        let read = |number: i32| json!({"read": number, "ms": 1});
        assert!(judged(&same, &[read(1), read(1)]).is_ok());
        assert!(judged(&same, &[read(1), read(2)]).is_err());
    }
}
