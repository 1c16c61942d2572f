//! A store in a SQLite file, shared by the processes of one machine.

use crate::{
    engine::later,
    runtime::Runtime,
    store::{LogEntry, MAX_READ, Store, StoreError, StoreErrorKind, StoreTask},
    sync::Mutex,
    transport::private_file::private,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Params, Transaction, TransactionBehavior, params};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::sync::{
    mpsc::{Receiver, Sender, channel},
    oneshot,
};

/// Maximum number of calls queued for the thread. Others wait, for at most their deadline.
const MAX_QUEUED: usize = 1024;
/// How often to try to set the mode of a file that another process is creating.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Number of expired items of each kind that one write removes.
const SWEEP_LIMIT: u32 = 16;
/// A century.
const MAX_TTL_MS: u128 = 100 * 365 * 24 * 3600 * 1000;
/// The schema version, in `user_version`.
const LAYOUT: u32 = 2;
/// How often the clock of a file is written.
const CLOCK_INTERVAL_MS: i64 = 1000;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, text BLOB NOT NULL, ends INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS entry_ends ON entry (ends);
    CREATE TABLE IF NOT EXISTS log (name TEXT PRIMARY KEY, ends INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS log_ends ON log (ends);
    CREATE TABLE IF NOT EXISTS log_entry
        (position INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, text BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS log_entry_log ON log_entry (log, position);
    CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 1), latest INTEGER NOT NULL);
";

/// A SQLite file, used by one thread per process.
#[derive(Clone)]
pub(super) struct SqliteStore {
    file: Arc<SqliteFile>,
    jobs: Arc<Mutex<Option<Sender<ThreadWork>>>>,
    runtime: Arc<dyn Runtime>,
}

struct SqliteFile {
    path: PathBuf,
    name: String,
    deadline: Duration,
    clock: FileClock,
}

/// The clock of a file, shared by all processes: it continues from the latest time that one of them
/// knew, even if the system clock is set back. Otherwise leases would hold for longer.
#[derive(Default)]
struct FileClock(Mutex<Option<(i64, Instant)>>);

impl FileClock {
    /// The time in milliseconds since the Unix epoch. `wall`, in the same unit, and `at` are the
    /// clocks of the machine at one moment; `stored` is the latest time in the file.
    fn time(&self, wall: i64, at: Instant, stored: i64) -> i64 {
        let mut latest = self.0.lock();
        let (expected, since) = latest.map_or((i64::MIN, at), |(time, since)| {
            let more = at.saturating_duration_since(since).as_millis();
            (time.saturating_add(i64::try_from(more).unwrap_or(i64::MAX)), since.max(at))
        });
        let now = wall.max(expected).max(stored);
        *latest = Some((now, since));
        now
    }
}

/// Work for the thread. It gets an error if the file cannot be opened.
type ThreadWork = Box<dyn FnOnce(Result<&mut Connection, StoreError>) -> bool + Send>;

impl SqliteStore {
    pub(super) fn new(path: PathBuf, runtime: Arc<dyn Runtime>, deadline: Duration) -> Self {
        let name = format!("sqlite:{}", path.display());
        let file = Arc::new(SqliteFile { path, name, deadline, clock: FileClock::default() });
        Self { file, jobs: Arc::default(), runtime }
    }

    /// Runs work in a transaction on the thread of the file.
    fn run<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&Items<'_>) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> StoreTask<T> {
        let this = self.clone();
        Box::pin(async move {
            let Self { file, runtime, .. } = &this;
            let ended = || file.unavailable("its thread ended");
            let jobs = this.jobs()?;
            // For as long as the deadline of the call allows: a burst of calls is not a failure.
            let place = jobs.reserve().await.map_err(|_| ended())?;
            let (answer, answered) = oneshot::channel();
            let wall = i64::try_from(runtime.unix_time().as_millis()).unwrap_or(i64::MAX);
            let (file, at) = (Arc::clone(file), runtime.now());
            place.send(Box::new(move |connection| {
                // Its caller has given up, and may meanwhile have done otherwise.
                if answer.is_closed() {
                    return true;
                }
                let done = connection.and_then(|connection| {
                    let now = |stored| file.clock.time(wall, at, stored);
                    transact(connection, writes, now, work).map_err(|failure| file.error(failure))
                });
                // Keep the connection if the disk is full: a new one could not even read, because
                // it has to create files.
                let is_usable =
                    |error: &StoreError| matches!(error.kind, StoreErrorKind::Invalid | StoreErrorKind::Full);
                let is_usable = done.as_ref().err().is_none_or(is_usable);
                let _ = answer.send(done);
                is_usable
            }));
            answered.await.unwrap_or_else(|_| Err(ended()))
        })
    }

    /// The queue of the thread, which starts with the first call, and again after a panic.
    fn jobs(&self) -> Result<Sender<ThreadWork>, StoreError> {
        let mut jobs = self.jobs.lock();
        match &*jobs {
            Some(running) if !running.is_closed() => Ok(running.clone()),
            _ => Ok(jobs.insert(self.file.start()?).clone()),
        }
    }
}

