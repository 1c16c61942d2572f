//! Loom models of the waist: loom runs each with every possible interleaving of its threads.
//!
//! `cargo test -p trunkline-bridge --features loom --lib loom_tests`

use crate::{
    Bell, Body, Event, EventKind, Lane, LogRecord,
    events::{
        backlog::Backlog,
        queue::{EventQueue, QueuedProgress},
        slot::ReplySlot,
    },
    http::credit::Credit,
    process::sync_primitives::{Condvar, Mutex},
};
use loom::{future::block_on, thread};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Longer than any model, in which time does not pass.
const WAIT_TIMEOUT: Duration = Duration::from_secs(600);
/// More preemptions find little and take hours.
const PREEMPTION_BOUND: usize = 3;

fn model(play: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTION_BOUND);
    builder.check(play);
}

/// A host that sleeps until the bell rings.
#[derive(Default)]
struct WokenHost {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl WokenHost {
    fn wait(&self) {
        let mut rung = self.changed.wait_while_until(self.rung.lock(), Instant::now() + WAIT_TIMEOUT, |rung| !*rung);
        *rung = false;
    }

    /// Sleeps and drains events until `enough` returns true.
    fn serve(&self, queue: &EventQueue, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        while !enough(&seen) {
            self.wait();
            loop {
                let events = queue.drain(Lane::Queue, 1, Duration::ZERO);
                if events.is_empty() {
                    break;
                }
                seen.extend(events);
            }
        }
        seen
    }
}

struct BellOf(Arc<WokenHost>);

impl Bell for BellOf {
    fn ring(&self) {
        *self.0.rung.lock() = true;
        self.0.changed.notify_one();
    }
}

fn waist() -> (Arc<WokenHost>, Arc<EventQueue>) {
    let host = Arc::new(WokenHost::default());
    let queue = EventQueue::new(Box::new(BellOf(Arc::clone(&host))), None);
    (host, Arc::new(queue))
}

fn call(ticket: u64) -> Event {
    Event { kind: EventKind::Call, ticket, ..Event::default() }
}

#[test]
fn no_event_lies_in_the_queue_without_a_bell() {
    model(|| {
        let (host, queue) = waist();
        let senders = [1, 2].map(|ticket| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(Lane::Queue, call(ticket)))
        });
        let mut seen: Vec<_> =
            host.serve(&queue, |seen| seen.len() == 2).into_iter().map(|event| event.ticket).collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn each_waiting_thread_of_the_pool_gets_one_call() {
    model(|| {
        let (_, queue) = waist();
        let workers = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.drain(Lane::Pool, 1, WAIT_TIMEOUT).len())
        });
        queue.push(Lane::Pool, call(1));
        queue.push(Lane::Pool, call(2));
        assert_eq!(workers.map(|worker| worker.join().unwrap()), [1, 1]);
    });
}

#[test]
fn a_thread_that_stands_by_sees_what_a_drain_leaves() {
    model(|| {
        let (_, queue) = waist();
        let (standing, draining) = (Arc::clone(&queue), Arc::clone(&queue));
        let stand_by = thread::spawn(move || standing.stand_by(Duration::ZERO, WAIT_TIMEOUT));
        let drainer = thread::spawn(move || draining.drain(Lane::Queue, 1, WAIT_TIMEOUT).len());
        queue.push(Lane::Queue, call(1));
        queue.push(Lane::Queue, call(2));
        assert_eq!(drainer.join().unwrap(), 1);
        assert!(stand_by.join().unwrap());
    });
}

#[test]
fn the_last_event_ends_every_wait_and_nothing_follows_it() {
    model(|| {
        let (_, queue) = waist();
        let (waiting, sending) = (Arc::clone(&queue), Arc::clone(&queue));
        let worker = thread::spawn(move || waiting.drain(Lane::Pool, 1, WAIT_TIMEOUT).len());
        let sender = thread::spawn(move || sending.push(Lane::Queue, call(1)));
        queue.stop(Event { kind: EventKind::Stopped, ..Event::default() });
        assert_eq!(worker.join().unwrap(), 0);
        sender.join().unwrap();
        let events = queue.drain(Lane::Queue, 9, Duration::ZERO);
        assert_eq!(events.last().map(|event| event.kind), Some(EventKind::Stopped));
    });
}

#[test]
fn a_call_is_taken_back_or_drained() {
    model(|| {
        let (_, queue) = waist();
        queue.push(Lane::Queue, call(1));
        let host = Arc::clone(&queue);
        let drained = thread::spawn(move || host.drain(Lane::Queue, 1, Duration::ZERO).len() == 1);
        let withdrawn = queue.withdraw(Lane::Queue, 1);
        assert_ne!(drained.join().unwrap(), withdrawn);
    });
}

#[test]
fn the_latest_progress_is_seen() {
    model(|| {
        let (host, queue) = waist();
        let sending = Arc::clone(&queue);
        let sender = thread::spawn(move || {
            let progress = QueuedProgress::of(7, 1);
            sending.push_progress(&progress, "1".into());
            sending.push_progress(&progress, "2".into());
        });
        let is_latest = |event: &Event| matches!(&event.body, Body::Bytes(body) if body == "2");
        let seen = host.serve(&queue, |seen| seen.iter().any(is_latest));
        assert!(seen.last().is_some_and(is_latest), "nothing older comes after it");
        sender.join().unwrap();
    });
}

#[test]
fn no_log_record_is_lost() {
    model(|| {
        let (host, queue) = waist();
        let senders = [1, 2].map(|number: u32| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push_log(LogRecord::new("warn", "t", number.to_string())))
        });
        let records = |seen: &[Event]| -> usize {
            seen.iter().map(|event| if let Body::Log(records) = &event.body { records.len() } else { 0 }).sum()
        };
        assert_eq!(records(&host.serve(&queue, |seen| records(seen) == 2)), 2);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn a_waiting_thread_gets_its_reply() {
    model(|| {
        let slot = Arc::new(ReplySlot::default());
        let filling = Arc::clone(&slot);
        let core = thread::spawn(move || filling.fill(Ok("{}".into())));
        assert_eq!(slot.wait(WAIT_TIMEOUT), Some(Ok("{}".into())));
        core.join().unwrap();
    });
}

#[test]
fn credit_that_is_granted_is_taken() {
    model(|| {
        let credit = Arc::new(Credit::default());
        let first = block_on(credit.take(usize::MAX));
        let granting = Arc::clone(&credit);
        let host = thread::spawn(move || granting.grant(first));
        assert_eq!(block_on(credit.take(usize::MAX)), first);
        host.join().unwrap();
    });
}

#[test]
fn dropped_records_are_reported_once_there_is_space() {
    model(|| {
        let backlog = Arc::new(Backlog::default());
        assert!(backlog.admit(1, 4 << 20));
        let taking = Arc::clone(&backlog);
        let host = thread::spawn(move || taking.taken(1, 4 << 20));
        let admitted = backlog.admit(1, 1);
        let told = host.join().unwrap();
        let later = if admitted { backlog.taken(1, 1) } else { 0 };
        let rest = if backlog.admit(1, 1) { backlog.taken(1, 1) } else { 0 };
        assert_eq!(told + later + rest, usize::from(!admitted));
    });
}
