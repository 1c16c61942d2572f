//! Checks whole files of records and reports the results.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use serde::Serialize;
use serde_json::{Value, json};

use crate::record::{Entry, Flow};
use crate::tolerance::Tolerance;
use crate::walk::excerpt;
use crate::{Checker, Record, Violation, ViolationKind};

/// Longer messages rarely repeat.
const MAX_CACHED_LENGTH: usize = 16 * 1024;
/// Violations beyond these are only counted.
const MAX_STORED_VIOLATIONS: usize = 1000;
/// Longer messages are reported as an excerpt.
const MAX_EXCERPT: usize = 400;
const MAX_PRINTED_VIOLATIONS: usize = 50;

/// The contents of the checked files.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    /// Number of files that were read.
    pub files: usize,
    /// Number of messages that were checked; a batch counts as one.
    pub checked: usize,
    /// Number of records of refused input, which is not checked.
    pub malformed: usize,
    /// Number of files whose last line is incomplete, because their writer was killed; that line is
    /// not checked.
    pub truncated: usize,
    /// Checked messages by revision, then transport.
    pub messages: BTreeMap<String, BTreeMap<String, Count>>,
    /// Number of violations.
    pub violation_count: usize,
    /// Number of violations in messages written by the peer.
    pub by_peers: usize,
    /// The first of them.
    pub violations: Vec<Finding>,
    /// The tolerated faults of peers with their counts, which are not among the violations.
    pub tolerated: Vec<Tolerance>,
    #[serde(skip)]
    clean: HashSet<String>,
}

/// Number of checked messages, by writer.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Count {
    /// Written by us.
    pub sent: usize,
    /// Written by the peer.
    pub received: usize,
}

/// A violation and its location.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The file of records.
    pub file: PathBuf,
    /// The line in it, counted from 1.
    pub line: usize,
    /// The message's revision, direction, method, transport and writer, if the line could be read.
    #[serde(flatten)]
    pub origin: Option<Origin>,
    /// The fault.
    #[serde(flatten)]
    pub violation: Violation,
    /// The beginning of the message, or of the line if it could not be read.
    pub excerpt: String,
}

/// The origin of a message.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// The revision against which it was checked.
    pub revision: crate::Revision,
    /// The sender and the receiver.
    pub direction: crate::Direction,
    /// Its method, or that of the request it answers.
    pub method: Option<String>,
    /// Transport of the message.
    pub transport: String,
    /// The writer.
    pub flow: Flow,
}

impl Tally {
    /// Checks files of records, and recursively every `.jsonl` file in folders, on all processors.
    /// Tolerated faults of messages that were received are only counted.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn of(paths: &[PathBuf], checker: &Checker, tolerated: Vec<Tolerance>) -> io::Result<Self> {
        let mut files = Vec::new();
        paths.iter().try_for_each(|path| collect(path, &mut files).map_err(|error| named(path, error)))?;
        // The long ones first, so that none is left alone at the end.
        files.sort_by_key(|(size, _)| Reverse(*size));
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut tally = Self { tolerated: tolerated.clone(), ..Self::default() };
            while let Some((_, path)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                tally.read(checker, path).map_err(|error| named(path, error))?;
            }
            Ok(tally)
        };
        let workers = available_parallelism().map_or(1, NonZero::get);
        let tallies: Vec<io::Result<Self>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
            running.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let mut sum = Self { tolerated, ..Self::default() };
        tallies.into_iter().try_for_each(|tally| tally.map(|tally| sum.add(tally)))?;
        sum.violations.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        sum.violations.truncate(MAX_STORED_VIOLATIONS);
        Ok(sum)
    }

    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.checked += other.checked;
        self.malformed += other.malformed;
        self.truncated += other.truncated;
        for (revision, transports) in other.messages {
            let row = self.messages.entry(revision).or_default();
            for (transport, count) in transports {
                let sum = row.entry(transport).or_default();
                sum.sent += count.sent;
                sum.received += count.received;
            }
        }
        self.violation_count += other.violation_count;
        self.by_peers += other.by_peers;
        self.violations.extend(other.violations);
        self.tolerated.iter_mut().zip(&other.tolerated).for_each(|(sum, one)| sum.add(one));
    }

    fn read(&mut self, checker: &Checker, path: &Path) -> io::Result<()> {
        self.files += 1;
        let mut reader = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let is_whole = line.ends_with(b"\n");
            let text = line.trim_ascii();
            match Entry::parse(text) {
                _ if text.is_empty() => {}
                Ok(entry) => self.check(checker, path, number, entry),
                Err(_) if !is_whole => self.truncated += 1,
                Err(error) => {
                    let violation = Violation::new(ViolationKind::NoMessage, "", error.to_string());
                    let excerpt = excerpt(&String::from_utf8_lossy(text), MAX_EXCERPT);
                    self.keep(Finding { file: path.to_owned(), line: number, origin: None, violation, excerpt });
                }
            }
        }
        Ok(())
    }

    fn check(&mut self, checker: &Checker, path: &Path, line: usize, entry: Entry) {
        let Some(mut record) = entry.record else {
            if entry.is_message {
                self.malformed += 1;
            }
            return;
        };
        self.checked += 1;
        let transports = self.messages.entry(record.revision.to_string()).or_default();
        let count = transports.entry(entry.transport.clone()).or_default();
        match entry.flow {
            Flow::Sent => count.sent += 1,
            Flow::Received => count.received += 1,
        }
        let likeness = likeness(&mut record);
        if self.clean.contains(&likeness) {
            return;
        }
        let violations = checker.check(&record);
        if violations.is_empty() {
            if likeness.len() <= MAX_CACHED_LENGTH {
                self.clean.insert(likeness);
            }
            return;
        }
        let origin = Origin {
            revision: record.revision,
            direction: record.direction,
            method: record.message.get("method").and_then(Value::as_str).map(str::to_owned).or(record.method),
            transport: entry.transport,
            flow: entry.flow,
        };
        let excerpt = excerpt(&record.message.to_string(), MAX_EXCERPT);
        for violation in violations {
            let (origin, excerpt) = (Some(origin.clone()), excerpt.clone());
            self.keep(Finding { file: path.to_owned(), line, origin, violation, excerpt });
        }
    }

    fn keep(&mut self, finding: Finding) {
        let received = finding.origin.as_ref().filter(|origin| origin.flow == Flow::Received);
        let mut known = self.tolerated.iter_mut();
        let is_known = |origin| known.any(|known| known.takes(&finding.file, origin, &finding.violation));
        if received.is_some_and(is_known) {
            return;
        }
        self.violation_count += 1;
        self.by_peers += usize::from(received.is_some());
        if self.violations.len() < MAX_STORED_VIOLATIONS {
            self.violations.push(finding);
        }
    }

    /// Returns whether messages were checked and all were valid.
    pub fn passed(&self) -> bool {
        self.checked > 0 && self.violation_count == 0
    }
}