impl SqliteFile {
    fn start(self: &Arc<Self>) -> Result<Sender<ThreadWork>, StoreError> {
        let (sender, jobs) = channel(MAX_QUEUED);
        let file = Arc::clone(self);
        let thread = thread::Builder::new().name("trunkline-sqlite".to_owned());
        let started = thread.spawn(move || file.serve(jobs));
        started.map(|_| sender).map_err(|error| self.unavailable(&format!("no thread for it: {error}")))
    }

    /// Runs until the store is dropped. A connection that failed is reopened.
    fn serve(&self, mut jobs: Receiver<ThreadWork>) {
        let mut open = None;
        while let Some(job) = jobs.blocking_recv() {
            let connection = match &mut open {
                Some(connection) => Ok(connection),
                None => self.open().map(|connection| open.insert(connection)),
            };
            if !job(connection.map_err(|failure| self.error(failure))) {
                open = None;
            }
        }
    }

    fn open(&self) -> Result<Connection, SqliteFailure> {
        create_private(&self.path).map_err(|error| SqliteFailure(StoreErrorKind::Unavailable, error.to_string()))?;
        let mut connection = Connection::open(&self.path)?;
        connection.busy_timeout(self.deadline)?;
        let until = later(Instant::now(), self.deadline);
        // Killing the process loses no committed data; a power failure may lose the latest commits.
        while let Err(error) = connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;") {
            // The busy timeout does not apply to the mode, which workers that start together set.
            if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || Instant::now() >= until {
                return Err(error.into());
            }
            thread::sleep(RETRY_INTERVAL);
        }
        let layout: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if layout > LAYOUT {
            let problem =
                format!("its layout {layout} needs a newer version of this library, which supports up to {LAYOUT}");
            return Err(SqliteFailure(StoreErrorKind::Corrupt, problem));
        }
        if layout < LAYOUT {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", LAYOUT)?;
            transaction.commit()?;
        }
        Ok(connection)
    }

    fn error(&self, SqliteFailure(kind, problem): SqliteFailure) -> StoreError {
        StoreError::new(kind, &self.name, problem)
    }

    fn unavailable(&self, problem: &str) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, &self.name, problem)
    }
}

/// The kind and message of a [`StoreError`], which adds the name of the file.
struct SqliteFailure(StoreErrorKind, String);

impl From<rusqlite::Error> for SqliteFailure {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        };
        Self(kind, error.to_string())
    }
}

/// Runs work in a transaction. `now` returns the time, given the latest in the file.
fn transact<T>(
    connection: &mut Connection,
    writes: bool,
    now: impl FnOnce(i64) -> i64,
    work: impl FnOnce(&Items<'_>) -> Result<T, SqliteFailure>,
) -> Result<T, SqliteFailure> {
    let behavior = if writes { TransactionBehavior::Immediate } else { TransactionBehavior::Deferred };
    let transaction = connection.transaction_with_behavior(behavior)?;
    let stored = "SELECT latest FROM clock WHERE id = 1";
    let stored = transaction.prepare_cached(stored)?.query_row([], |row| row.get::<_, i64>(0)).optional()?;
    let items = Items { now: now(stored.unwrap_or(i64::MIN)), transaction };
    if writes {
        items.keep_time(stored)?;
        items.sweep()?;
    }
    let done = work(&items)?;
    items.transaction.commit()?;
    Ok(done)
}

/// The items of a file within one transaction.
struct Items<'a> {
    transaction: Transaction<'a>,
    /// Milliseconds since the Unix epoch.
    now: i64,
}

