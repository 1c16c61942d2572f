//! The event queue of a port: two lanes, one coalesced bell.

use crate::{
    Bell, Body, Event, EventKind, Lane, LogRecord,
    events::backlog::Backlog,
    message::CLOSE,
    process::sync_primitives::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    cell::Cell,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};
use trunkline::{bridge_support::OnDrop, protocol::method};

/// The event queue. Admission bounds calls and replies; everything else is bounded here.
pub(crate) struct EventQueue {
    /// The process of the port.
    pid: u32,
    bell: Box<dyn Bell>,
    /// Wakes threads that wait for replies outside of this queue.
    bell_for_threads: Option<Box<dyn Bell>>,
    lanes: [LaneQueue; 2],
    /// No more events are added, and drainers don't wait.
    stopped: AtomicBool,
    /// The host has shut down, so its bell must not be rung.
    muted: AtomicBool,
    logs: Mutex<Logs>,
    /// Telemetry records. If there are too many, the oldest are dropped.
    telemetry: Mutex<VecDeque<Value>>,
    /// The port is closing: neither new work nor log records are accepted.
    closing: AtomicBool,
    /// True once the host has drained the main lane.
    drained: AtomicBool,
    /// Accounts for queued notifications of peers.
    notifications: Backlog,
}

#[derive(Default)]
struct LaneQueue {
    items: Mutex<LaneItems>,
    changed: Condvar,
    /// Wakes the thread that stands by.
    unattended: Condvar,
}

#[derive(Default)]
struct LaneItems {
    items: VecDeque<QueuedEvent>,
    /// The number of threads that wait for an item.
    drainers: usize,
    /// How often items were asked for.
    drains: u64,
    /// True while a thread that stands by sleeps until there is an item that nobody waits for.
    stands_by: bool,
}

impl LaneItems {
    fn is_unattended(&self) -> bool {
        self.drainers == 0 && !self.items.is_empty()
    }

    /// Returns whether to wake the thread that stands by.
    fn leaves_to_stand_by(&mut self) -> bool {
        self.is_unattended() && std::mem::take(&mut self.stands_by)
    }
}

enum QueuedEvent {
    Event(Event),
    Progress(Arc<QueuedProgress>),
    Log,
    Telemetry,
}

/// The progress of a request. Only the latest value is delivered.
pub(crate) struct QueuedProgress {
    ticket: u64,
    /// The handle of its connection.
    handle: u64,
    /// The value that the host has not seen.
    latest: Mutex<Option<Bytes>>,
}

impl QueuedProgress {
    pub(crate) fn of(ticket: u64, handle: u64) -> Arc<Self> {
        Arc::new(Self { ticket, handle, latest: Mutex::default() })
    }
}

#[derive(Default)]
struct Logs {
    records: VecDeque<LogRecord>,
    /// When the oldest of them was added.
    since: Option<Instant>,
    dropped: usize,
}

thread_local! {
    /// The address of the queue whose bell is suppressed on this thread, or 0.
    static QUIET: Cell<usize> = const { Cell::new(0) };
}

const MAX_LOGS: usize = 1000;
/// Maximum queued telemetry records.
const MAX_TELEMETRY: usize = 10_000;
/// A host that drains within this time is attentive.
const MAX_DRAIN_DELAY: Duration = Duration::from_secs(5);

impl EventQueue {
    pub(crate) fn new(bell: Box<dyn Bell>, bell_for_threads: Option<Box<dyn Bell>>) -> Self {
        Self {
            pid: std::process::id(),
            bell,
            bell_for_threads,
            lanes: Default::default(),
            stopped: AtomicBool::new(false),
            muted: AtomicBool::new(false),
            logs: Mutex::default(),
            telemetry: Mutex::default(),
            closing: AtomicBool::new(false),
            drained: AtomicBool::new(false),
            notifications: Backlog::default(),
        }
    }

    /// Returns whether the port was created in this process, rather than in the parent of a fork.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Stops accepting new work and log records. Returns whether they were accepted until now.
    pub(crate) fn begin_closing(&self) -> bool {
        !self.closing.swap(true, Ordering::AcqRel)
    }

    /// Returns whether new work is refused.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Returns whether the queue accepts log records.
    pub(crate) fn takes_logs(&self) -> bool {
        !self.is_closing() && self.is_of_this_process()
    }

