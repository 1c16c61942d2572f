//! A conformance check for stores. Every built-in driver passes it; custom stores should too.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc, time::Duration};
use trunkline_core::{
    extension::{later, race, random::unguessable, sync::Mutex},
    runtime::{BoxedTask, Runtime},
    store::{LogEntry, Store, StoreGuard, StoreTask},
};

const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);
/// Used where the check waits for time to pass.
const SHORT_TIME: Duration = Duration::from_millis(300);
/// How quickly a waiting read must return an entry appended by another process.
const WAKE_TIMEOUT: Duration = Duration::from_secs(10);
const NO_WAIT: Duration = Duration::ZERO;
/// Values in findings are truncated to this many bytes.
const MAX_EXCERPT: usize = 200;

type Found<T = ()> = Result<T, String>;
type ContractPart = fn(Subject, Subject) -> BoxedTask<Found>;

/// The parts of the contract. They are independent, so one failure does not hide another.
const PARTS: [(&str, ContractPart); 8] = [
    ("entries", |one, other| Box::pin(entries(one, other))),
    ("conditions", |one, other| Box::pin(conditions(one, other))),
    ("times", |one, other| Box::pin(times(one, other))),
    ("atomicity", |one, other| Box::pin(atomicity(one, other))),
    ("logs", |one, other| Box::pin(logs(one, other))),
    ("bounds of logs", |one, other| Box::pin(bounds_of_logs(one, other))),
    ("appending together", |one, other| Box::pin(appending_together(one, other))),
    ("waiting", |one, other| Box::pin(waiting(one, other))),
];

/// Checks a store over two connections, which may be the same one. Returns the violations found.
pub(crate) async fn findings(runtime: Arc<dyn Runtime>, one: Arc<dyn Store>, other: Arc<dyn Store>) -> Vec<String> {
    let Some(run) = unguessable() else { return vec!["could not get random bytes from the system".to_owned()] };
    let prefix = format!("check/{run}/");
    let mut findings = Vec::new();
    for (name, part) in PARTS {
        let keys = Arc::<Mutex<BTreeSet<String>>>::default();
        // Each part gets its own guards, so a failed call doesn't affect the next part.
        let [one, other] = [&one, &other].map(|store| Subject {
            store: StoreGuard::new(Arc::clone(store), "under test", Arc::clone(&runtime), CALL_TIMEOUT),
            runtime: Arc::clone(&runtime),
            prefix: prefix.clone(),
            keys: Arc::clone(&keys),
        });
        if let Err(finding) = part(one.clone(), other).await {
            findings.push(format!("{name}: {finding}"));
        }
        one.clean_up().await;
    }
    findings
}

/// Returns a finding unless two values are equal.
macro_rules! same {
    ($found:expr, $expected:expr, $($place:tt)+) => {{
        match (&$found, &$expected) {
            (found, expected) if *found != *expected => {
                return Err(format!("{}: {}, not {}", format_args!($($place)+), excerpt(found), excerpt(expected)));
            }
            _ => {}
        }
    }};
}

/// Returns a finding unless the condition holds.
macro_rules! holds {
    ($condition:expr, $($problem:tt)+) => {
        if !$condition {
            return Err(format!($($problem)+));
        }
    };
}

/// Formats a value for a finding.
fn excerpt<T: Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A connection to the store under test, with keys private to one check. Failures name the call.
#[derive(Clone)]
struct Subject {
    store: StoreGuard,
    runtime: Arc<dyn Runtime>,
    prefix: String,
    /// All keys used so far.
    keys: Arc<Mutex<BTreeSet<String>>>,
}

impl Subject {
    fn key(&self, key: &str) -> String {
        let key = format!("{}{key}", self.prefix);
        self.keys.lock().insert(key.clone());
        key
    }

    async fn get(&self, key: &str) -> Found<Option<String>> {
        named("get", key, self.store.get(&self.key(key))).await
    }

    async fn put(&self, key: &str, text: &str, keep_for: Duration) -> Found {
        named("put", key, self.store.put(&self.key(key), text, keep_for)).await
    }

    async fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> Found<bool> {
        named("put_if", key, self.store.put_if(&self.key(key), expected, text, keep_for)).await
    }

    async fn remove(&self, key: &str) -> Found {
        named("remove", key, self.store.remove(&self.key(key))).await
    }

    async fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> Found<u64> {
        named("append", log, self.store.append(&self.key(log), entry, max_entries, keep_for)).await
    }

