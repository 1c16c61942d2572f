//! The sessions of the legacy era (HTTP-41..47).

use crate::fast_map::FastMap;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

/// Number of random bytes in a session id: 192 bits (HTTP-42).
pub const ID_BYTES: usize = 24;

/// Maximum lifetime of a session that is never used after it was opened.
pub const UNUSED_SESSION_TTL: Duration = Duration::from_secs(60);

/// Precision of `SessionTurn::last_used`: uses within this time do not reorder the sessions.
const PRECISION: Duration = Duration::from_millis(100);

/// Limits of sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionBounds {
    /// Maximum number of concurrent sessions.
    pub max: usize,
    /// Maximum number of concurrent sessions of one principal.
    pub max_per_client: usize,
    /// Maximum idle time.
    pub idle: Duration,
}

/// The open sessions of an endpoint.
#[derive(Debug)]
pub struct Sessions<S> {
    open: FastMap<Arc<str>, StoredSession<S>>,
    /// The ids in the order of eviction.
    order: BTreeMap<SessionTurn, Arc<str>>,
    /// The sessions of each principal, in the same order.
    of: HashMap<Arc<str>, BTreeSet<SessionTurn>>,
    /// Number of the latest session.
    latest: u64,
    /// The times of the last two checks for expired sessions, the older one first.
    looks: [Option<Instant>; 2],
    bounds: SessionBounds,
}

#[derive(Debug)]
struct StoredSession<S> {
    session: S,
    owner: Option<Arc<str>>,
    turn: SessionTurn,
}

/// The position of a session in the order of eviction: first those never used since they were
/// opened, then the longest idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionTurn {
    was_used: bool,
    last_used: Instant,
    number: u64,
}

impl<S: Clone> Sessions<S> {
    /// An empty table.
    pub fn new(bounds: SessionBounds) -> Self {
        let (open, order, of) = (FastMap::default(), BTreeMap::new(), HashMap::new());
        Self { open, order, of, latest: 0, looks: [None; 2], bounds }
    }

    /// Makes room for a session of that principal. Beyond the principal's limit, one of its own
    /// sessions is evicted, and beyond the global limit, anyone's: a session never used since it
    /// was opened, or else the longest idle. Its client opens a new one (HTTP-48). A session that
    /// is `busy` counts as used now, so it is not checked again soon.
    ///
    /// # Errors
    /// If all of them are busy.
    pub fn make_room(
        &mut self,
        now: Instant,
        owner: Option<&Arc<str>>,
        busy: impl Fn(&S) -> bool,
    ) -> Result<Option<S>, SessionsFull> {
        let of_owner = owner.and_then(|owner| self.of.get(owner));
        let (evicted, passed) = if self.has_all_of_its_own(owner) {
            self.idlest(of_owner.into_iter().flatten().filter_map(|turn| self.order.get(turn)), busy)
        } else if self.open.len() >= self.bounds.max {
            self.idlest(self.order.values(), busy)
        } else {
            return Ok(None);
        };
        for id in passed {
            self.use_now(now, &id);
        }
        let id = evicted.ok_or(SessionsFull)?;
        Ok(self.remove(&id))
    }

    /// Returns whether the principal has as many sessions as one may have, so that another evicts
    /// one of its own.
    pub fn has_all_of_its_own(&self, owner: Option<&Arc<str>>) -> bool {
        let of_owner = owner.and_then(|owner| self.of.get(owner));
        of_owner.is_some_and(|turns| turns.len() >= self.bounds.max_per_client)
    }

