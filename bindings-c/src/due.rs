//! The callbacks that have to run, in order.
//!
//! While one callback takes its time, threads that wait go on taking events from the core, whose own bounds then do not
//! help. So the same bounds hold here: calls and outcomes are bounded by what is in flight, of progress the latest is
//! kept, of notifications the first, of the log the last.

use std::collections::VecDeque;

use serde::Deserialize;
use trunkline_bridge::Event;

use crate::callback::{LogCallback, NotificationCallback};
use crate::text::Text;
use crate::work::Work;
use std::sync::Arc;

const MOST_NOTIFICATIONS: usize = 10_000;
const MOST_LOG_RECORDS: usize = 1000;

#[derive(Default)]
pub(crate) struct Due {
    works: VecDeque<Work>,
    notifications: usize,
    log: Log,
}

/// Log records that nobody has seen.
#[derive(Default)]
pub(crate) struct Log {
    records: VecDeque<LogRecord>,
    dropped: usize,
}

#[derive(Deserialize)]
struct LogRecord {
    #[serde(default)]
    level: String,
    #[serde(default)]
    target: String,
    #[serde(default)]
    message: String,
}

impl Due {
    pub(crate) fn len(&self) -> usize {
        self.works.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    pub(crate) fn push(&mut self, work: Work) {
        self.works.push_back(work);
    }

    /// Adds a notification of a peer; too many are dropped.
    pub(crate) fn push_notification(&mut self, callback: Arc<NotificationCallback>, event: Event) {
        if self.notifications < MOST_NOTIFICATIONS {
            self.notifications += 1;
            self.push(Work::Notification { callback, event });
        }
    }

    /// Adds log records (a JSON array); of too many, the oldest are dropped and counted.
    pub(crate) fn push_log(&mut self, records: &[u8]) {
        let records: Vec<LogRecord> = serde_json::from_slice(records).unwrap_or_default();
        let was_empty = self.log.records.is_empty();
        self.log.records.extend(records);
        let excess = self.log.records.len().saturating_sub(MOST_LOG_RECORDS);
        self.log.records.drain(..excess);
        self.log.dropped += excess;
        if was_empty && !self.log.records.is_empty() {
            self.push(Work::Log);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Work> {
        let work = self.works.pop_front()?;
        self.forget(&work);
        Some(work)
    }

    /// Takes the log records that are due.
    pub(crate) fn take_log(&mut self) -> Log {
        std::mem::take(&mut self.log)
    }

    /// Takes out what must not run any more; to be dropped when the tables are unlocked.
    pub(crate) fn extract(&mut self, unwanted: impl Fn(&Work) -> bool) -> Vec<Work> {
        let (gone, kept) = std::mem::take(&mut self.works).into_iter().partition::<VecDeque<_>, _>(unwanted);
        self.works = kept;
        gone.iter().for_each(|work| self.forget(work));
        gone.into()
    }

    /// Takes out the call of that ticket, if it has not begun.
    pub(crate) fn extract_call(&mut self, ticket: u64) -> Option<Work> {
        let is_call = |work: &Work| matches!(work, Work::Call { event, .. } if event.ticket == ticket);
        self.works.remove(self.works.iter().position(is_call)?)
    }

    fn forget(&mut self, work: &Work) {
        if matches!(work, Work::Notification { .. }) {
            self.notifications -= 1;
        }
    }
}

impl Log {
    /// Tells the callback. Without one, errors and warnings go to stderr: a failing tool must not be silent.
    pub(crate) fn tell(mut self, callback: Option<&LogCallback>) {
        if self.dropped > 0 {
            let message = format!("{} older log records were dropped", self.dropped);
            self.records.push_front(LogRecord { level: "warn".to_owned(), target: "trunkline".to_owned(), message });
        }
        for LogRecord { level, target, message } in self.records {
            match callback {
                Some(callback) => {
                    let [level, target, message] = [level, target, message].map(|text| Text::new(text.into_bytes()));
                    callback.run(level.lend(), target.lend(), message.lend());
                }
                None if level == "error" || level == "warn" => eprintln!("trunkline: {level}: {target}: {message}"),
                None => {}
            }
        }
    }
}
