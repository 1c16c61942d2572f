//! The contract of stores as a test that every driver passes.

use super::{Store, StoreErrorKind};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

const MINUTE: Duration = Duration::from_secs(60);
/// Short, and long enough for a machine with much to do.
const SHORT: Duration = Duration::from_millis(300);
/// Longest time until a waiting read has an entry that another process appended.
const SOON: Duration = Duration::from_secs(2);
const NOW: Duration = Duration::ZERO;

/// Checks a store by two connections to it, which may be one. Nothing else uses it.
pub(crate) async fn check(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    entries(&*one, &*other).await;
    conditions(&*one, &*other).await;
    times(&*one, &*other).await;
    one_of_many_wins(&one, &other).await;
    logs(&*one, &*other).await;
    bounds_of_logs(&*one, &*other).await;
    appending_together(&one, &other).await;
    waiting(&one, &other).await;
    kinds(&*one, &*other).await;
}

async fn entries(one: &dyn Store, other: &dyn Store) {
    assert_eq!(one.get("entries/a").await.unwrap(), None);
    one.remove("entries/a").await.unwrap();
    // Texts come back byte for byte.
    for text in ["", "{}", "{ \"b\" : 1,\n\"a\":2.0 }", "ä\u{1F600}\0\u{7f}", "'\";--", &"x".repeat(1 << 20)] {
        one.put("entries/a", text, MINUTE).await.unwrap();
        assert_eq!(other.get("entries/a").await.unwrap().as_deref(), Some(text));
    }
    // Keys are told apart by their case, and have no patterns.
    let keys = ["entries/A", "entries/%", "entries/*", "entries/_", "entries/[a]", "entries/{a}", "entries/a:b?#\\'\""];
    for key in keys {
        assert_eq!(one.get(key).await.unwrap(), None, "{key}");
        one.put(key, key, MINUTE).await.unwrap();
    }
    for key in keys {
        assert_eq!(other.get(key).await.unwrap().as_deref(), Some(key));
    }
    other.remove("entries/%").await.unwrap();
    assert_eq!(one.get("entries/%").await.unwrap(), None);
    assert!(one.get("entries/A").await.unwrap().is_some());
    let longest = "k".repeat(512);
    one.put(&longest, "1", MINUTE).await.unwrap();
    assert_eq!(other.get(&longest).await.unwrap().as_deref(), Some("1"));
}

async fn conditions(one: &dyn Store, other: &dyn Store) {
    let key = "conditions/a";
    assert!(!one.put_if(key, Some(""), "1", MINUTE).await.unwrap(), "an empty text is not an absent one");
    assert!(one.put_if(key, None, "1", MINUTE).await.unwrap());
    assert!(!other.put_if(key, None, "2", MINUTE).await.unwrap());
    assert!(!other.put_if(key, Some("0"), "2", MINUTE).await.unwrap());
    assert_eq!(one.get(key).await.unwrap().as_deref(), Some("1"));
    assert!(other.put_if(key, Some("1"), "2", MINUTE).await.unwrap());
    assert_eq!(one.get(key).await.unwrap().as_deref(), Some("2"));
    one.remove(key).await.unwrap();
    assert!(!one.put_if(key, Some("2"), "3", MINUTE).await.unwrap());
    assert!(one.put_if(key, None, "3", MINUTE).await.unwrap());
}