    /// The first that is not busy, and those before it.
    fn idlest<'a>(
        &self,
        ids: impl Iterator<Item = &'a Arc<str>>,
        busy: impl Fn(&S) -> bool,
    ) -> (Option<Arc<str>>, Vec<Arc<str>>) {
        let mut passed = Vec::new();
        for id in ids {
            if self.open.get(id).is_some_and(|entry| busy(&entry.session)) {
                passed.push(Arc::clone(id));
            } else {
                return (Some(Arc::clone(id)), passed);
            }
        }
        (None, passed)
    }

    /// Opens a session under a unique id.
    pub fn insert(&mut self, now: Instant, id: &str, owner: Option<Arc<str>>, session: S) {
        self.latest += 1;
        let turn = SessionTurn { was_used: false, last_used: now, number: self.latest };
        if let Some(owner) = &owner {
            self.of.entry(Arc::clone(owner)).or_default().insert(turn);
        }
        let id: Arc<str> = id.into();
        self.order.insert(turn, Arc::clone(&id));
        self.open.insert(id, StoredSession { session, owner, turn });
    }

    /// Finds a session by id and marks it as used now.
    pub fn touch(&mut self, now: Instant, id: &str) -> Option<S> {
        let StoredSession { session, turn, .. } = self.open.get(id)?;
        if turn.was_used && now.saturating_duration_since(turn.last_used) < PRECISION {
            return Some(session.clone());
        }
        self.use_now(now, id).cloned()
    }

    fn use_now(&mut self, now: Instant, id: &str) -> Option<&S> {
        let entry = self.open.get_mut(id)?;
        let turn = SessionTurn { was_used: true, last_used: now, ..entry.turn };
        let before = std::mem::replace(&mut entry.turn, turn);
        if let Some(id) = self.order.remove(&before) {
            self.order.insert(turn, id);
        }
        if let Some(turns) = entry.owner.as_ref().and_then(|owner| self.of.get_mut(owner)) {
            turns.remove(&before);
            turns.insert(turn);
        }
        Some(&entry.session)
    }

    /// Finds a session by id without marking it as used.
    pub fn get(&self, id: &str) -> Option<&S> {
        self.open.get(id).map(|entry| &entry.session)
    }

    /// Removes a session.
    pub fn remove(&mut self, id: &str) -> Option<S> {
        let StoredSession { session, owner, turn } = self.open.remove(id)?;
        self.order.remove(&turn);
        if let Some(owner) = owner
            && let Some(turns) = self.of.get_mut(&owner)
        {
            turns.remove(&turn);
            if turns.is_empty() {
                self.of.remove(&owner);
            }
        }
        Some(session)
    }

    /// Removes sessions that have been idle for too long, or have never been used for a minute. A
    /// session that is `busy` counts as used. Only recently used sessions and those idle for too
    /// long are checked: the others neither became busy nor are due.
    pub fn expire(&mut self, now: Instant, busy: impl Fn(&S) -> bool) -> Vec<S> {
        // The time of the check before the last one, since a session may become busy a little after
        // its use.
        let [since, last] = self.looks;
        self.looks = [last, Some(now)];
        for id in self.used_since(since) {
            if self.get(&id).is_some_and(&busy) {
                self.use_now(now, &id);
            }
        }
        let mut over = Vec::new();
        for id in self.idle_at(now) {
            if self.get(&id).is_some_and(&busy) {
                self.use_now(now, &id);
            } else {
                over.extend(self.remove(&id));
            }
        }
        over
    }

    /// The sessions opened or used since `since`, or all of them if it is `None`.
    fn used_since(&self, since: Option<Instant>) -> Vec<Arc<str>> {
        let Some(since) = since else { return self.order.values().cloned().collect() };
        let from = |was_used| SessionTurn { was_used, last_used: since, number: 0 };
        let unused = self.order.range(from(false)..).take_while(|(turn, _)| !turn.was_used);
        unused.chain(self.order.range(from(true)..)).map(|(_, id)| Arc::clone(id)).collect()
    }

    /// The sessions that have been idle for too long.
    fn idle_at(&self, now: Instant) -> Vec<Arc<str>> {
        let up_to = |was_used, last_used| SessionTurn { was_used, last_used, number: u64::MAX };
        let unused = now.checked_sub(UNUSED_SESSION_TTL.min(self.bounds.idle));
        let unused = unused.into_iter().flat_map(|end| self.order.range(..=up_to(false, end)));
        // Used sessions come after all others.
        let used = now.checked_sub(self.bounds.idle);
        let used = used.into_iter().flat_map(|end| self.order.range(up_to(false, now)..=up_to(true, end)));
        unused.chain(used.filter(|(turn, _)| turn.was_used)).map(|(_, id)| Arc::clone(id)).collect()
    }

    /// Removes and returns all sessions.
    pub fn drain(&mut self) -> Vec<S> {
        self.of.clear();
        self.order.clear();
        self.open.drain().map(|(_, entry)| entry.session).collect()
    }

    /// All sessions.
    pub fn all(&self) -> Vec<S> {
        self.open.values().map(|entry| entry.session.clone()).collect()
    }
}

