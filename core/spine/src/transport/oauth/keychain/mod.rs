//! Credentials in files that are sealed with a key, which is in the keychain of the system.
//!
//! The keychain has one small secret for each folder: Windows allows 2,560 bytes, less than some
//! tokens have, macOS may ask the user about each item, and no keychain has locks for several
//! processes. Files have those, and are found by earlier versions.

mod access;
mod sealed;
mod system;

use super::FileStore;
use crate::{
    auth::{AuthError, StoreLock, TokenStore, is_secret},
    random,
    runtime::BoxedTask,
};
use access::Access;
use sealed::Key;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The lock for creating the key, and for replacing files of earlier versions.
const TURN: &str = "keychain";
/// A write takes far less.
const TURN_TIMEOUT: Duration = Duration::from_secs(70);
/// When a keychain that was not reachable is tried again: the user may have dismissed its dialog.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The keychain: reads the secret of an account, or writes it.
type System = dyn Fn(&str, &Access) -> Result<Option<Vec<u8>>, String> + Send + Sync;
type Notice = dyn Fn(&str) + Send + Sync;

/// Stores credentials in a directory as [`FileStore`] does, but encrypted: the key is in the
/// keychain of the system, which is the Keychain of macOS and iOS, the Credential Manager of
/// Windows, and on Linux the Secret Service (GNOME Keyring, KWallet, KeePassXC) on the session bus.
///
/// Credentials that a [`FileStore`] has left in the directory are used, and encrypted when they are
/// read. If the keychain cannot be reached, new ones are stored as [`FileStore`] does, with one
/// notice; encrypted ones remain for processes that can reach it, until the user logs in again or
/// out. The issuer and the resource of a login are not encrypted, so that it can be removed.
///
/// ```no_run
/// use trunkline::{auth::TokenStore, transport::KeychainStore};
///
/// fn store() -> Result<impl TokenStore, trunkline::client_auth::AuthError> {
///     Ok(KeychainStore::for_current_user()?.on_notice(|notice| eprintln!("{notice}")))
/// }
/// ```
#[derive(Clone)]
pub struct KeychainStore {
    files: FileStore,
    system: Arc<System>,
    key: Arc<Mutex<Held>>,
    notice: Arc<Notice>,
}

/// The key, as far as it is known.
enum Held {
    Nothing,
    Key(Key),
    Unreachable(Instant, String),
}

impl KeychainStore {
    /// A store in this directory, which is created when needed. Each directory has its own key.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::over(FileStore::new(folder), Arc::new(system::access))
    }

    /// The store of the current user, in the directory of [`FileStore::for_current_user`].
    ///
    /// # Errors
    /// If the environment does not name such a directory.
    pub fn for_current_user() -> Result<Self, AuthError> {
        Ok(Self::over(FileStore::for_current_user()?, Arc::new(system::access)))
    }

    /// Receives the notice that the keychain cannot be reached, at most once. By default, it is
    /// logged, once for the process.
    #[must_use]
    pub fn on_notice(self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let given = AtomicBool::new(false);
        let notice = move |text: &str| {
            if !given.swap(true, Ordering::Relaxed) {
                notice(text);
            }
        };
        Self { notice: Arc::new(notice), ..self }
    }

    /// Sets how long a process may hold a lock.
    pub(super) fn locked_for(self, locked_within: Duration) -> Self {
        Self { files: self.files.locked_for(locked_within), ..self }
    }

    fn over(files: FileStore, system: Arc<System>) -> Self {
        Self { files, system, key: Arc::new(Mutex::new(Held::Nothing)), notice: Arc::new(log) }
    }

    /// The key, which is created if the keychain has none; or why it cannot be reached.
    async fn key(&self) -> Result<Result<Key, String>, AuthError> {
        let mut held = self.key.lock().await;
        match &*held {
            Held::Key(key) => return Ok(Ok(key.clone())),
            Held::Unreachable(at, why) if at.elapsed() < RETRY_INTERVAL => return Ok(Err(why.clone())),
            _ => {}
        }
        let found = match self.system_access(Access::Read).await {
            Ok(None) => self.created().await?,
            found => found,
        };
        let key = found.and_then(|secret| {
            let key = secret.and_then(|secret| Key::new(&secret));
            key.ok_or_else(|| "its item has another form".to_owned())
        });
        *held = match &key {
            Ok(key) => Held::Key(key.clone()),
            Err(why) => Held::Unreachable(Instant::now(), why.clone()),
        };
        Ok(key)
    }

    /// Creates the key, unless another process has done so meanwhile.
    async fn created(&self) -> Result<Result<Option<Vec<u8>>, String>, AuthError> {
        let _turn = self.turn().await?;
        match self.system_access(Access::Read).await {
            Ok(None) => {}
            found => return Ok(found),
        }
        let Some(key) = random::bytes() else { return Ok(Err("there are no random bytes for a key".to_owned())) };
        let written = self.system_access(Access::Write(key)).await;
        Ok(written.map(|_| Some(key.to_vec())))
    }

    async fn system_access(&self, access: Access) -> Result<Option<Vec<u8>>, String> {
        let (system, account) = (Arc::clone(&self.system), self.files.folder().display().to_string());
        let done = tokio::task::spawn_blocking(move || system(&account, &access)).await;
        done.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn turn(&self) -> Result<StoreLock, AuthError> {
        self.files.lock_for_login(TURN, TURN_TIMEOUT).await
    }

    /// Encrypts a file of an earlier version, unless it has changed meanwhile.
    async fn seal(&self, name: &str, plain: &str) -> Result<(), AuthError> {
        let Ok(key) = self.key().await? else { return Ok(()) };
        let _turn = self.turn().await?;
        match self.files.get(name).await? {
            Some(text) if text == plain => self.files.set(name, &encrypted(&key, name, plain)?).await,
            _ => Ok(()),
        }
    }

    fn note(&self, what: &str, why: &str) {
        let folder = self.files.folder().display();
        (self.notice)(&format!("The keychain of the system cannot be reached: {why}. {what} {folder}"));
    }
}