async fn times(one: &dyn Store, other: &dyn Store) {
    one.put("times/put", "1", SHORT).await.unwrap();
    assert!(one.put_if("times/if", None, "1", SHORT).await.unwrap());
    one.put("times/longer", "1", SHORT).await.unwrap();
    assert!(one.put_if("times/longer", Some("1"), "1", MINUTE).await.unwrap());
    one.put("times/shorter", "1", MINUTE).await.unwrap();
    one.put("times/shorter", "1", SHORT).await.unwrap();
    one.append("times/log", "1", 9, SHORT).await.unwrap();
    one.append("times/renewed", "1", 9, SHORT).await.unwrap();
    one.append("times/renewed", "2", 9, MINUTE).await.unwrap();
    // Beyond what any clock counts.
    one.put("times/ever", "1", Duration::MAX).await.unwrap();
    one.append("times/ever-log", "1", 9, Duration::MAX).await.unwrap();
    assert!(other.get("times/put").await.unwrap().is_some());
    sleep(SHORT + SHORT / 3).await;
    for key in ["times/put", "times/if", "times/shorter"] {
        assert_eq!(other.get(key).await.unwrap(), None, "{key}");
    }
    assert!(other.put_if("times/if", None, "2", MINUTE).await.unwrap(), "an entry that is over is absent");
    for key in ["times/longer", "times/ever"] {
        assert!(other.get(key).await.unwrap().is_some(), "{key}");
    }
    assert_eq!(other.read("times/log", 0, 9, NOW).await.unwrap(), []);
    assert_eq!(other.read("times/renewed", 0, 9, NOW).await.unwrap().len(), 2);
    assert_eq!(other.read("times/ever-log", 0, 9, NOW).await.unwrap().len(), 1);
}

async fn one_of_many_wins(one: &Arc<dyn Store>, other: &Arc<dyn Store>) {
    let mut racers = JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(if number % 2 == 0 { one } else { other });
        racers.spawn(async move { store.put_if("race", None, &number.to_string(), MINUTE).await.unwrap() });
    }
    assert_eq!(racers.join_all().await.into_iter().filter(|won| *won).count(), 1);
    // Counting by many loses no step.
    one.put("count", "0", MINUTE).await.unwrap();
    let mut counters = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(if number % 2 == 0 { one } else { other });
        counters.spawn(async move {
            for _ in 0..5 {
                loop {
                    let count = store.get("count").await.unwrap().unwrap();
                    let next = (count.parse::<u64>().unwrap() + 1).to_string();
                    if store.put_if("count", Some(&count), &next, MINUTE).await.unwrap() {
                        break;
                    }
                }
            }
        });
    }
    counters.join_all().await;
    assert_eq!(one.get("count").await.unwrap().as_deref(), Some("40"));
}

async fn logs(one: &dyn Store, other: &dyn Store) {
    let log = "logs/a";
    assert_eq!(one.read(log, 0, 9, NOW).await.unwrap(), []);
    let mut positions = Vec::new();
    for text in ["", "ä\0\n", "{}"] {
        positions.push(one.append(log, text, 9, MINUTE).await.unwrap());
    }
    assert!(positions[0] > 0 && positions.is_sorted_by(|one, next| one < next), "{positions:?}");
    assert!(positions[2] < 1 << 53);
    let read = async |after, limit| {
        let entries = other.read(log, after, limit, NOW).await.unwrap();
        entries.into_iter().map(|entry| (entry.position, entry.text)).collect::<Vec<_>>()
    };
    let all = read(0, 9).await;
    let texts: Vec<_> = all.iter().map(|(_, text)| &**text).collect();
    assert_eq!(texts, ["", "ä\0\n", "{}"]);
    assert_eq!(all.iter().map(|(position, _)| *position).collect::<Vec<_>>(), positions);
    assert_eq!(read(0, 2).await, all[..2]);
    assert_eq!(read(positions[0], 9).await, all[1..]);
    assert_eq!(read(positions[1] - 1, 9).await, all[1..], "the entry at a position, by the one before it");
    assert_eq!(read(positions[2], 9).await, []);
    assert_eq!(read((1 << 53) - 1, 9).await, []);
    // No position is given twice.
    other.remove(log).await.unwrap();
    assert_eq!(read(0, 9).await, []);
    let later = one.append(log, "later", 9, MINUTE).await.unwrap();
    assert!(later > positions[2], "{later} {positions:?}");
    assert_eq!(read(positions[2], 9).await, [(later, "later".to_owned())]);
}

