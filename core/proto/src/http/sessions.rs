//! The sessions of the legacy era (HTTP-41..47).

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// Random bytes of a session id: 192 bits (HTTP-42).
pub const ID_BYTES: usize = 24;

/// The open sessions of an endpoint.
#[derive(Debug)]
pub struct Sessions<S> {
    open: HashMap<Box<str>, Entry<S>>,
    max: usize,
    idle: Duration,
}

#[derive(Debug)]
struct Entry<S> {
    session: S,
    last_used: Instant,
}

impl<S: Clone> Sessions<S> {
    /// At most `max` sessions, each ended after `idle` without use.
    pub fn new(max: usize, idle: Duration) -> Self {
        Self { open: HashMap::new(), max, idle }
    }

    /// Returns whether one more session may be opened.
    pub fn has_room(&self) -> bool {
        self.open.len() < self.max
    }

    /// Opens a session under an id made of random bytes: visible ASCII (HTTP-43).
    pub fn insert(&mut self, now: Instant, random: [u8; ID_BYTES], session: S) -> String {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let id = URL_SAFE_NO_PAD.encode(random);
        self.open.insert(id.as_str().into(), Entry { session, last_used: now });
        id
    }

    /// The session of an id, used now.
    pub fn touch(&mut self, now: Instant, id: &str) -> Option<S> {
        let entry = self.open.get_mut(id)?;
        entry.last_used = now;
        Some(entry.session.clone())
    }

    /// The session of an id, which does not count as use.
    pub fn get(&self, id: &str) -> Option<&S> {
        self.open.get(id).map(|entry| &entry.session)
    }

    /// Ends a session.
    pub fn remove(&mut self, id: &str) -> Option<S> {
        self.open.remove(id).map(|entry| entry.session)
    }

    /// Ends the sessions that have been idle for too long. One that is `busy` counts as used.
    pub fn expire(&mut self, now: Instant, busy: impl Fn(&S) -> bool) -> Vec<S> {
        let idle = self.idle;
        self.open
            .extract_if(|_, entry| {
                if busy(&entry.session) {
                    entry.last_used = now;
                }
                now.saturating_duration_since(entry.last_used) >= idle
            })
            .map(|(_, entry)| entry.session)
            .collect()
    }

    /// Every session, ended.
    pub fn drain(&mut self) -> Vec<S> {
        self.open.drain().map(|(_, entry)| entry.session).collect()
    }

    /// Every session.
    pub fn all(&self) -> Vec<S> {
        self.open.values().map(|entry| entry.session.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn http_43_ids_are_long_and_visible() {
        let mut sessions = Sessions::new(10, MINUTE);
        let id = sessions.insert(Instant::now(), [0xff; ID_BYTES], "s");
        assert!(id.len() >= 22 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
    }

    #[test]
    fn http_47_an_ended_session_is_unknown() {
        let (mut sessions, now) = (Sessions::new(10, MINUTE), Instant::now());
        let id = sessions.insert(now, [1; ID_BYTES], "s");
        assert_eq!(sessions.touch(now, &id), Some("s"));
        assert_eq!(sessions.remove(&id), Some("s"));
        assert_eq!(sessions.touch(now, &id), None);
        assert_eq!(sessions.remove(&id), None);
    }

    #[test]
    fn only_idle_sessions_expire() {
        let (mut sessions, start) = (Sessions::new(3, MINUTE), Instant::now());
        let [quiet, used, busy] = [1, 2, 3].map(|byte| sessions.insert(start, [byte; ID_BYTES], byte));
        assert!(!sessions.has_room());
        assert!(sessions.expire(start + MINUTE / 2, |_| false).is_empty());
        sessions.touch(start + MINUTE / 2, &used);
        assert_eq!(sessions.expire(start + MINUTE, |session| *session == 3), [1]);
        assert!(sessions.has_room());
        assert_eq!(sessions.touch(start + MINUTE, &quiet), None);
        // A call that took long leaves its session as fresh as if it had just been used.
        assert_eq!(sessions.expire(start + MINUTE * 2 - Duration::from_secs(1), |_| false), [2]);
        assert_eq!(sessions.touch(start + MINUTE * 2, &busy), Some(3));
        assert_eq!(sessions.all(), [3]);
        assert_eq!(sessions.drain(), [3]);
    }
}
