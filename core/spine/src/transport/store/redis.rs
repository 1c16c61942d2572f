//! A store in a Redis or Valkey database, shared by many machines.

use super::redis_listener;
use crate::{
    runtime::Runtime,
    store::{LogEntry, MAX_READ, Store, StoreError, StoreErrorKind, StoreTask, Waiting, redacted},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind,
    aio::MultiplexedConnection, cmd,
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{sync::Mutex, task::AbortHandle};

/// How often entries are looked for, in case the pub/sub connection is lost.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A century.
const MAX_TTL_MS: u128 = 100 * 365 * 24 * 3600 * 1000;
/// Reads an entry, unless it is too large.
const GET_SCRIPT: &str = "
if redis.call('STRLEN', KEYS[1]) > tonumber(ARGV[1]) then return redis.error_reply('TOOLARGE ' .. KEYS[1]) end
return redis.call('GET', KEYS[1])";
/// Reads entries of a log; fewer if they are large.
const READ_SCRIPT: &str = "
local found, bytes = {}, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], ARGV[2], '+', 'COUNT', ARGV[3])) do
  bytes = bytes + #entry[2][#entry[2]]
  if bytes > tonumber(ARGV[1]) then
    if #found == 0 then return redis.error_reply('TOOLARGE ' .. KEYS[1]) end
    break
  end
  found[#found + 1] = entry
end
return found";
/// Sets an entry if it is unchanged.
const PUT_IF_SCRIPT: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1";
/// Appends to a log. Positions follow the clock, so that they increase even if the database lost
/// everything, and a counter in case the clock stands still.
const APPEND_SCRIPT: &str = "
local time = redis.call('TIME')
local position = (time[1] * 1000 + math.floor(time[2] / 1000)) * 2048
position = math.max(position, (tonumber(redis.call('GET', KEYS[2])) or 0) + 1)
local text = string.format('%.0f', position)
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '0-' .. text, 'text', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], text)
redis.call('PUBLISH', ARGV[4], KEYS[1])
return text";

/// A database with one connection for calls, and one that announces log entries.
#[derive(Clone)]
pub(super) struct RedisStore {
    database: Arc<Database>,
}

struct Database {
    client: Client,
    name: String,
    /// The prefix of all keys.
    prefix: String,
    deadline: Duration,
    connection: Mutex<Option<MultiplexedConnection>>,
    waiting: Arc<Waiting>,
    listener: OnceLock<AbortHandle>,
}

impl RedisStore {
    pub(super) fn new(
        url: &str,
        namespace: &str,
        runtime: Arc<dyn Runtime>,
        deadline: Duration,
    ) -> Result<Self, StoreError> {
        let name = redacted(url);
        let client =
            Client::open(url).map_err(|error| StoreError::new(StoreErrorKind::Invalid, &*name, error.to_string()))?;
        let database = Database {
            client,
            name,
            prefix: format!("{namespace}:"),
            deadline,
            connection: Mutex::new(None),
            waiting: Waiting::new(runtime, POLL_INTERVAL),
            listener: OnceLock::new(),
        };
        Ok(Self { database: Arc::new(database) })
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.database.prefix)
    }

    fn run<T: FromRedisValue + Send + 'static>(&self, command: Cmd) -> StoreTask<T> {
        let database = Arc::clone(&self.database);
        Box::pin(async move { database.query(&command).await })
    }

    /// Starts listening for log entries; called by the first read that waits.
    fn listen(&self) {
        let Database { client, prefix, deadline, waiting, listener, .. } = &*self.database;
        listener.get_or_init(|| {
            let waiting = Arc::clone(waiting);
            let listening = redis_listener::listen(client.clone(), prefix.clone(), *deadline, waiting);
            tokio::spawn(listening).abort_handle()
        });
    }
}

