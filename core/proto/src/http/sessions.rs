//! The sessions of the legacy era (HTTP-41..47).

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// Random bytes of a session id: 192 bits (HTTP-42).
pub const ID_BYTES: usize = 24;

/// Longest time of a session that nothing has used since it was opened.
const UNUSED: Duration = Duration::from_secs(60);

/// The bounds of sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionBounds {
    /// Sessions at once.
    pub max: usize,
    /// Sessions at once of one principal.
    pub max_per_client: usize,
    /// Longest time without use.
    pub idle: Duration,
}

/// The open sessions of an endpoint.
#[derive(Debug)]
pub struct Sessions<S> {
    open: HashMap<Box<str>, StoredSession<S>>,
    /// Number of sessions of each principal.
    of: HashMap<Arc<str>, usize>,
    bounds: SessionBounds,
}

#[derive(Debug)]
struct StoredSession<S> {
    session: S,
    owner: Option<Arc<str>>,
    last_used: Instant,
    was_used: bool,
}

impl<S: Clone> Sessions<S> {
    /// No sessions yet.
    pub fn new(bounds: SessionBounds) -> Self {
        Self { open: HashMap::new(), of: HashMap::new(), bounds }
    }

    /// Makes room for a session of that principal. Beyond its share one of its own sessions gives
    /// way, and beyond the bound for all anyone's: one that nothing has used since it was opened,
    /// or else the one that has been idle the longest. Its client opens a new one (HTTP-48).
    ///
    /// # Errors
    /// All of them are busy.
    pub fn make_room(
        &mut self,
        owner: Option<&Arc<str>>,
        busy: impl Fn(&S) -> bool,
    ) -> Result<Option<S>, SessionsFull> {
        let share = owner.map_or(0, |owner| self.of.get(owner).copied().unwrap_or_default());
        let given_way = if share >= self.bounds.max_per_client {
            self.idlest(&busy, |entry| entry.owner.as_ref() == owner)
        } else if self.open.len() >= self.bounds.max {
            self.idlest(&busy, |_| true)
        } else {
            return Ok(None);
        };
        let id = given_way.ok_or(SessionsFull)?;
        Ok(self.remove(&id))
    }

    fn idlest(&self, busy: impl Fn(&S) -> bool, among: impl Fn(&StoredSession<S>) -> bool) -> Option<Box<str>> {
        let idle = self.open.iter().filter(|(_, entry)| among(entry) && !busy(&entry.session));
        idle.min_by_key(|(_, entry)| (entry.was_used, entry.last_used)).map(|(id, _)| id.clone())
    }

    /// Opens a session under an id made of random bytes: visible ASCII (HTTP-43).
    pub fn insert(&mut self, now: Instant, random: [u8; ID_BYTES], owner: Option<Arc<str>>, session: S) -> String {
        let id = session_id(random);
        self.insert_as(now, &id, owner, session);
        id
    }

    /// Opens a session under an id that no other has.
    pub fn insert_as(&mut self, now: Instant, id: &str, owner: Option<Arc<str>>, session: S) {
        if let Some(owner) = &owner {
            *self.of.entry(Arc::clone(owner)).or_default() += 1;
        }
        self.open.insert(id.into(), StoredSession { session, owner, last_used: now, was_used: false });
    }

    /// The session of an id, used now.
    pub fn touch(&mut self, now: Instant, id: &str) -> Option<S> {
        let entry = self.open.get_mut(id)?;
        entry.last_used = now;
        entry.was_used = true;
        Some(entry.session.clone())
    }

    /// The session of an id, which does not count as use.
    pub fn get(&self, id: &str) -> Option<&S> {
        self.open.get(id).map(|entry| &entry.session)
    }

    /// Ends a session.
    pub fn remove(&mut self, id: &str) -> Option<S> {
        let entry = self.open.remove(id)?;
        leave(&mut self.of, entry.owner.as_ref());
        Some(entry.session)
    }

    /// Ends the sessions that have been idle for too long, those never used after a minute. One
    /// that is `busy` counts as used.
    pub fn expire(&mut self, now: Instant, busy: impl Fn(&S) -> bool) -> Vec<S> {
        let Self { open, of, bounds: SessionBounds { idle, .. } } = self;
        open.extract_if(|_, entry| {
            if busy(&entry.session) {
                entry.last_used = now;
                entry.was_used = true;
            }
            let longest = if entry.was_used { *idle } else { UNUSED.min(*idle) };
            now.saturating_duration_since(entry.last_used) >= longest
        })
        .map(|(_, entry)| {
            leave(of, entry.owner.as_ref());
            entry.session
        })
        .collect()
    }

    /// Every session, ended.
    pub fn drain(&mut self) -> Vec<S> {
        self.of.clear();
        self.open.drain().map(|(_, entry)| entry.session).collect()
    }