    /// Adds an event. Rings the bell if the lane was empty, without holding the lock.
    pub(crate) fn push(&self, lane: Lane, event: Event) {
        self.push_item(lane, QueuedEvent::Event(event));
    }

    /// Adds `Freed`, unless the host belongs to the parent process.
    pub(crate) fn push_freed(&self, handle: u64) {
        if self.is_of_this_process() {
            self.push(Lane::Queue, Event { kind: EventKind::Freed, handle, ..Event::default() });
        }
    }

    /// Withdraws a call. Returns `false` if it has already been drained.
    pub(crate) fn withdraw(&self, lane: Lane, ticket: u64) -> bool {
        let it = |item: &QueuedEvent| matches!(item, QueuedEvent::Event(event) if event.kind == EventKind::Call && event.ticket == ticket);
        let mut lane = self.lanes[lane as usize].items.lock();
        let found = lane.items.iter().position(it);
        found.and_then(|index| lane.items.remove(index)).is_some()
    }

    /// Returns the queued event that the host must drain for a listener to end, if any: the ticket
    /// of a call that closes a lifespan, or 0 for the end itself.
    pub(crate) fn end_of(&self, handle: u64) -> Option<u64> {
        let end = |item: &QueuedEvent| match item {
            QueuedEvent::Event(event) => {
                let is_end = event.kind == EventKind::Closed && event.handle == handle;
                (is_end || event.kind == EventKind::Call && event.name == CLOSE).then_some(event.ticket)
            }
            _ => None,
        };
        self.lanes[Lane::Queue as usize].items.lock().items.iter().find_map(end)
    }

    /// Adds a notification from a peer, unless too many of its connection are queued.
    pub(crate) fn push_notification(&self, mut event: Event) {
        if self.notifications.admit(event.handle, size(&event)) {
            if let Body::Bytes(body) = &mut event.body {
                // A slice would keep the whole buffer that it was received in.
                *body = Bytes::copy_from_slice(body);
            }
            self.push(Lane::Queue, event);
        }
    }

    /// Adds progress, replacing an older value that has not been drained.
    pub(crate) fn push_progress(&self, progress: &Arc<QueuedProgress>, body: Bytes) {
        if progress.latest.lock().replace(body).is_none() {
            self.push_item(Lane::Queue, QueuedEvent::Progress(Arc::clone(progress)));
        }
    }

    /// Adds a log record. If there are too many, the oldest are dropped and counted.
    pub(crate) fn push_log(&self, record: LogRecord) {
        let first = {
            let mut logs = self.logs.lock();
            logs.since.get_or_insert_with(Instant::now);
            logs.records.push_back(record);
            if logs.records.len() > MAX_LOGS {
                logs.records.pop_front();
                logs.dropped += 1;
            }
            logs.records.len() == 1
        };
        if first {
            self.push_item(Lane::Queue, QueuedEvent::Log);
        }
    }

    /// Adds a telemetry record.
    pub(crate) fn push_telemetry(&self, record: Value) {
        let first = {
            let mut records = self.telemetry.lock();
            records.push_back(record);
            if records.len() > MAX_TELEMETRY {
                records.pop_front();
            }
            records.len() == 1
        };
        if first {
            self.push_item(Lane::Queue, QueuedEvent::Telemetry);
        }
    }

    /// Returns whether the host is draining the main lane: it has done so before, and no log
    /// records have been pending for long.
    pub(crate) fn is_attentive(&self) -> bool {
        let lying = self.logs.lock().since.is_some_and(|since| since.elapsed() > MAX_DRAIN_DELAY);
        self.drained.load(Ordering::Relaxed) && !lying
    }

    /// Adds the last event. Waiting drainers return.
    pub(crate) fn stop(&self, event: Event) {
        self.add(Lane::Queue, QueuedEvent::Event(event), true);
        for lane in &self.lanes {
            // Holding the lock ensures that no drainer is between checking for the end and waiting.
            let _items = lane.items.lock();
            lane.changed.notify_all();
            lane.unattended.notify_all();
        }
    }

    /// Returns whether the last event was added, after which no more are.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Stops ringing the bell.
    pub(crate) fn mute(&self) {
        self.muted.store(true, Ordering::Release);
    }

