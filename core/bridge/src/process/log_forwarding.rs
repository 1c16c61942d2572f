//! Sends the library's log to the host, in batches.

use crate::{LogRecord, events::queue::EventQueue, message::LogLevel, process::log_scope::current_queue};
use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, AtomicU8, Ordering},
};
use tracing::{Level, Metadata, Subscriber, span};
use trunkline::bridge_support::{LogText, Mutex};

/// The queues of all ports, newest last.
static QUEUES: Mutex<Vec<Weak<EventQueue>>> = Mutex::new(Vec::new());

/// Routes the library's log records to ports: each to the port it concerns, and any other to a port
/// that is being drained. A process with its own tracing subscriber keeps it.
pub(crate) fn attach(queue: Weak<EventQueue>) {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    // Not a `Once`: a child of a fork would wait for a thread that it does not have.
    if !IS_INSTALLED.load(Ordering::Acquire) {
        // An error means that another subscriber is installed, which then gets the records.
        let _ = tracing::subscriber::set_global_default(ToPorts);
        IS_INSTALLED.store(true, Ordering::Release);
    }
    let mut queues = QUEUES.lock();
    queues.retain(|queue| queue.strong_count() > 0);
    queues.push(queue);
}

/// Logs an error of the host, such as one in a callback that belongs to no call.
pub fn log_error(message: &str) {
    tracing::error!(target: "trunkline::host", "{message}");
}

/// The levels in the order of [`LogLevel::ALL`].
const LEVELS: [Level; 4] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG];

/// The minimum level, a [`LogLevel`].
static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

/// Sets the minimum level. `tracing` caches the interest of each callsite, so the cache is rebuilt.
pub(crate) fn set_level(level: LogLevel) {
    if LEVEL.swap(level as u8, Ordering::Relaxed) != level as u8 {
        tracing::callsite::rebuild_interest_cache();
    }
}

fn level() -> Level {
    LEVELS[usize::from(LEVEL.load(Ordering::Relaxed))]
}

struct ToPorts;

impl Subscriber for ToPorts {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= level() && metadata.is_event() && metadata.target().starts_with("trunkline")
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(level().into())
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = LogText::default();
        event.record(&mut text);
        let level = LEVELS.iter().position(|level| level == event.metadata().level());
        let level = level.map_or(LogLevel::Debug, |index| LogLevel::ALL[index]).as_str();
        let current = current_queue().filter(|queue| queue.takes_logs());
        if let Some(queue) = current.or_else(any_queue) {
            let (target, message) = (event.metadata().target().to_owned(), text.to_string());
            let (event, fields) = text.into_parts();
            queue.push_log(LogRecord { level, target, message, event, fields });
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The queue for records that concern no port: that of the newest port that is being drained.
/// Others, such as a client that only waits for replies or a loop that has ended, would never
/// deliver them.
fn any_queue() -> Option<Arc<EventQueue>> {
    let queues: Vec<_> =
        QUEUES.lock().iter().rev().filter_map(Weak::upgrade).filter(|queue| queue.takes_logs()).collect();
    let attentive = queues.iter().find(|queue| queue.is_attentive());
    attentive.or(queues.first()).cloned()
}
