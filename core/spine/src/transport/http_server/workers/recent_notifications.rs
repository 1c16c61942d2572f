//! Recent notifications of other workers. Wakes only the streams subscribed to each.

use super::worker_notification::{NotificationContent, WorkerNotification};
use crate::{
    server::{Announcement, PendingNotifications},
    sync::Mutex,
};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio::sync::Notify;

/// Number of notifications kept in memory, so that streams need not query the store.
const MAX_LATEST: usize = 1024;

/// Returns whether a stream is subscribed to changes.
pub(super) type Wants = Box<dyn Fn(&PendingNotifications) -> bool + Send>;

/// Recent notifications; wakes only the streams subscribed to each.
#[derive(Default)]
pub(super) struct RecentNotifications(Mutex<RecentState>);

#[derive(Default)]
struct RecentState {
    /// Holds all notifications after this position.
    after: u64,
    latest: VecDeque<(u64, Arc<WorkerNotification>)>,
    /// The newest stream of each session.
    streams: HashMap<Arc<str>, WaitingStream>,
}

struct WaitingStream {
    wants: Wants,
    wake: Arc<Notify>,
    /// All notifications up to this position have been handled. `None` while the stream is reading
    /// notifications.
    done: Option<u64>,
    /// A later notification concerns it, so `done` stays.
    is_due: bool,
    /// The log of its session has new events.
    has_events: bool,
}

/// The changes since the stream last asked.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Updates {
    /// No notification up to this position concerns it.
    pub(super) done: Option<u64>,
    /// The log of its session has new events.
    pub(super) has_events: bool,
    /// Replaced by a newer stream of the session.
    pub(super) is_replaced: bool,
}

impl RecentNotifications {
    /// Sets the position after which notifications are recorded.
    pub(super) fn begin(&self, position: u64) {
        self.0.lock().after = position;
    }

    /// The position of the latest notification.
    pub(super) fn position(&self) -> u64 {
        self.0.lock().position()
    }

    /// Adds the next notification and returns the streams to wake.
    pub(super) fn post(&self, position: u64, notification: WorkerNotification) -> Vec<Arc<Notify>> {
        let mut state = self.0.lock();
        let mut due = Vec::new();
        for stream in state.streams.values_mut() {
            // A stream that is reading notifications will find this one.
            let Some(done) = stream.done.as_mut().filter(|_| !stream.is_due) else { continue };
            match &notification.content {
                NotificationContent::Announced(Announcement::Changed(changes)) if (stream.wants)(changes) => {
                    stream.is_due = true;
                    due.push(Arc::clone(&stream.wake));
                }
                _ => *done = position,
            }
        }
        state.latest.push_back((position, Arc::new(notification)));
        if state.latest.len() > MAX_LATEST
            && let Some((position, _)) = state.latest.pop_front()
        {
            state.after = position;
        }
        due
    }

    /// At most `limit` notifications after a position, or `None` if they are no longer in memory.
    pub(super) fn after(&self, position: u64, limit: usize) -> Option<Vec<(u64, Arc<WorkerNotification>)>> {
        let state = self.0.lock();
        (state.after <= position).then(|| {
            let begin = state.latest.partition_point(|(other, _)| *other <= position);
            state.latest.range(begin..).take(limit).cloned().collect()
        })
    }

    /// Registers the stream of a session. It replaces an older one, which ends.
    pub(super) fn enter(&self, session: &Arc<str>, wants: Wants) -> Arc<Notify> {
        let wake = Arc::new(Notify::new());
        let stream = WaitingStream { wants, wake: Arc::clone(&wake), done: None, is_due: false, has_events: true };
        if let Some(older) = self.0.lock().streams.insert(Arc::clone(session), stream) {
            older.wake.notify_one();
        }
        wake
    }

    /// The updates of a stream, which starts reading notifications.
    pub(super) fn updates(&self, session: &str, wake: &Arc<Notify>) -> Updates {
        match self.0.lock().stream(session, wake) {
            Some(stream) => {
                stream.is_due = false;
                let (done, has_events) = (stream.done.take(), std::mem::take(&mut stream.has_events));
                Updates { done, has_events, is_replaced: false }
            }
            None => Updates { is_replaced: true, ..Updates::default() },
        }
    }