    async fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> Found<Vec<LogEntry>> {
        let entries = named("read", log, self.store.read(&self.key(log), after, limit, wait)).await?;
        let count = entries.len();
        holds!(count <= limit, "read of {log:?}: {count} entries, and the limit was {limit}");
        Ok(entries)
    }

    async fn sleep(&self, time: Duration) {
        self.runtime.sleep_until(later(self.runtime.now(), time)).await;
    }

    /// Removes the keys that the check created, on a best-effort basis.
    async fn clean_up(&self) {
        let keys = std::mem::take(&mut *self.keys.lock());
        for key in keys {
            if self.store.remove(&key).await.is_err() {
                return;
            }
        }
    }
}

/// Awaits a call. The error names the call and its key.
async fn named<T>(call: &str, key: &str, done: StoreTask<T>) -> Found<T> {
    done.await.map_err(|error| format!("{call} of {} failed: {error}", excerpt(&key)))
}

async fn entries(one: Subject, other: Subject) -> Found {
    same!(one.get("a").await?, None, "get of a key that was never put");
    one.remove("a").await?;
    // Values are returned byte for byte.
    for text in
        ["", "\r\n a \t", "{}", "{ \"b\" : 1,\n\"a\":2.0 }", "ä\u{1F600}\0\u{7f}", "'\";--", &"x".repeat(1 << 20)]
    {
        one.put("a", text, MINUTE).await?;
        same!(other.get("a").await?.as_deref(), Some(text), "get of what was put");
    }
    // Keys are case-sensitive and never treated as patterns.
    let keys = ["A", "%", "*", "_", "[a]", "{a}", "a:b?#\\'\""];
    for key in keys {
        same!(one.get(key).await?, None, "get of {key:?}, which was never put, next to other keys");
        one.put(key, key, MINUTE).await?;
    }
    for key in keys {
        same!(other.get(key).await?.as_deref(), Some(key), "get of {key:?}");
    }
    other.remove("%").await?;
    same!(one.get("%").await?, None, "get of \"%\" after remove");
    same!(one.get("A").await?.as_deref(), Some("A"), "get of \"A\" after remove of \"%\"");
    let longest = "k".repeat(512 - one.prefix.len());
    one.put(&longest, "1", MINUTE).await?;
    same!(other.get(&longest).await?.as_deref(), Some("1"), "get of a key of 512 bytes");
    Ok(())
}

async fn conditions(one: Subject, other: Subject) -> Found {
    same!(
        one.put_if("a", Some(""), "1", MINUTE).await?,
        false,
        "put_if with an empty text, which is not the same as an absent one"
    );
    same!(one.put_if("a", None, "1", MINUTE).await?, true, "put_if of an absent key, expected absent");
    same!(other.put_if("a", None, "2", MINUTE).await?, false, "put_if of a key that is there, expected absent");
    same!(other.put_if("a", Some("0"), "2", MINUTE).await?, false, "put_if with a text other than the current one");
    same!(one.get("a").await?.as_deref(), Some("1"), "get after put_if that did nothing");
    same!(other.put_if("a", Some("1"), "2", MINUTE).await?, true, "put_if with the current text");
    same!(one.get("a").await?.as_deref(), Some("2"), "get after put_if");
    one.remove("a").await?;
    same!(one.put_if("a", Some("2"), "3", MINUTE).await?, false, "put_if with the text that was removed");
    same!(one.put_if("a", None, "3", MINUTE).await?, true, "put_if of a key that was removed, expected absent");
    Ok(())
}