fn encrypted(key: &Key, name: &str, text: &str) -> Result<String, AuthError> {
    key.seal(name, text).ok_or_else(|| AuthError("The credentials could not be encrypted".to_owned()))
}

fn log(notice: &str) {
    static GIVEN: AtomicBool = AtomicBool::new(false);
    if !GIVEN.swap(true, Ordering::Relaxed) {
        tracing::warn!(target: "trunkline::auth::client", "{notice}");
    }
}

impl TokenStore for KeychainStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        let (this, name) = (self.clone(), key.to_owned());
        Box::pin(async move {
            let Some(text) = this.files.get(&name).await? else { return Ok(None) };
            if !sealed::is_sealed(&text) {
                if !is_secret(&name) {
                    return Ok(Some(text));
                }
                // The credentials serve in any case.
                if let Err(error) = this.seal(&name, &text).await {
                    tracing::debug!(target: "trunkline::auth::client", %error, "could not encrypt stored credentials");
                }
                return Ok(Some(text));
            }
            match this.key().await? {
                Ok(key) => Ok(key.open(&name, &text)),
                Err(why) => {
                    let what =
                        "Without its key, credentials can be replaced or removed, but neither used nor revoked, in";
                    this.note(what, &why);
                    Ok(None)
                }
            }
        })
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        if !is_secret(key) {
            return self.files.set(key, value);
        }
        let (this, name, value) = (self.clone(), key.to_owned(), value.to_owned());
        Box::pin(async move {
            let key = this.key().await?;
            let _turn = this.turn().await?;
            match key {
                Ok(key) => this.files.set(&name, &encrypted(&key, &name, &value)?).await,
                Err(why) => {
                    // Only a login is worth a notice, not each renewal.
                    let is_new = this.files.get(&name).await?.is_none_or(|text| sealed::is_sealed(&text));
                    if is_new {
                        this.note("Credentials are not encrypted, but readable only by their user, in", &why);
                    }
                    this.files.set(&name, &value).await
                }
            }
        })
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        let (this, name) = (self.clone(), key.to_owned());
        Box::pin(async move {
            if this.files.get(&name).await?.is_none() {
                return Ok(());
            }
            let _turn = this.turn().await?;
            this.files.remove(&name).await
        })
    }

    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.files.lock(key)
    }

    fn lock_for_login(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.files.lock_for_login(key, limit)
    }
}

#[cfg(test)]
mod tests;