    /// Records that a stream has read all notifications up to a position. It is woken for the next
    /// one that concerns it, or immediately if newer ones already exist.
    pub(super) fn rest(&self, session: &str, wake: &Arc<Notify>, done: u64) {
        let mut state = self.0.lock();
        let is_newest = state.position() <= done;
        if let Some(stream) = state.stream(session, wake) {
            if is_newest {
                stream.done = Some(done);
            } else {
                wake.notify_one();
            }
        }
    }

    /// The log of a session has new events.
    pub(super) fn wake(&self, session: &str) {
        if let Some(stream) = self.0.lock().streams.get_mut(session) {
            stream.has_events = true;
            stream.wake.notify_one();
        }
    }

    /// Removes a stream.
    pub(super) fn leave(&self, session: &str, wake: &Arc<Notify>) {
        let mut state = self.0.lock();
        if state.stream(session, wake).is_some() {
            state.streams.remove(session);
        }
    }
}

impl RecentState {
    fn position(&self) -> u64 {
        self.latest.back().map_or(self.after, |(position, _)| *position)
    }

    fn stream(&mut self, session: &str, wake: &Arc<Notify>) -> Option<&mut WaitingStream> {
        self.streams.get_mut(session).filter(|stream| Arc::ptr_eq(&stream.wake, wake))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed() -> WorkerNotification {
        WorkerNotification {
            from: 1,
            content: NotificationContent::Announced(Announcement::Changed(PendingNotifications::default())),
        }
    }

    fn resting(recent: &RecentNotifications, session: &str, wants: bool, done: u64) -> (Arc<str>, Arc<Notify>) {
        let session = Arc::from(session);
        let wake = recent.enter(&session, Box::new(move |_| wants));
        assert!(recent.updates(&session, &wake).has_events, "it begins with the log");
        recent.rest(&session, &wake, done);
        (session, wake)
    }

    #[test]
    fn a_notification_only_wakes_the_streams_subscribed_to_it() {
        for uninterested in [0, 1, 1000] {
            let recent = RecentNotifications::default();
            recent.begin(7);
            let others: Vec<_> =
                (0..uninterested).map(|number| resting(&recent, &format!("s{number}"), false, 7)).collect();
            let (session, wake) = resting(&recent, "interested", true, 7);
            let woken: usize = (8..108).map(|position| recent.post(position, changed()).len()).sum();
            assert_eq!(woken, 1, "beside {uninterested}: once, until it has read");
            assert_eq!(recent.updates(&session, &wake).done, Some(7), "its place is before the notification");
            // The others advance without being woken.
            for (session, wake) in others {
                assert_eq!(recent.updates(&session, &wake).done, Some(107));
            }
        }
    }

    #[test]
    fn no_notification_is_missed_between_reading_and_resting() {
        let recent = RecentNotifications::default();
        recent.begin(7);
        let (session, wake) = resting(&recent, "s", true, 7);
        recent.updates(&session, &wake);
        assert!(recent.post(8, changed()).is_empty(), "it reads");
        assert_eq!(recent.after(7, 9).unwrap().len(), 1);
        recent.post(9, changed());
        recent.rest(&session, &wake, 8);
        assert_eq!(recent.updates(&session, &wake).done, None, "it reads on");
        recent.rest(&session, &wake, 9);
        assert_eq!(recent.post(10, changed()).len(), 1);
    }

    #[test]
    fn events_of_a_session_only_wake_its_stream_and_a_newer_stream_replaces_it() {
        let recent = RecentNotifications::default();
        let (session, older) = resting(&recent, "s", true, 0);
        let (other, of_other) = resting(&recent, "t", true, 0);
        recent.wake("s");
        recent.wake("unknown");
        assert!(recent.updates(&session, &older).has_events && !recent.updates(&other, &of_other).has_events);
        let newer = recent.enter(&session, Box::new(|_| true));
        assert!(recent.updates(&session, &older).is_replaced);
        recent.leave(&session, &older);
        recent.wake("s");
        assert!(!recent.updates(&session, &newer).is_replaced);
        recent.leave(&session, &newer);
        assert!(recent.updates(&session, &newer).is_replaced);
    }

    #[test]
    fn the_latest_notifications_are_remembered() {
        let recent = RecentNotifications::default();
        recent.begin(1);
        for position in 2..2 + MAX_LATEST as u64 {
            recent.post(position, changed());
        }
        assert_eq!(recent.after(1, 2).unwrap().first().unwrap().0, 2);
        recent.post(5000, changed());
        assert!(recent.after(1, 2).is_none());
        assert_eq!(recent.after(2, 2).unwrap().len(), 2);
        assert_eq!(recent.position(), 5000);
    }
}
