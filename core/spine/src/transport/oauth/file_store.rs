//! Credentials on disk.

use super::super::private_file::private;
use crate::{
    auth::{AuthError, StoreLock, TokenStore, sha256},
    runtime::BoxedTask,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// How long another process may hold a lock: longer than a token renewal takes by default.
const LOCK_TIMEOUT: Duration = Duration::from_secs(70);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Stores credentials in a directory that only its user can read, one file for each. Processes that
/// use the same directory share them: one process renews a token and the others pick it up.
///
/// The files are not encrypted: those of a `KeychainStore` (feature `keychain`) are.
///
/// ```no_run
/// use trunkline::{auth::TokenStore, transport::FileStore};
///
/// fn store() -> Result<impl TokenStore, trunkline::client_auth::AuthError> {
///     FileStore::for_current_user()
/// }
/// ```
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
    locked_within: Duration,
}

impl FileStore {
    /// A store in this directory, which is created when needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), locked_within: LOCK_TIMEOUT }
    }

    #[cfg(feature = "keychain")]
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets how long a process may hold a lock.
    pub(super) fn locked_for(self, locked_within: Duration) -> Self {
        Self { locked_within, ..self }
    }

    /// The store of the current user: `trunkline/tokens` in `~/.config` (or `XDG_CONFIG_HOME`), in
    /// `~/Library/Application Support` on macOS and iOS, and in `%LOCALAPPDATA%` on Windows.
    ///
    /// # Errors
    /// If the environment does not name such a directory.
    pub fn for_current_user() -> Result<Self, AuthError> {
        Self::of_environment(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
    }

    fn of_environment(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, AuthError> {
        let home = |folder| variable("HOME").map(|home| home.join(folder));
        let (name, base) = if cfg!(windows) {
            ("LOCALAPPDATA", variable("LOCALAPPDATA"))
        } else if cfg!(target_vendor = "apple") {
            ("HOME", home("Library/Application Support"))
        } else {
            // A relative path in this variable is invalid (XDG Base Directory Specification).
            let named = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            ("HOME", named.or_else(|| home(".config")))
        };
        let base = base.filter(|path| path.is_absolute()).ok_or_else(|| {
            AuthError(format!(
                "No folder for the token store: {name} is not an absolute path. Set the directory explicitly"
            ))
        })?;
        Ok(Self::new(base.join("trunkline").join("tokens")))
    }

    /// Keys are URLs, which are not valid file names.
    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.folder.join(sha256(key.as_bytes()) + ending)
    }

    /// Runs blocking file operations on a separate thread.
    fn run<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> BoxedTask<Result<T, AuthError>> {
        let folder = self.folder.clone();
        Box::pin(async move {
            let failed = |problem: String| AuthError(format!("The token store {} failed: {problem}", folder.display()));
            let done = tokio::task::spawn_blocking(move || work(&path)).await;
            done.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
        })
    }

    /// Locks a file. The system releases the lock when the process ends, however it ends.
    fn locked(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        let opened = self.run(self.path(key, ".lock"), |path| {
            make_folder(path)?;
            private().write(true).create(true).truncate(false).open(path)
        });
        let folder = self.folder.clone();
        Box::pin(async move {
            let file: File = opened.await?;
            let deadline = tokio::time::Instant::now() + limit;
            loop {
                let problem = match file.try_lock() {
                    // The lock is released when the file is closed.
                    Ok(()) => return Ok(StoreLock::new(file)),
                    Err(TryLockError::WouldBlock) if tokio::time::Instant::now() < deadline => None,
                    Err(TryLockError::WouldBlock) => Some(format!("another process has held it for {limit:?}")),
                    Err(TryLockError::Error(error)) => Some(error.to_string()),
                };
                if let Some(problem) = problem {
                    return Err(AuthError(format!("The token store {} cannot be locked: {problem}", folder.display())));
                }
                tokio::time::sleep(LOCK_POLL_INTERVAL).await;
            }
        })
    }
}