async fn bounds_of_logs(one: &dyn Store, other: &dyn Store) {
    for number in 0..20 {
        one.append("bounds", &number.to_string(), 5, MINUTE).await.unwrap();
    }
    let texts: Vec<_> = other.read("bounds", 0, 99, NOW).await.unwrap().into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["15", "16", "17", "18", "19"], "the oldest go");
}

async fn appending_together(one: &Arc<dyn Store>, other: &Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(if number % 2 == 0 { one } else { other });
        writers.spawn(async move {
            let mut positions = Vec::new();
            for step in 0..10 {
                positions.push(store.append("together", &format!("{number}.{step}"), 99, MINUTE).await.unwrap());
            }
            assert!(positions.is_sorted_by(|one, next| one < next));
        });
    }
    // A reader that goes on from the latest position that it saw misses nothing.
    let (mut seen, mut after) = (Vec::new(), 0);
    while seen.len() < 80 {
        let entries = other.read("together", after, 7, SOON).await.unwrap();
        assert!(!entries.is_empty(), "{seen:?}");
        assert!(entries.is_sorted_by(|one, next| one.position < next.position));
        after = entries.last().unwrap().position;
        seen.extend(entries.into_iter().map(|entry| entry.text));
    }
    writers.join_all().await;
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 80);
}

async fn waiting(one: &Arc<dyn Store>, other: &Arc<dyn Store>) {
    let begin = Instant::now();
    assert_eq!(other.read("waiting", 0, 9, SHORT).await.unwrap(), []);
    assert!(begin.elapsed() >= SHORT && begin.elapsed() < SHORT + SOON, "{:?}", begin.elapsed());
    // Many readers of one log, by either connection.
    let mut readers = JoinSet::new();
    for number in 0..6 {
        let reader = Arc::clone(if number % 2 == 0 { one } else { other });
        readers.spawn(async move { reader.read("waiting", 0, 9, MINUTE).await.unwrap() });
    }
    sleep(SHORT).await;
    let begin = Instant::now();
    one.append("waiting/other", "no", 9, MINUTE).await.unwrap();
    let position = one.append("waiting", "yes", 9, MINUTE).await.unwrap();
    for entries in readers.join_all().await {
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].position, &*entries[0].text), (position, "yes"));
    }
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    // A read that nobody waits for any more takes nothing away.
    let given_up = tokio::time::timeout(SHORT, other.read("waiting", position, 9, MINUTE)).await;
    assert!(given_up.is_err());
    let next = one.append("waiting", "next", 9, MINUTE).await.unwrap();
    assert_eq!(other.read("waiting", position, 9, MINUTE).await.unwrap()[0].position, next);
}

async fn kinds(one: &dyn Store, other: &dyn Store) {
    one.put("kinds/entry", "1", MINUTE).await.unwrap();
    one.append("kinds/log", "1", 9, MINUTE).await.unwrap();
    for error in [
        other.append("kinds/entry", "1", 9, MINUTE).await.unwrap_err(),
        other.read("kinds/entry", 0, 9, NOW).await.unwrap_err(),
        other.get("kinds/log").await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
    }
    assert_eq!(other.get("kinds/entry").await.unwrap().as_deref(), Some("1"));
    assert_eq!(other.read("kinds/log", 0, 9, NOW).await.unwrap().len(), 1);
    // An entry takes the place of a log.
    one.put("kinds/log", "1", MINUTE).await.unwrap();
    assert_eq!(other.get("kinds/log").await.unwrap().as_deref(), Some("1"));
    one.remove("kinds/log").await.unwrap();
    one.append("kinds/log", "2", 9, MINUTE).await.unwrap();
    assert_eq!(other.read("kinds/log", 0, 9, NOW).await.unwrap().len(), 1, "the entries of the first log are gone");
}