/// The id generated from random bytes: visible ASCII (HTTP-43).
pub fn session_id(random: [u8; ID_BYTES]) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(random)
}

/// The limit is reached, and no session can be evicted.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionsFull;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const MINUTE: Duration = Duration::from_secs(60);

    fn sessions(max: usize, max_per_client: usize) -> Sessions<u8> {
        Sessions::new(SessionBounds { max, max_per_client, idle: MINUTE * 10 })
    }

    fn open(sessions: &mut Sessions<u8>, now: Instant, number: u8, owner: Option<&str>) -> String {
        let id = session_id([number; ID_BYTES]);
        sessions.insert(now, &id, owner.map(Arc::from), number);
        id
    }

    #[test]
    fn beyond_the_share_of_a_principal_its_own_sessions_give_way() {
        let (mut sessions, now) = (sessions(10, 2), Instant::now());
        let ids = [1, 2].map(|number| open(&mut sessions, now, number, Some("alice")));
        open(&mut sessions, now, 3, Some("bob"));
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        assert_eq!(sessions.make_room(now, Some(&bob), |_| false), Ok(None));
        sessions.touch(now, &ids[0]);
        assert_eq!(sessions.make_room(now, Some(&alice), |_| false), Ok(Some(2)), "nothing has used it");
        assert_eq!(sessions.make_room(now, Some(&alice), |_| false), Ok(None), "it has left");
        open(&mut sessions, now, 4, Some("alice"));
        assert_eq!(sessions.make_room(now, Some(&alice), |_| true), Err(SessionsFull));
        assert_eq!(sessions.make_room(now, None, |_| true), Ok(None), "a share is for principals");
    }

    #[test]
    fn beyond_the_bound_the_idlest_session_gives_way() {
        let (mut sessions, now) = (sessions(3, 3), Instant::now());
        let ids = [1, 2, 3].map(|number| open(&mut sessions, now, number, None));
        for (id, seconds) in ids.iter().zip([30, 10, 20]) {
            sessions.touch(now + Duration::from_secs(seconds), id);
        }
        assert_eq!(sessions.make_room(now, None, |session| *session == 2), Ok(Some(3)), "the idlest is busy");
        assert_eq!(sessions.make_room(now, None, |_| false), Ok(None));
    }

    #[test]
    fn uses_within_the_precision_do_not_reorder_the_sessions() {
        let (mut sessions, start) = (sessions(2, 2), Instant::now());
        let ids = [1, 2].map(|number| open(&mut sessions, start, number, Some("alice")));
        let mut touch = |milliseconds, id: &str| {
            assert!(sessions.touch(start + Duration::from_millis(milliseconds), id).is_some());
            sessions.order.values().map(|id| sessions.open[id].session).collect::<Vec<_>>()
        };
        assert_eq!(touch(0, &ids[0]), [2, 1], "the first use always counts");
        assert_eq!(touch(1, &ids[1]), [1, 2]);
        assert_eq!(touch(99, &ids[0]), [1, 2]);
        assert_eq!(touch(100, &ids[0]), [2, 1]);
        assert_eq!(touch(199, &ids[0]), [2, 1]);
        let end = start + MINUTE * 10;
        assert_eq!(sessions.expire(end + Duration::from_millis(1), |_| false), [2]);
        assert_eq!(sessions.expire(end + Duration::from_millis(100), |_| false), [1]);
        assert!(sessions.order.is_empty() && sessions.of.is_empty());
    }

    #[test]
    fn the_session_to_evict_is_found_without_a_scan() {
        let (mut sessions, start) = (sessions(200, 98), Instant::now());
        for number in 0..200 {
            open(&mut sessions, start, number, Some("alice").filter(|_| number < 100));
        }
        let checks = Cell::new(0);
        let mut looks = |seconds, owner: Option<&str>, busy: fn(u8) -> bool| {
            checks.set(0);
            let now = start + Duration::from_secs(seconds);
            let is_busy = |session: &u8| {
                checks.set(checks.get() + 1);
                busy(*session)
            };
            let evicted = sessions.make_room(now, owner.map(Arc::from).as_ref(), is_busy).unwrap();
            open(&mut sessions, now, 200 + u8::try_from(seconds).unwrap(), owner);
            (evicted, checks.get())
        };
        assert_eq!(looks(1, None, |_| false), (Some(0), 1));
        assert_eq!(looks(2, Some("alice"), |_| false), (Some(1), 1));
        assert_eq!(looks(3, Some("alice"), |_| false), (Some(2), 1));
        // Busy sessions count as used at that time, and are not checked again.
        assert_eq!(looks(4, None, |session| session < 150), (Some(150), 148));
        assert_eq!(looks(5, None, |session| session < 150), (Some(151), 1));
    }

    #[test]
    fn a_session_that_nothing_uses_ends_after_a_minute() {
        let (mut sessions, now) = (sessions(3, 3), Instant::now());
        let ids = [1, 2].map(|number| open(&mut sessions, now, number, Some("alice")));
        sessions.touch(now, &ids[1]);
        assert_eq!(sessions.expire(now + MINUTE, |_| false), [1]);
        assert_eq!(sessions.of.values().map(BTreeSet::len).sum::<usize>(), 1);
        assert_eq!(sessions.expire(now + MINUTE * 10, |_| false), [2]);
        assert!(sessions.of.is_empty());
    }

    #[test]
    fn sessions_expire_without_a_look_at_those_that_are_neither_due_nor_used_lately() {
        let bounds = SessionBounds { max: 200, max_per_client: 200, idle: MINUTE * 10 };
        let (mut sessions, start) = (Sessions::new(bounds), Instant::now());
        let ids: Vec<_> = (0..200).map(|number| open(&mut sessions, start, number, None)).collect();
        for id in &ids[..199] {
            sessions.touch(start, id);
        }
        let looks = |sessions: &mut Sessions<u8>, minute, busy: Option<u8>| {
            let checks = Cell::new(0);
            let over = sessions.expire(start + MINUTE * minute, |session| {
                checks.set(checks.get() + 1);
                Some(*session) == busy
            });
            (over, checks.get())
        };
        assert_eq!(looks(&mut sessions, 0, None), (vec![], 200), "they are new");
        assert_eq!(looks(&mut sessions, 1, Some(7)).0, [199], "nothing has used it");
        assert_eq!(looks(&mut sessions, 2, Some(7)).1, 200 - 1, "it became busy after its use");
        assert_eq!(looks(&mut sessions, 3, Some(7)), (vec![], 1));
        sessions.touch(start + MINUTE * 3, &ids[8]);
        assert_eq!(looks(&mut sessions, 4, Some(7)), (vec![], 2));
        assert_eq!(looks(&mut sessions, 9, Some(7)), (vec![], 2));
        let (over, checks) = looks(&mut sessions, 10, None);
        assert_eq!((over.len(), checks), (197, 1 + 197));
        assert_eq!(looks(&mut sessions, 13, None), (vec![8], 2));
        assert_eq!(looks(&mut sessions, 18, None), (vec![], 0));
        assert_eq!(looks(&mut sessions, 19, None), (vec![7], 1), "ten minutes after it was busy last");
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
        // A session counts as used until the end of a long call.
        assert_eq!(sessions.expire(start + MINUTE * 2 - Duration::from_secs(1), |_| false), [2]);
        assert_eq!(sessions.touch(start + MINUTE * 2, &busy), Some(3));
        assert_eq!(sessions.all(), [3]);
        assert_eq!(sessions.drain(), [3]);
    }
}