impl TokenStore for FileStore {
    fn get(&self, key: &str) -> BoxedTask<Result<Option<String>, AuthError>> {
        self.run(self.path(key, ".json"), |path| match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn set(&self, key: &str, value: &str) -> BoxedTask<Result<(), AuthError>> {
        let value = value.to_owned();
        self.run(self.path(key, ".json"), move |path| {
            make_folder(path)?;
            // A reader sees either the old value or the new one, never a part.
            let mut suffix = [0; 8];
            getrandom::fill(&mut suffix).map_err(io::Error::other)?;
            let new = path.with_extension(URL_SAFE_NO_PAD.encode(suffix) + ".new");
            let mut file = private().write(true).create_new(true).open(&new)?;
            let written = file.write_all(value.as_bytes()).and_then(|()| file.sync_all());
            drop(file);
            let renamed = written.and_then(|()| fs::rename(&new, path));
            if renamed.is_err() {
                let _ = fs::remove_file(&new);
            }
            renamed
        })
    }

    fn remove(&self, key: &str) -> BoxedTask<Result<(), AuthError>> {
        self.run(self.path(key, ".json"), |path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn lock(&self, key: &str) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.locked(key, self.locked_within)
    }

    fn lock_for_login(&self, key: &str, limit: Duration) -> BoxedTask<Result<StoreLock, AuthError>> {
        self.locked(key, limit)
    }
}

/// Creates the directory of a file, accessible only to its user.
fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let mut name = [0; 8];
        getrandom::fill(&mut name).unwrap();
        std::env::temp_dir().join(format!("trunkline-store-{}", URL_SAFE_NO_PAD.encode(name))).join("tokens")
    }

    #[cfg(all(unix, not(target_vendor = "apple")))]
    #[test]
    fn the_store_of_a_user_is_among_the_users_settings() {
        let of = |home: Option<&'static str>, config: Option<&'static str>| {
            let variable = |name: &str| if name == "HOME" { home } else { config }.map(PathBuf::from);
            FileStore::of_environment(variable).map(|store| store.folder)
        };
        assert_eq!(of(Some("/home/ann"), None).unwrap(), Path::new("/home/ann/.config/trunkline/tokens"));
        assert_eq!(of(Some("/home/ann"), Some("/c")).unwrap(), Path::new("/c/trunkline/tokens"));
        assert_eq!(of(Some("/home/ann"), Some("c")).unwrap(), Path::new("/home/ann/.config/trunkline/tokens"));
        assert!(of(None, None).unwrap_err().0.contains("HOME"));
    }

    #[tokio::test]
    async fn auc_46_values_are_kept_for_their_user_only() {
        let folder = folder();
        let store = FileStore::new(&folder);
        assert_eq!(store.get("a").await.unwrap(), None);
        store.remove("a").await.unwrap();
        for value in ["one", "two"] {
            store.set("https://a.example/b c", value).await.unwrap();
            assert_eq!(FileStore::new(&folder).get("https://a.example/b c").await.unwrap().as_deref(), Some(value));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&folder), 0o700);
            let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
            assert_eq!(files.len(), 1, "{files:?}");
            assert_eq!(mode(&files[0]), 0o600);
        }
        store.remove("https://a.example/b c").await.unwrap();
        assert_eq!(store.get("https://a.example/b c").await.unwrap(), None);
        fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    }

    #[tokio::test]
    async fn a_lock_is_held_by_one_until_it_is_dropped() {
        let folder = folder();
        let (one, other) = (FileStore::new(&folder), FileStore::new(&folder));
        let held = one.lock("a").await.unwrap();
        let _independent = other.lock("b").await.unwrap();
        let mut waiting = other.lock("a");
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut waiting).await.is_err());
        drop(held);
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
        fs::remove_dir_all(folder.parent().unwrap()).unwrap();
    }
}