impl Database {
    async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let mut connection = self.connected().await?;
        let outcome = command.query_async(&mut connection).await;
        outcome.map_err(|error| {
            if is_of_connection(&error) {
                // The lock is only held while a connection is being opened, and then there is none
                // to use.
                if let Ok(mut current) = self.connection.try_lock() {
                    *current = None;
                }
            }
            self.error(&error)
        })
    }

    async fn connected(&self) -> Result<MultiplexedConnection, StoreError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = &*current {
            return Ok(connection.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.deadline))
            .set_response_timeout(Some(self.deadline));
        let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let connection = connected.map_err(|error| self.error(&error))?;
        Ok(current.insert(connection).clone())
    }

    fn error(&self, error: &RedisError) -> StoreError {
        let kind = match (error.code(), error.kind()) {
            // MISCONF, for example if its disk is full.
            (Some("OOM" | "MISCONF"), _) => StoreErrorKind::Full,
            (Some("WRONGTYPE"), _) => StoreErrorKind::Invalid,
            (Some("TOOLARGE"), _) | (_, ErrorKind::UnexpectedReturnType | ErrorKind::Parse) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Unavailable,
        };
        StoreError::new(kind, &*self.name, error.to_string())
    }
}

/// Returns whether a new connection may help.
fn is_of_connection(error: &RedisError) -> bool {
    let is_of_another_role = matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::NoPerm)
    );
    error.is_io_error() || error.is_timeout() || error.is_connection_dropped() || is_of_another_role
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis().clamp(1, MAX_TTL_MS)).unwrap_or(u64::MAX)
}

impl Store for RedisStore {
    fn get(&self, key: &str) -> StoreTask<Option<String>> {
        self.run(cmd("EVAL").arg(GET_SCRIPT).arg(1).arg(self.key(key)).arg(MAX_READ).take())
    }

    fn put(&self, key: &str, text: &str, keep_for: Duration) -> StoreTask {
        self.run(cmd("SET").arg(self.key(key)).arg(text).arg("PX").arg(millis(keep_for)).take())
    }

    fn put_if(&self, key: &str, expected: Option<&str>, text: &str, keep_for: Duration) -> StoreTask<bool> {
        let (key, keep_for) = (self.key(key), millis(keep_for));
        let Some(expected) = expected else {
            let set =
                self.run::<Option<String>>(cmd("SET").arg(key).arg(text).arg("PX").arg(keep_for).arg("NX").take());
            return Box::pin(async move { Ok(set.await?.is_some()) });
        };
        self.run(cmd("EVAL").arg(PUT_IF_SCRIPT).arg(1).arg(key).arg(expected).arg(text).arg(keep_for).take())
    }

    fn remove(&self, key: &str) -> StoreTask {
        self.run(cmd("UNLINK").arg(self.key(key)).take())
    }

    fn append(&self, log: &str, entry: &str, max_entries: usize, keep_for: Duration) -> StoreTask<u64> {
        let mut append = cmd("EVAL");
        append.arg(APPEND_SCRIPT).arg(2).arg(self.key(log)).arg(self.key("position"));
        append.arg(max_entries.max(1)).arg(entry).arg(millis(keep_for));
        self.run(append.arg(redis_listener::channel(&self.database.prefix)).take())
    }

    fn read(&self, log: &str, after: u64, limit: usize, wait: Duration) -> StoreTask<Vec<LogEntry>> {
        let (this, key) = (self.clone(), self.key(log));
        let name = key.clone();
        let look = Box::new(move |_| {
            let mut range = cmd("EVAL");
            range.arg(READ_SCRIPT).arg(1).arg(&key).arg(MAX_READ).arg(format!("(0-{after}")).arg(limit);
            let (read, database) = (this.run::<Vec<(String, Vec<String>)>>(range), Arc::clone(&this.database));
            Box::pin(async move { entries(read.await?, &database) }) as StoreTask<_>
        });
        let this = self.clone();
        Box::pin(async move {
            if !wait.is_zero() {
                this.listen();
            }
            Arc::clone(&this.database.waiting).read(name, look, wait).await
        })
    }
}

fn entries(found: Vec<(String, Vec<String>)>, database: &Database) -> Result<Vec<LogEntry>, StoreError> {
    let entry = |(id, mut fields): (String, Vec<String>)| {
        let position = id.strip_prefix("0-").and_then(|position| position.parse().ok());
        let (Some(position), Some(text)) = (position, fields.pop()) else {
            let problem = format!("the entry {id} of a log was not written by this library");
            return Err(StoreError::new(StoreErrorKind::Corrupt, &*database.name, problem));
        };
        Ok(LogEntry { position, text })
    };
    found.into_iter().map(entry).collect()
}