    /// Runs an action without ringing the bell for the events that it adds on this thread, because
    /// the caller drains them next.
    pub(crate) fn without_bell<T>(&self, action: impl FnOnce() -> T) -> T {
        let before = QUIET.replace(self.address());
        let _loud = OnDrop::new(|| QUIET.set(before));
        action()
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn push_item(&self, lane: Lane, item: QueuedEvent) {
        self.add(lane, item, false);
    }

    fn add(&self, lane: Lane, item: QueuedEvent, last: bool) {
        let queue = &self.lanes[lane as usize];
        let (was_empty, is_awaited, is_unattended) = {
            let mut lane = queue.items.lock();
            // Checked under the lock of the lane that gets the last event, so nothing can be added
            // after it.
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            if last {
                self.stopped.store(true, Ordering::Release);
            }
            lane.items.push_back(item);
            let is_unattended = lane.leaves_to_stand_by();
            (lane.items.len() == 1, lane.drainers > 0, is_unattended)
        };
        if is_awaited {
            queue.changed.notify_one();
        } else if is_unattended {
            queue.unattended.notify_one();
        }
        if was_empty && lane == Lane::Queue && !self.muted.load(Ordering::Acquire) && QUIET.get() != self.address() {
            ring(&*self.bell);
        }
    }

    pub(crate) fn has_bell_for_threads(&self) -> bool {
        self.bell_for_threads.is_some()
    }

    /// Wakes threads that wait for a reply, progress or an end.
    pub(crate) fn ring_for_threads(&self) {
        if let Some(bell) = &self.bell_for_threads
            && !self.muted.load(Ordering::Acquire)
        {
            ring(&**bell);
        }
    }

    /// The number of events in the main lane.
    pub(crate) fn pending(&self) -> usize {
        self.lanes[Lane::Queue as usize].items.lock().items.len()
    }

    /// Takes up to `max` events, waiting up to `wait` for the first.
    pub(crate) fn drain(&self, lane: Lane, max: usize, wait: Duration) -> Vec<Event> {
        if lane == Lane::Queue {
            self.drained.store(true, Ordering::Relaxed);
        }
        let queue = &self.lanes[lane as usize];
        let (taken, is_unattended): (Vec<QueuedEvent>, bool) = {
            let mut lane = queue.items.lock();
            lane.drains += 1;
            if lane.items.is_empty() && !wait.is_zero() {
                let nothing = |lane: &mut LaneItems| lane.items.is_empty() && !self.stopped.load(Ordering::Acquire);
                lane.drainers += 1;
                lane = queue.changed.wait_while_until(lane, Instant::now() + wait, nothing);
                lane.drainers -= 1;
            }
            let count = max.min(lane.items.len());
            let taken = lane.items.drain(..count).collect();
            (taken, lane.leaves_to_stand_by())
        };
        if is_unattended {
            queue.unattended.notify_one();
        }
        taken.into_iter().map(|item| self.finish(item)).collect()
    }

    /// Waits up to `wait` until an event of the main lane has been pending for `grace` while nobody
    /// drained it, or the last event was added. Returns whether that is so. One thread at a time
    /// stands by.
    pub(crate) fn stand_by(&self, grace: Duration, wait: Duration) -> bool {
        let queue = &self.lanes[Lane::Queue as usize];
        let deadline = Instant::now() + wait;
        let mut lane = queue.items.lock();
        loop {
            let attended = |lane: &mut LaneItems| !lane.is_unattended() && !self.stopped.load(Ordering::Acquire);
            // Set again before each sleep: another thread may drain what this one was woken for.
            let sleeps = |lane: &mut LaneItems| {
                lane.stands_by = attended(lane);
                lane.stands_by
            };
            lane = queue.unattended.wait_while_until(lane, deadline, sleeps);
            lane.stands_by = false;
            if attended(&mut lane) {
                return false;
            }
            // The thread that drains may only be between two drains. Nothing wakes this one
            // meanwhile.
            let drains = lane.drains;
            let is_left = |lane: &mut LaneItems| lane.drains == drains && !self.stopped.load(Ordering::Acquire);
            lane = queue.unattended.wait_while_until(lane, Instant::now() + grace, is_left);
            if lane.drains == drains {
                return true;
            }
        }
    }

    /// Takes the first event of the main lane, without waiting.
    pub(crate) fn take(&self) -> Option<Event> {
        self.drained.store(true, Ordering::Relaxed);
        let item = self.lanes[Lane::Queue as usize].items.lock().items.pop_front();
        item.map(|item| self.finish(item))
    }

    fn finish(&self, item: QueuedEvent) -> Event {
        match item {
            QueuedEvent::Event(event) => {
                if event.kind == EventKind::Notification {
                    let dropped = self.notifications.taken(event.handle, size(&event));
                    if dropped > 0 {
                        tracing::warn!(target: "trunkline::bridge", dropped, "dropped notifications: they arrived faster than they were handled");
                    }
                }
                event
            }
            QueuedEvent::Progress(progress) => Event {
                kind: EventKind::Notification,
                ticket: progress.ticket,
                handle: progress.handle,
                name: method::PROGRESS.into(),
                body: progress.latest.lock().take().unwrap_or_default().into(),
                ..Event::default()
            },
            QueuedEvent::Log => {
                let (mut records, dropped) = {
                    let mut logs = self.logs.lock();
                    logs.since = None;
                    (std::mem::take(&mut logs.records), std::mem::take(&mut logs.dropped))
                };
                if dropped > 0 {
                    let text = format!("{dropped} older log records were dropped");
                    records.push_front(LogRecord::new("warn", "trunkline", text));
                }
                Event { kind: EventKind::Log, body: Body::Log(records.into()), ..Event::default() }
            }
            QueuedEvent::Telemetry => {
                let records = std::mem::take(&mut *self.telemetry.lock());
                let body = serde_json::to_vec(&records).unwrap_or_else(|_| b"[]".to_vec());
                Event { kind: EventKind::Telemetry, body: Bytes::from(body).into(), ..Event::default() }
            }
        }
    }
}

/// The size of a notification.
fn size(event: &Event) -> usize {
    let body = if let Body::Bytes(body) = &event.body { body.len() } else { 0 };
    event.name.len() + body
}

/// Rings a bell. If it panics, no event is lost and the panic doesn't unwind into the core.
fn ring(bell: &dyn Bell) {
    if catch_unwind(AssertUnwindSafe(|| bell.ring())).is_err() {
        tracing::error!(target: "trunkline::bridge", "the bell of a port panicked");
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Counter(Arc<AtomicUsize>);
    impl Bell for Counter {
        fn ring(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn queue() -> (EventQueue, Arc<AtomicUsize>) {
        let rings = Arc::new(AtomicUsize::new(0));
        (EventQueue::new(Box::new(Counter(Arc::clone(&rings))), None), rings)
    }

    fn call(ticket: u64) -> Event {
        Event { kind: EventKind::Call, ticket, ..Event::default() }
    }

    #[test]
    fn the_bell_rings_when_empty_turns_to_pending() {
        let (queue, rings) = queue();
        (1..=5).for_each(|ticket| queue.push(Lane::Queue, call(ticket)));
        assert_eq!(rings.load(Ordering::Relaxed), 1);
        assert_eq!(queue.drain(Lane::Queue, 3, Duration::ZERO).len(), 3);
        queue.push(Lane::Queue, call(6));
        assert_eq!(rings.load(Ordering::Relaxed), 1, "the host goes on draining by itself until it is empty");
        assert_eq!(queue.drain(Lane::Queue, 9, Duration::ZERO).len(), 3);
        queue.push(Lane::Queue, call(7));
        assert_eq!(rings.load(Ordering::Relaxed), 2);
        queue.push(Lane::Pool, call(8));
        assert_eq!(rings.load(Ordering::Relaxed), 2, "pool threads wait; nobody is rung");
    }

    #[test]
    fn a_call_can_be_taken_back_until_it_is_drained() {
        let (queue, rings) = queue();
        for lane in [Lane::Queue, Lane::Pool] {
            (1..=3).for_each(|ticket| queue.push(lane, call(ticket)));
            assert!(queue.withdraw(lane, 2));
            assert!(!queue.withdraw(lane, 2));
            let left: Vec<_> = queue.drain(lane, 9, Duration::ZERO).into_iter().map(|event| event.ticket).collect();
            assert_eq!(left, [1, 3]);
            assert!(!queue.withdraw(lane, 1));
        }
        queue.push(Lane::Queue, call(4));
        assert!(queue.withdraw(Lane::Queue, 4));
        queue.push(Lane::Queue, call(5));
        assert_eq!(rings.load(Ordering::Relaxed), 3, "an empty lane rings again");
    }

    #[test]
    fn progress_keeps_the_latest() {
        let (queue, _) = queue();
        let progress = QueuedProgress::of(7, 1);
        for body in ["1", "2", "3"] {
            queue.push_progress(&progress, body.into());
        }
        let events = queue.drain(Lane::Queue, 9, Duration::ZERO);
        assert_eq!(events.len(), 1);
        assert!(matches!(&events[0].body, Body::Bytes(body) if body == "3"));
        queue.push_progress(&progress, "4".into());
        assert_eq!(queue.drain(Lane::Queue, 9, Duration::ZERO).len(), 1);
    }

    #[test]
    fn notifications_are_bounded() {
        let (queue, _) = queue();
        for (bytes, fit) in [(1, 10_000), (1 << 20, 4), (5 << 20, 1)] {
            let body = Bytes::from(vec![0; bytes]);
            let event = Event { kind: EventKind::Notification, body: Body::Bytes(body), ..Event::default() };
            (0..fit + 5).for_each(|_| queue.push_notification(event.clone()));
            assert_eq!(queue.drain(Lane::Queue, usize::MAX, Duration::ZERO).len(), fit, "{bytes} bytes each");
        }
    }

    #[test]
    fn a_queued_notification_keeps_nothing_but_itself() {
        let (queue, _) = queue();
        let received = Bytes::from(vec![0; 1 << 16]);
        let body = Body::Bytes(received.slice(..2));
        queue.push_notification(Event { kind: EventKind::Notification, body, ..Event::default() });
        assert!(received.is_unique());
        assert_eq!(queue.drain(Lane::Queue, 9, Duration::ZERO).len(), 1);
    }

    #[test]
    fn logs_are_batched_bounded_and_counted() {
        let (queue, _) = queue();
        for number in 0..MAX_LOGS + 5 {
            queue.push_log(LogRecord::new("warn", "t", number.to_string()));
        }
        let events = queue.drain(Lane::Queue, 9, Duration::ZERO);
        assert_eq!(events.len(), 1);
        let Body::Log(records) = &events[0].body else { panic!("{events:?}") };
        assert_eq!(records.len(), MAX_LOGS + 1);
        assert!(records[0].message.contains('5'));
    }

    #[test]
    fn a_host_that_takes_its_events_is_attentive() {
        let (queue, _) = queue();
        assert!(!queue.is_attentive(), "it has taken nothing yet");
        queue.drain(Lane::Queue, 9, Duration::ZERO);
        queue.push_log(LogRecord::new("warn", "t", "a".into()));
        assert!(queue.is_attentive());
        queue.logs.lock().since = Instant::now().checked_sub(MAX_DRAIN_DELAY + Duration::from_secs(1));
        assert!(!queue.is_attentive(), "it lets them lie about");
        queue.drain(Lane::Queue, 9, Duration::ZERO);
        assert!(queue.is_attentive());
    }

    #[test]
    fn nothing_follows_the_last_event_and_nobody_waits_for_more() {
        let (queue, rings) = queue();
        std::thread::scope(|scope| {
            let drained = scope.spawn(|| queue.drain(Lane::Pool, 1, Duration::from_secs(600)));
            queue.stop(Event::default());
            assert!(drained.join().unwrap().is_empty());
        });
        queue.push(Lane::Queue, call(1));
        queue.push(Lane::Pool, call(2));
        queue.stop(Event::default());
        let kinds: Vec<_> = queue.drain(Lane::Queue, 9, Duration::ZERO).into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::Stopped]);
        assert!(queue.drain(Lane::Queue, 9, Duration::from_secs(600)).is_empty());
        assert_eq!(rings.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_bell_that_is_muted_or_panics_loses_no_event() {
        struct Broken;
        impl Bell for Broken {
            fn ring(&self) {
                panic!("the bell is broken");
            }
        }
        let queue = EventQueue::new(Box::new(Broken), None);
        queue.push(Lane::Queue, call(1));
        assert_eq!(queue.drain(Lane::Queue, 9, Duration::ZERO).len(), 1);
        queue.mute();
        queue.push(Lane::Queue, call(2));
        assert_eq!(queue.drain(Lane::Queue, 9, Duration::ZERO).len(), 1);
    }

    #[test]
    fn a_thread_that_stands_by_takes_over_what_nobody_drains() {
        const GRACE: Duration = Duration::from_millis(50);
        const LONG: Duration = Duration::from_secs(600);
        let (queue, _) = queue();
        assert!(!queue.stand_by(Duration::ZERO, Duration::from_millis(5)), "nothing is pending");
        std::thread::scope(|scope| {
            let stand_by = scope.spawn(|| queue.stand_by(GRACE, LONG));
            let drained = scope.spawn(|| queue.drain(Lane::Queue, 1, LONG));
            while queue.lanes[0].items.lock().drainers == 0 {
                std::thread::yield_now();
            }
            queue.push(Lane::Queue, call(1));
            assert_eq!(drained.join().unwrap().len(), 1);
            std::thread::sleep(2 * GRACE);
            assert!(!stand_by.is_finished(), "it was drained");

            let pushed = Instant::now();
            queue.push(Lane::Queue, call(2));
            assert!(stand_by.join().unwrap());
            assert!(pushed.elapsed() >= GRACE);
            assert_eq!(queue.drain(Lane::Queue, 1, Duration::ZERO).len(), 1);

            let stand_by = scope.spawn(|| queue.stand_by(LONG, LONG));
            queue.stop(Event::default());
            assert!(stand_by.join().unwrap());
        });
    }

    #[test]
    fn a_thread_that_stands_by_is_woken_after_others_were_faster() {
        const GRACE: Duration = Duration::from_millis(20);
        const LONG: Duration = Duration::from_secs(600);
        let (queue, _) = queue();
        let until_it_sleeps = || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !queue.lanes[0].items.lock().stands_by {
                assert!(Instant::now() < deadline, "nothing would wake it");
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            // The last event ends the thread also if the test fails.
            let _end = OnDrop::new(|| queue.stop(Event::default()));
            scope.spawn(|| {
                while !queue.is_stopped() {
                    queue.stand_by(GRACE, LONG);
                }
            });
            for ticket in 0..100 {
                until_it_sleeps();
                queue.push(Lane::Queue, call(ticket));
                queue.drain(Lane::Queue, 9, Duration::ZERO);
            }
            until_it_sleeps();
        });
    }

    #[test]
    fn a_thread_that_stands_by_is_woken_for_what_a_drain_leaves() {
        const LONG: Duration = Duration::from_secs(600);
        let (queue, _) = queue();
        std::thread::scope(|scope| {
            let _end = OnDrop::new(|| queue.stop(Event::default()));
            let stand_by = scope.spawn(|| queue.stand_by(Duration::ZERO, LONG));
            while !queue.lanes[0].items.lock().stands_by {
                std::thread::yield_now();
            }
            // As if a thread waited in `drain`, and took the first of two.
            queue.lanes[0].items.lock().drainers = 1;
            (1..=2).for_each(|ticket| queue.push(Lane::Queue, call(ticket)));
            queue.lanes[0].items.lock().drainers = 0;
            assert_eq!(queue.drain(Lane::Queue, 1, Duration::ZERO).len(), 1);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !stand_by.is_finished() {
                assert!(Instant::now() < deadline, "nothing wakes it");
                std::thread::yield_now();
            }
            assert!(stand_by.join().unwrap());
        });
    }

    #[test]
    fn a_waiting_drain_ends_with_the_first_event_or_the_deadline() {
        let (queue, _) = queue();
        let started = Instant::now();
        assert!(queue.drain(Lane::Pool, 1, Duration::from_millis(20)).is_empty());
        assert!(started.elapsed() >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            let drained = scope.spawn(|| queue.drain(Lane::Pool, 1, Duration::from_secs(10)));
            queue.push(Lane::Pool, call(1));
            assert_eq!(drained.join().unwrap().len(), 1);
        });
    }
}