/// Appends a file with its size in bytes, or recursively every `.jsonl` file in a folder.
fn collect(path: &Path, files: &mut Vec<(u64, PathBuf)>) -> io::Result<()> {
    if !path.is_dir() {
        files.push((path.metadata()?.len(), path.to_owned()));
        return Ok(());
    }
    for entry in path.read_dir()? {
        let entry = entry?;
        let inner = entry.path();
        if entry.file_type()?.is_dir() || inner.extension().is_some_and(|kind| kind == "jsonl") {
            collect(&inner, files)?;
        }
    }
    Ok(())
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The key of a message: everything but the value of its id. Tests repeat messages thousands of
/// times.
fn likeness(record: &mut Record) -> String {
    let id = record.message.get_mut("id").map(|id| {
        let stand_in = match &*id {
            Value::String(_) => json!(""),
            Value::Number(number) if number.is_i64() || number.is_u64() => json!(0),
            other => other.clone(),
        };
        std::mem::replace(id, stand_in)
    });
    let Record { revision, direction, method, extensions, message } = &*record;
    let likeness = format!("{revision} {direction:?} {method:?} {extensions:?} {message}");
    if let Some(id) = id {
        record.message["id"] = id;
    }
    likeness
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self.violations.iter().take(MAX_PRINTED_VIOLATIONS) {
            writeln!(f, "{finding}")?;
        }
        let unprinted = self.violation_count.saturating_sub(MAX_PRINTED_VIOLATIONS);
        if unprinted > 0 {
            writeln!(f, "… and {unprinted} more violations\n")?;
        }
        let transports: Vec<&String> = {
            let mut names: Vec<_> = self.messages.values().flat_map(BTreeMap::keys).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        write!(f, "{:<12}", "revision")?;
        transports.iter().try_for_each(|name| write!(f, "{name:>10}"))?;
        writeln!(f, "{:>10}", "sent")?;
        for (revision, row) in &self.messages {
            write!(f, "{revision:<12}")?;
            for transport in &transports {
                let count = row.get(*transport).copied().unwrap_or_default();
                write!(f, "{:>10}", count.sent + count.received)?;
            }
            writeln!(f, "{:>10}", row.values().map(|count| count.sent).sum::<usize>())?;
        }
        self.tolerated.iter().try_for_each(|known| writeln!(f, "{known}"))?;
        write!(
            f,
            "{} messages checked in {} files, {} violations, {} of them by peers ({} refused, {} cut off: not checked)",
            self.checked, self.files, self.violation_count, self.by_peers, self.malformed, self.truncated
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.file.display(), self.line, self.violation)?;
        if let Some(Origin { revision, direction, method, transport, flow }) = &self.origin {
            let method = method.as_deref().unwrap_or("unknown method");
            let [sender, receiver] = match direction {
                crate::Direction::ClientToServer => ["client", "server"],
                crate::Direction::ServerToClient => ["server", "client"],
            };
            let writer = if *flow == Flow::Sent { "ours" } else { "the peer's" };
            writeln!(f, "    {method}, {revision}, {sender} to {receiver} over {transport}, {writer}")?;
        }
        writeln!(f, "    {}", self.excerpt)
    }
}
