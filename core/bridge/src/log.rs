//! The library's log, told to the host in batches.

use super::{body::LogRecord, log_scope::current_queue, message::LogLevel, queue::EventQueue};
use std::sync::{
    Arc, Once, Weak,
    atomic::{AtomicU8, Ordering},
};
use tracing::{Level, Metadata, Subscriber, span};
use trunkline::bridge_support::{LogText, Mutex};

/// The queues of all ports, the newest last.
static QUEUES: Mutex<Vec<Weak<EventQueue>>> = Mutex::new(Vec::new());

/// From now on the library's log records go to the ports: each to the one that it concerns,
/// and what concerns none to one that takes its events. A process that has its own tracing
/// subscriber keeps it.
pub(super) fn attach(queue: Weak<EventQueue>) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // An error means that somebody else's subscriber is in place, and that one gets the
        // records.
        let _ = tracing::subscriber::set_global_default(ToPorts);
    });
    let mut queues = QUEUES.lock();
    queues.retain(|queue| queue.strong_count() > 0);
    queues.push(queue);
}

/// Writes an error of the host to the log, such as that of a callback that answers no call.
pub fn log_error(message: &str) {
    tracing::error!(target: "trunkline::host", "{message}");
}

/// The least severe level that is wanted, a [`LogLevel`].
static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

/// Sets the least severe level that hosts want. `tracing` keeps its first answer for each place, so
/// it is made to ask again.
pub(super) fn set_level(level: LogLevel) {
    if LEVEL.swap(level as u8, Ordering::Relaxed) != level as u8 {
        tracing::callsite::rebuild_interest_cache();
    }
}

fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        level if level == LogLevel::Error as u8 => Level::ERROR,
        level if level == LogLevel::Warn as u8 => Level::WARN,
        level if level == LogLevel::Info as u8 => Level::INFO,
        _ => Level::DEBUG,
    }
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
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            _ => "debug",
        };
        let current = current_queue().filter(|queue| queue.takes_logs());
        if let Some(queue) = current.or_else(any_queue) {
            queue.push_log(LogRecord::new(level, event.metadata().target(), text.to_string()));
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

/// The queue for records without an owner: the newest port that is being drained. Another one (a
/// client that only waits for its replies, a loop that has ended) would keep them for itself.
fn any_queue() -> Option<Arc<EventQueue>> {
    let queues: Vec<_> =
        QUEUES.lock().iter().rev().filter_map(Weak::upgrade).filter(|queue| queue.takes_logs()).collect();
    let attentive = queues.iter().find(|queue| queue.is_attentive());
    attentive.or(queues.first()).cloned()
}