    /// Every session.
    pub fn all(&self) -> Vec<S> {
        self.open.values().map(|entry| entry.session.clone()).collect()
    }
}

/// The id that is made of random bytes.
pub fn session_id(random: [u8; ID_BYTES]) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(random)
}

/// There is no room, and no session that could give way.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionsFull;

fn leave(of: &mut HashMap<Arc<str>, usize>, owner: Option<&Arc<str>>) {
    let Some(owner) = owner else { return };
    if let Some(count) = of.get_mut(owner) {
        *count -= 1;
        if *count == 0 {
            of.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn sessions(max: usize, max_per_client: usize) -> Sessions<u8> {
        Sessions::new(SessionBounds { max, max_per_client, idle: MINUTE * 10 })
    }

    fn open(sessions: &mut Sessions<u8>, now: Instant, number: u8, owner: Option<&str>) -> String {
        sessions.insert(now, [number; ID_BYTES], owner.map(Arc::from), number)
    }

    #[test]
    fn beyond_the_share_of_a_principal_its_own_sessions_give_way() {
        let (mut sessions, now) = (sessions(10, 2), Instant::now());
        let ids = [1, 2].map(|number| open(&mut sessions, now, number, Some("alice")));
        open(&mut sessions, now, 3, Some("bob"));
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        assert_eq!(sessions.make_room(Some(&bob), |_| false), Ok(None));
        sessions.touch(now, &ids[0]);
        assert_eq!(sessions.make_room(Some(&alice), |_| false), Ok(Some(2)), "nothing has used it");
        assert_eq!(sessions.make_room(Some(&alice), |_| false), Ok(None), "it has left");
        open(&mut sessions, now, 4, Some("alice"));
        assert_eq!(sessions.make_room(Some(&alice), |_| true), Err(SessionsFull));
        assert_eq!(sessions.make_room(None, |_| true), Ok(None), "a share is for principals");
    }

    #[test]
    fn beyond_the_bound_the_idlest_session_gives_way() {
        let (mut sessions, now) = (sessions(3, 3), Instant::now());
        let ids = [1, 2, 3].map(|number| open(&mut sessions, now, number, None));
        for (id, seconds) in ids.iter().zip([30, 10, 20]) {
            sessions.touch(now + Duration::from_secs(seconds), id);
        }
        assert_eq!(sessions.make_room(None, |session| *session == 2), Ok(Some(3)), "the idlest is busy");
        assert_eq!(sessions.make_room(None, |_| false), Ok(None));
    }

    #[test]
    fn a_session_that_nothing_uses_ends_after_a_minute() {
        let (mut sessions, now) = (sessions(3, 3), Instant::now());
        let ids = [1, 2].map(|number| open(&mut sessions, now, number, Some("alice")));
        sessions.touch(now, &ids[1]);
        assert_eq!(sessions.expire(now + MINUTE, |_| false), [1]);
        assert_eq!(sessions.of.values().sum::<usize>(), 1);
        assert_eq!(sessions.expire(now + MINUTE * 10, |_| false), [2]);
        assert!(sessions.of.is_empty());
    }

    #[test]
    fn http_43_ids_are_long_and_visible() {
        let mut sessions = sessions(10, 10);
        let id = open(&mut sessions, Instant::now(), 0xff, None);
        assert!(id.len() >= 22 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
    }

    #[test]
    fn http_47_an_ended_session_is_unknown() {
        let (mut sessions, now) = (sessions(10, 10), Instant::now());
        let id = open(&mut sessions, now, 1, None);
        assert_eq!(sessions.touch(now, &id), Some(1));
        assert_eq!(sessions.remove(&id), Some(1));
        assert_eq!(sessions.touch(now, &id), None);
        assert_eq!(sessions.remove(&id), None);
    }

    #[test]
    fn only_idle_sessions_expire() {
        let bounds = SessionBounds { max: 3, max_per_client: 3, idle: MINUTE };
        let (mut sessions, start) = (Sessions::new(bounds), Instant::now());
        let [quiet, used, busy] = [1, 2, 3].map(|number| open(&mut sessions, start, number, None));
        assert!(sessions.expire(start + MINUTE / 2, |_| false).is_empty());
        sessions.touch(start + MINUTE / 2, &used);
        assert_eq!(sessions.expire(start + MINUTE, |session| *session == 3), [1]);
        assert_eq!(sessions.touch(start + MINUTE, &quiet), None);
        // A call that took long leaves its session as fresh as if it had just been used.
        assert_eq!(sessions.expire(start + MINUTE * 2 - Duration::from_secs(1), |_| false), [2]);
        assert_eq!(sessions.touch(start + MINUTE * 2, &busy), Some(3));
        assert_eq!(sessions.all(), [3]);
        assert_eq!(sessions.drain(), [3]);
    }
}