async fn times(one: Subject, other: Subject) -> Found {
    let begin = one.runtime.now();
    one.put("put", "1", SHORT_TIME).await?;
    let found = other.get("put").await?;
    // On a busy machine the entry may already have expired.
    if one.runtime.now() < later(begin, SHORT_TIME) {
        same!(found.as_deref(), Some("1"), "get within the time of an entry");
    }
    same!(one.put_if("if", None, "1", SHORT_TIME).await?, true, "put_if of an absent key, expected absent");
    one.put("longer", "1", MINUTE).await?;
    same!(one.put_if("longer", Some("1"), "1", 2 * MINUTE).await?, true, "put_if with the current text");
    one.put("shorter", "1", MINUTE).await?;
    one.put("shorter", "1", SHORT_TIME).await?;
    one.append("log", "1", 9, SHORT_TIME).await?;
    one.append("renewed", "1", 9, MINUTE).await?;
    one.append("renewed", "2", 9, MINUTE).await?;
    // Longer than any clock can represent.
    one.put("ever", "1", Duration::MAX).await?;
    one.append("ever-log", "1", 9, Duration::MAX).await?;
    one.sleep(SHORT_TIME + SHORT_TIME / 3).await;
    for key in ["put", "if", "shorter"] {
        same!(other.get(key).await?, None, "get of {key:?} after its lifetime of {SHORT_TIME:?}");
    }
    same!(other.put_if("if", None, "2", MINUTE).await?, true, "put_if of an expired key, expected absent");
    for key in ["longer", "ever"] {
        same!(other.get(key).await?.as_deref(), Some("1"), "get of {key:?} within its time");
    }
    let read = async |log: &str| other.read(log, 0, 9, NO_WAIT).await.map(|entries| entries.len());
    same!(read("log").await?, 0, "number of entries of a log after its lifetime of {SHORT_TIME:?}");
    same!(read("renewed").await?, 2, "number of entries of a log within its time");
    same!(read("ever-log").await?, 1, "number of entries of a log that is kept for ever");
    Ok(())
}

async fn atomicity(one: Subject, other: Subject) -> Found {
    let racer = |number: i32| -> BoxedTask<Found<bool>> {
        let store = if number % 2 == 0 { one.clone() } else { other.clone() };
        Box::pin(async move { store.put_if("race", None, &number.to_string(), MINUTE).await })
    };
    let won = race::all((0..20).map(racer).collect()).await?;
    same!(won.into_iter().filter(|won| *won).count(), 1, "calls of put_if that made the same key, of 20 at once");
    // Concurrent increments don't get lost.
    one.put("count", "0", MINUTE).await?;
    let counter = |number: i32| -> BoxedTask<Found> {
        let store = if number % 2 == 0 { one.clone() } else { other.clone() };
        Box::pin(async move {
            for _ in 0..5 {
                // Of the concurrent calls in each round, exactly one wins.
                for attempt in 0.. {
                    holds!(attempt < 1000, "put_if failed a thousand times while others succeeded");
                    let count =
                        store.get("count").await?.ok_or("get: an entry disappeared while others replaced it")?;
                    let number: u64 = count.parse().map_err(|_| format!("get: {}, no number", excerpt(&count)))?;
                    if store.put_if("count", Some(&count), &(number + 1).to_string(), MINUTE).await? {
                        break;
                    }
                }
            }
            Ok(())
        })
    };
    race::all((0..8).map(counter).collect()).await?;
    same!(
        one.get("count").await?.as_deref(),
        Some("40"),
        "a number that 8 callers incremented 5 times each with put_if"
    );
    Ok(())
}

async fn logs(one: Subject, other: Subject) -> Found {
    same!(one.read("a", 0, 9, NO_WAIT).await?, Vec::new(), "read of a log that is not there");
    let mut positions = Vec::new();
    for text in ["", "ä\0\n", "{}"] {
        positions.push(one.append("a", text, 9, MINUTE).await?);
    }
    let rise = positions.is_sorted_by(|one, next| one < next);
    holds!(positions[0] > 0 && rise, "append gave the positions {positions:?}, which must be at least 1 and rise");
    holds!(positions[2] < 1 << 53, "append gave the position {}, which must be less than 2^53", positions[2]);
    let read = async |after, limit| {
        let entries = other.read("a", after, limit, NO_WAIT).await?;
        Found::Ok(entries.into_iter().map(|entry| (entry.position, entry.text)).collect::<Vec<_>>())
    };
    let all: Vec<_> = positions.iter().copied().zip(["", "ä\0\n", "{}"].map(str::to_owned)).collect();
    same!(read(0, 9).await?, all, "read of three entries");
    same!(read(0, 2).await?, all[..2], "read of three entries with the limit 2");
    same!(read(positions[0], 9).await?, all[1..], "read after the first of three entries");
    same!(read(positions[1] - 1, 9).await?, all[1..], "read after the position before the second of three entries");
    same!(read(positions[2], 9).await?, [], "read after the last entry");
    same!(read((1 << 53) - 1, 9).await?, [], "read after the last position that there can be");
    // Positions are never reused.
    other.remove("a").await?;
    same!(read(0, 9).await?, [], "read of a log that was removed");
    let later = one.append("a", "later", 9, MINUTE).await?;
    holds!(
        later > positions[2],
        "append gave the position {later} after a log was removed that had {}: none is given twice",
        positions[2]
    );
    same!(read(positions[2], 9).await?, [(later, "later".to_owned())], "read of a log that was created again");
    Ok(())
}