impl Items<'_> {
    fn execute(&self, statement: &str, values: impl Params) -> rusqlite::Result<usize> {
        self.transaction.prepare_cached(statement)?.execute(values)
    }

    /// Updates the clock of the file. `stored` is its current time.
    fn keep_time(&self, stored: Option<i64>) -> Result<(), SqliteFailure> {
        if stored.is_none_or(|stored| self.now >= stored.saturating_add(CLOCK_INTERVAL_MS)) {
            self.execute("INSERT INTO clock VALUES (1, ?1) ON CONFLICT DO UPDATE SET latest = ?1", [self.now])?;
        }
        Ok(())
    }

    /// Removes expired items.
    fn sweep(&self) -> Result<(), SqliteFailure> {
        let old = "DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE ends <= ?1 ORDER BY ends LIMIT ?2)";
        self.execute(old, params![self.now, SWEEP_LIMIT])?;
        let old = "SELECT name FROM log WHERE ends <= ?1 ORDER BY ends LIMIT ?2";
        let mut old = self.transaction.prepare_cached(old)?;
        let names: Result<Vec<String>, _> = old.query_map(params![self.now, SWEEP_LIMIT], |row| row.get(0))?.collect();
        names?.iter().try_for_each(|name| self.remove_log(name))
    }

    fn get(&self, key: &str) -> Result<Option<String>, SqliteFailure> {
        let mut get = self.transaction.prepare_cached("SELECT text FROM entry WHERE key = ?1 AND ends > ?2")?;
        match get.query_row(params![key, self.now], |row| row.get(0)).optional()? {
            Some(bytes) => text(bytes).map(Some),
            None if self.has_log(key)? => {
                Err(SqliteFailure(StoreErrorKind::Invalid, format!("the key {key} names a log")))
            }
            None => Ok(None),
        }
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> Result<(), SqliteFailure> {
        self.remove_log(key)?;
        let put = "INSERT INTO entry VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET text = ?2, ends = ?3";
        self.execute(put, params![key, text.as_bytes(), self.end(keep_for)])?;
        Ok(())
    }

    fn append(&self, log: &str, text: &str, max_entries: usize, keep_for: Duration) -> Result<u64, SqliteFailure> {
        self.check_log(log)?;
        if !self.has_log(log)? {
            self.remove_log(log)?;
        }
        let known = "INSERT INTO log VALUES (?1, ?2) ON CONFLICT DO UPDATE SET ends = ?2";
        self.execute(known, params![log, self.end(keep_for)])?;
        self.execute("INSERT INTO log_entry (log, text) VALUES (?1, ?2)", params![log, text.as_bytes()])?;
        let position = self.transaction.last_insert_rowid();
        let trim = "DELETE FROM log_entry WHERE log = ?1 AND position <= \
                    (SELECT position FROM log_entry WHERE log = ?1 ORDER BY position DESC LIMIT 1 OFFSET ?2)";
        self.execute(trim, params![log, i64::try_from(max_entries.max(1)).unwrap_or(i64::MAX)])?;
        Ok(position.unsigned_abs())
    }

    fn read(&self, log: &str, after: u64, limit: usize) -> Result<Vec<LogEntry>, SqliteFailure> {
        self.check_log(log)?;
        let entries = "SELECT position, text FROM log_entry WHERE log = ?1 AND position > ?2 \
                       AND EXISTS (SELECT 1 FROM log WHERE name = ?1 AND ends > ?4) ORDER BY position LIMIT ?3";
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut entries = self.transaction.prepare_cached(entries)?;
        let rows = entries.query_map(params![log, after, limit, self.now], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (mut found, mut room) = (Vec::new(), MAX_READ);
        for row in rows {
            let (position, bytes): (i64, Vec<u8>) = row?;
            match room.checked_sub(bytes.len()) {
                Some(left) => room = left,
                None if found.is_empty() => room = 0,
                None => break,
            }
            found.push(LogEntry { position: position.unsigned_abs(), text: text(bytes)? });
        }
        Ok(found)
    }

    fn has_log(&self, key: &str) -> Result<bool, SqliteFailure> {
        let mut get = self.transaction.prepare_cached("SELECT 1 FROM log WHERE name = ?1 AND ends > ?2")?;
        Ok(get.exists(params![key, self.now])?)
    }

    /// Fails if the key is that of an entry.
    fn check_log(&self, log: &str) -> Result<(), SqliteFailure> {
        let mut get = self.transaction.prepare_cached("SELECT 1 FROM entry WHERE key = ?1 AND ends > ?2")?;
        if get.exists(params![log, self.now])? {
            return Err(SqliteFailure(StoreErrorKind::Invalid, format!("the key {log} names an entry, not a log")));
        }
        Ok(())
    }

    fn remove_log(&self, name: &str) -> Result<(), SqliteFailure> {
        self.execute("DELETE FROM log WHERE name = ?1", [name])?;
        self.execute("DELETE FROM log_entry WHERE log = ?1", [name])?;
        Ok(())
    }

    /// The expiry time of an item.
    fn end(&self, keep_for: Duration) -> i64 {
        self.now.saturating_add(i64::try_from(keep_for.as_millis().min(MAX_TTL_MS)).unwrap_or(i64::MAX))
    }
}

fn text(bytes: Vec<u8>) -> Result<String, SqliteFailure> {
    String::from_utf8(bytes).map_err(|_| SqliteFailure(StoreErrorKind::Corrupt, "a text is not UTF-8".to_owned()))
}

/// Creates the file with access for its user only, because it holds task results and tokens.
fn create_private(path: &Path) -> std::io::Result<()> {
    let created = match private().write(true).create_new(true).open(path) {
        // A link that leads nowhere also counts as existing. A file that exists is not opened here:
        // closing it would release the locks that SQLite has on it in this process.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => match path.try_exists()? {
            true => return Ok(()),
            false => private().write(true).create(true).truncate(false).open(path),
        },
        created => created,
    };
    created.map(drop)
}