async fn bounds_of_logs(one: Subject, other: Subject) -> Found {
    for number in 0..20 {
        one.append("a", &number.to_string(), 5, MINUTE).await?;
    }
    let texts: Vec<_> = other.read("a", 0, 99, NO_WAIT).await?.into_iter().map(|entry| entry.text).collect();
    same!(texts, ["15", "16", "17", "18", "19"], "a log of 5 entries at most, after 20 were appended");
    Ok(())
}

async fn appending_together(one: Subject, other: Subject) -> Found {
    let writer = |number: i32| -> BoxedTask<Found<Vec<String>>> {
        let store = if number % 2 == 0 { one.clone() } else { other.clone() };
        Box::pin(async move {
            let mut positions = Vec::new();
            for step in 0..10 {
                positions.push(store.append("a", &format!("{number}.{step}"), 99, MINUTE).await?);
            }
            let rise = positions.is_sorted_by(|one, next| one < next);
            holds!(rise, "append gave one caller the positions {positions:?}, which must rise");
            Ok(Vec::new())
        })
    };
    let reading = other.clone();
    let reader = async move {
        // A reader that continues from the last position it saw misses nothing.
        let (mut seen, mut after) = (Vec::new(), 0);
        while seen.len() < 80 {
            let entries = reading.read("a", after, 7, WAKE_TIMEOUT).await?;
            let count = seen.len();
            holds!(!entries.is_empty(), "a reader that continues from the latest position has {count} of 80 entries");
            holds!(
                entries.is_sorted_by(|one, next| one.position < next.position) && entries[0].position > after,
                "read after {after}: {}, which must rise",
                excerpt(&entries)
            );
            after = entries.last().map_or(after, |entry| entry.position);
            seen.extend(entries.into_iter().map(|entry| entry.text));
        }
        Ok(seen)
    };
    let reader: BoxedTask<Found<Vec<String>>> = Box::pin(reader);
    let all = race::all((0..8).map(writer).chain([reader]).collect()).await?;
    let seen: BTreeSet<String> = all.into_iter().flatten().collect();
    same!(seen.len(), 80, "different entries that a reader has seen of 80");
    Ok(())
}

async fn waiting(one: Subject, other: Subject) -> Found {
    let begin = one.runtime.now();
    same!(one.read("a", 0, 9, SHORT_TIME).await?, Vec::new(), "read of a log that is not there");
    let took = one.runtime.now() - begin;
    holds!(took >= SHORT_TIME && took < SHORT_TIME + WAKE_TIMEOUT, "read waited {took:?} in place of {SHORT_TIME:?}");
    // Many readers of one log, over both connections.
    let reader = |number: i32| -> BoxedTask<Found<Vec<LogEntry>>> {
        let store = if number % 2 == 0 { one.clone() } else { other.clone() };
        Box::pin(async move { store.read("a", 0, 9, WAKE_TIMEOUT).await })
    };
    let writer: BoxedTask<Found<Vec<LogEntry>>> = {
        let one = one.clone();
        Box::pin(async move {
            one.sleep(SHORT_TIME).await;
            one.append("a/other", "no", 9, MINUTE).await?;
            let position = one.append("a", "yes", 9, MINUTE).await?;
            Ok(vec![LogEntry { position, text: "yes".to_owned() }])
        })
    };
    let read = race::all((0..6).map(reader).chain([writer]).collect()).await?;
    let Some((written, read)) = read.split_last() else { return Ok(()) };
    for entries in read {
        same!(entries, written, "read that waits, of an entry that is appended meanwhile");
    }
    // A dropped read consumes nothing.
    let after = written[0].position;
    let end = later(one.runtime.now(), SHORT_TIME);
    let given_up = race::until(&*one.runtime, end, other.read("a", after, 9, WAKE_TIMEOUT)).await;
    holds!(given_up.is_none(), "read after the last entry did not wait: {}", excerpt(&given_up));
    let position = one.append("a", "next", 9, MINUTE).await?;
    let next = LogEntry { position, text: "next".to_owned() };
    same!(other.read("a", after, 9, WAKE_TIMEOUT).await?, [next], "read of an entry that a read before had waited for");
    Ok(())
}