impl Store for SqliteStore {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        let key = key.to_owned();
        self.run(false, move |items| items.get(&key))
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        let (key, text) = (key.to_owned(), text.to_owned());
        self.run(true, move |items| items.put(&key, &text, keep_for))
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        let (key, expected, text) = (key.to_owned(), expected.map(str::to_owned), text.to_owned());
        self.run(true, move |items| {
            let is_unchanged = items.get(&key)? == expected;
            if is_unchanged {
                items.put(&key, &text, keep_for)?;
            }
            Ok(is_unchanged)
        })
    }

    fn remove(&self, key: &str) -> StoreTask {
        let key = key.to_owned();
        self.run(true, move |items| {
            items.execute("DELETE FROM entry WHERE key = ?1", [&key])?;
            items.remove_log(&key)
        })
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        let (log, entry) = (log.to_owned(), entry.to_owned());
        self.run(true, move |items| items.append(&log, &entry, max_entries, keep_for))
    }

    /// Does not wait: a file announces no entries, so the guard of the store polls.
    fn read(&self, log: &str, after: u64, limit: usize, _: Duration) -> StoreTask<Vec<LogEntry>> {
        let log = log.to_owned();
        self.run(false, move |items| items.read(&log, after, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{runtime::BoxedTask, tests::driver_contract, transport::TokioRuntime};
    use std::sync::atomic::{AtomicU64, Ordering};

    const CALL_TIMEOUT: Duration = Duration::from_secs(5);
    const MINUTE: Duration = Duration::from_secs(60);

    /// A test's directory, removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let mut name = [0; 8];
            getrandom::fill(&mut name).unwrap();
            let folder = std::env::temp_dir().join(format!("trunkline-sqlite-{:x}", u64::from_ne_bytes(name)));
            std::fs::create_dir(&folder).unwrap();
            Self(folder)
        }

        fn store(&self) -> SqliteStore {
            SqliteStore::new(self.0.join("state.db"), TokioRuntime::current(), CALL_TIMEOUT)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[tokio::test]
    async fn a_file_keeps_the_contract() {
        let folder = Folder::new();
        driver_contract::check(Arc::new(folder.store()), Arc::new(folder.store())).await;
    }

    #[tokio::test]
    async fn a_file_outlives_its_store_and_is_its_users_only() {
        let folder = Folder::new();
        let store = folder.store();
        store.put("a", "1", MINUTE).await.unwrap();
        let position = store.append("l", "1", 9, MINUTE).await.unwrap();
        drop(store);
        let store = folder.store();
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"));
        assert_eq!(store.read("l", 0, 9, Duration::ZERO).await.unwrap()[0].position, position);
        #[cfg(unix)]
        for file in std::fs::read_dir(&folder.0).unwrap() {
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.unwrap().metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_behind_a_link_that_leads_nowhere_is_its_users_only() {
        let folder = Folder::new();
        std::os::unix::fs::symlink(folder.0.join("elsewhere.db"), folder.0.join("state.db")).unwrap();
        folder.store().put("a", "1", MINUTE).await.unwrap();
        let made = folder.0.join("elsewhere.db").metadata().unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&made.permissions()) & 0o777, 0o600);
    }

    #[tokio::test]
    async fn entries_and_logs_whose_time_is_over_leave_the_file() {
        let folder = Folder::new();
        let store = folder.store();
        for number in 0..5 {
            store.put(&format!("a{number}"), "1", Duration::ZERO).await.unwrap();
            store.append(&format!("l{number}"), "1", 9, Duration::ZERO).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        store.put("last", "1", MINUTE).await.unwrap();
        let file = Connection::open(folder.0.join("state.db")).unwrap();
        for (table, expected) in [("entry", 1), ("log", 0), ("log_entry", 0)] {
            let count = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
            assert_eq!(file.query_row(&format!("SELECT count(*) FROM {table}"), [], count).unwrap(), expected);
        }
    }

    /// A log of large entries is read in several steps, each with at least one entry.
    #[tokio::test]
    async fn a_read_of_a_log_is_bounded_in_bytes() {
        let folder = Folder::new();
        let store = folder.store();
        let half = "x".repeat(MAX_READ / 2);
        for text in [&*half, &half, "short", &"x".repeat(MAX_READ + 1)] {
            store.append("log", text, 9, MINUTE).await.unwrap();
        }
        let mut reads = Vec::new();
        let mut after = 0;
        while let read @ [.., last] = &store.read("log", after, 9, Duration::ZERO).await.unwrap()[..] {
            after = last.position;
            reads.push(read.len());
        }
        assert_eq!(reads, [2, 1, 1]);
    }

    /// No disk has to be filled: SQLite can limit the pages of a file.
    #[tokio::test]
    async fn a_full_disk_is_an_error_until_there_is_space() {
        let folder = Folder::new();
        let store = folder.store();
        store.put("a", "1", MINUTE).await.unwrap();
        let bound = store.run(false, |items| {
            Ok(items.transaction.pragma_query_value(None, "max_page_count", |row| row.get::<_, u32>(0))?)
        });
        assert!(bound.await.unwrap() > 1 << 20);
        let bounded = |pages: u32| {
            store.run(false, move |items| Ok(items.transaction.pragma_update(None, "max_page_count", pages)?))
        };
        bounded(20).await.unwrap();
        let large = "x".repeat(100_000);
        let error = store.put("b", &large, MINUTE).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Full, "{error}");
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"));
        assert_eq!(store.get("b").await.unwrap(), None);
        assert_eq!(store.put("b", &large, MINUTE).await.unwrap_err().kind, StoreErrorKind::Full, "the same connection");
        bounded(1 << 20).await.unwrap();
        store.put("b", &large, MINUTE).await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_another_process_creates_is_waited_for() {
        let folder = Folder::new();
        let other = Connection::open(folder.0.join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE other (id)").unwrap();
        let put = tokio::spawn(folder.store().put("a", "1", MINUTE));
        tokio::time::sleep(Duration::from_millis(100)).await;
        other.execute_batch("COMMIT").unwrap();
        put.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn calls_beyond_the_queue_of_the_thread_wait_for_it() {
        let folder = Folder::new();
        let store = folder.store();
        store.put("a", "0", MINUTE).await.unwrap();
        let other = Connection::open(folder.0.join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let calls: Vec<_> = (0..MAX_QUEUED + 100).map(|_| tokio::spawn(store.put("a", "1", MINUTE))).collect();
        tokio::task::yield_now().await;
        other.execute_batch("ROLLBACK").unwrap();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        assert_eq!(store.jobs().unwrap().capacity(), MAX_QUEUED);
    }

    #[tokio::test]
    async fn a_queued_call_whose_caller_has_given_up_changes_nothing() {
        let folder = Folder::new();
        let store = folder.store();
        store.put("a", "0", MINUTE).await.unwrap();
        let other = Connection::open(folder.0.join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let waiting = tokio::spawn(store.put("b", "1", MINUTE));
        let given_up = tokio::spawn(store.put("a", "1", MINUTE));
        tokio::time::sleep(Duration::from_millis(50)).await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        other.execute_batch("ROLLBACK").unwrap();
        waiting.await.unwrap().unwrap();
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some("0"));
        assert_eq!(store.jobs().unwrap().capacity(), MAX_QUEUED);
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_database_is_an_error_until_it_is_removed() {
        let folder = Folder::new();
        let path = folder.0.join("state.db");
        std::fs::write(&path, "no database ".repeat(1000)).unwrap();
        let store = folder.store();
        let error = store.get("a").await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("state.db"), "{error}");
        std::fs::remove_file(&path).unwrap();
        store.put("a", "1", MINUTE).await.unwrap();
        // A directory that does not exist.
        let lost = SqliteStore::new(folder.0.join("none/state.db"), TokioRuntime::current(), CALL_TIMEOUT);
        assert_eq!(lost.get("a").await.unwrap_err().kind, StoreErrorKind::Unavailable);
        // The schema of a later version.
        let later = folder.0.join("later.db");
        Connection::open(&later).unwrap().pragma_update(None, "user_version", LAYOUT + 1).unwrap();
        let later = SqliteStore::new(later, TokioRuntime::current(), CALL_TIMEOUT);
        let error = later.get("a").await.unwrap_err();
        assert!(error.kind == StoreErrorKind::Corrupt && error.problem.contains("newer version"), "{error}");
    }

    /// A machine whose clocks the test sets, in seconds.
    #[derive(Clone)]
    struct SetClocks {
        began: Instant,
        wall: Arc<AtomicU64>,
        elapsed: Arc<AtomicU64>,
    }

    impl Runtime for SetClocks {
        fn spawn(&self, task: BoxedTask) {
            tokio::spawn(task);
        }

        fn now(&self) -> Instant {
            self.began + Duration::from_secs(self.elapsed.load(Ordering::SeqCst))
        }

        fn unix_time(&self) -> Duration {
            Duration::from_secs(self.wall.load(Ordering::SeqCst))
        }

        fn sleep_until(&self, _: Instant) -> BoxedTask {
            Box::pin(std::future::pending())
        }

        fn wire_log(&self) -> Option<&dyn crate::wire_log::WireLog> {
            None
        }
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_changes_no_expiry() {
        let folder = Folder::new();
        let (wall, elapsed) = (Arc::new(AtomicU64::new(1_000_000)), Arc::new(AtomicU64::new(0)));
        let clocks = SetClocks { began: Instant::now(), wall: Arc::clone(&wall), elapsed: Arc::clone(&elapsed) };
        let store = || SqliteStore::new(folder.0.join("state.db"), Arc::new(clocks.clone()), CALL_TIMEOUT);
        let first = store();
        first.put("lease", "1", Duration::from_secs(8)).await.unwrap();
        wall.fetch_sub(3600, Ordering::SeqCst);
        elapsed.fetch_add(2, Ordering::SeqCst);
        // One process that starts after that, and one from before.
        let later = store();
        assert_eq!(later.get("lease").await.unwrap().as_deref(), Some("1"));
        later.put("own", "1", MINUTE).await.unwrap();
        assert_eq!(first.get("own").await.unwrap().as_deref(), Some("1"), "it has not ended an hour ago");
        elapsed.fetch_add(9, Ordering::SeqCst);
        assert_eq!(first.get("lease").await.unwrap(), None, "it held for eight seconds");
        assert_eq!(later.get("lease").await.unwrap(), None);
        assert_eq!(later.get("own").await.unwrap().as_deref(), Some("1"));
    }

    #[tokio::test]
    async fn a_file_that_another_process_holds_fails_within_the_deadline() {
        let folder = Folder::new();
        let short = Duration::from_millis(100);
        let store = SqliteStore::new(folder.0.join("state.db"), TokioRuntime::current(), short);
        store.put("a", "1", MINUTE).await.unwrap();
        let other = Connection::open(folder.0.join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(store.put("a", "2", MINUTE).await.unwrap_err().kind, StoreErrorKind::Unavailable);
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some("1"), "readers go on");
        other.execute_batch("ROLLBACK").unwrap();
        store.put("a", "2", MINUTE).await.unwrap();
    }
}
