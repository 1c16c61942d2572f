//! `trunkline connect` and `trunkline close`: connections that stay open under a name.

use super::bridge::Bridge;
use crate::{
    connection::Connection,
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::Output,
    sessions::{self, Session},
    target,
};
use clap::Args;

/// Open a connection that stays, and name it.
///
/// The server runs, or stays connected, in the background, so that the next commands are fast and
/// share its state. A session ends with `trunkline close`, or when it is not used for a while.
#[derive(Args)]
#[command(
    mut_arg("idle", |flag| flag.default_value("30m").help("End the session after this time without a request")),
    mut_args(|flag| match flag.get_help_heading() {
        Some("Listening" | "Callers") if flag.get_id() != "idle" => flag.hide(true),
        _ => flag,
    })
)]
#[command(override_usage = "trunkline connect [OPTIONS] [SERVER] @NAME [-- COMMAND...]")]
#[command(after_help = "\
Examples:
  trunkline connect https://mcp.example.com/mcp @notes
  trunkline connect @weather -- python weather.py
  trunkline call @weather forecast city=Oslo
  trunkline close @weather")]
pub(crate) struct Connect {
    #[command(flatten)]
    bridge: Bridge,
}

/// Close connections that `trunkline connect` opened.
#[derive(Args)]
pub(crate) struct Close {
    /// The names of the sessions.
    #[arg(value_name = "@NAME", required = true)]
    names: Vec<String>,
}

/// The session that a word must name.
fn session(word: &str) -> Result<Session, Failure> {
    Session::of_word(word)?.ok_or_else(|| {
        Failure::usage(format!("{word:?} is no name of a session")).hint("a name begins with @, such as @weather")
    })
}

impl Connect {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let name = self.bridge.words.last().filter(|word| word.starts_with('@'));
        let name = name.ok_or_else(|| {
            Failure::usage("the session has no name").hint("put one last: trunkline connect SERVER @weather")
        })?;
        let session = session(name)?;
        if self.bridge.listening.listen.is_some() {
            return Err(Failure::usage("--listen is for `trunkline bridge`: a session has a socket of its own"));
        }
        // Faults of the command line show before anything runs in the background.
        let words = self.bridge.words[..self.bridge.words.len() - 1].to_vec();
        let (server, rest) = target::find(words, self.bridge.command.clone(), &self.bridge.connection)?;
        if let Some(word) = rest.first() {
            return Err(Failure::usage(format!("{word:?} is one word too many")));
        }
        sessions::make_folder(&session)?;
        let started = background::start(&session, &self.bridge).await?;
        // The other flags are those of the bridge.
        let ConnectionFlags { timeout, connect_timeout, .. } = self.bridge.connection;
        let flags = ConnectionFlags { timeout, connect_timeout, ..ConnectionFlags::default() };
        let (there, _) = target::find(vec![session.name.clone()], Vec::new(), &flags)?;
        match Connection::open(there, &flags).await {
            Ok(connection) => {
                output.note(&format!("{}: {}", session.name, connection.identity()));
                connection.close().await;
                started.keep();
                Ok(Exit::Done)
            }
            Err(failure) => {
                let failure = background::failure(&session).await.unwrap_or(failure);
                background::end(&session).await?;
                Err(failure.at(&server.label))
            }
        }
    }
}

impl Close {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let sessions = self.names.iter().map(|name| session(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some(missing) = sessions.iter().find(|session| !session.is_open()) {
            return Err(missing.not_open());
        }
        for session in &sessions {
            background::end(session).await?;
        }
        Ok(Exit::Done)
    }
}

#[cfg(unix)]
mod background {
    use crate::{commands::bridge::Bridge, exit::Exit, failure::Failure, person, sessions::Session};
    use std::{
        env,
        ffi::OsString,
        fs::{self, File, TryLockError},
        io,
        os::unix::{fs::OpenOptionsExt, process::CommandExt},
        process::{Child, Command, Stdio},
        time::Duration,
    };
    use tokio::time::{Instant, sleep};

    const POLL: Duration = Duration::from_millis(5);
    /// Maximum time until a failure is in the log.
    const LOGGED: Duration = Duration::from_secs(2);
    /// Maximum time for a bridge to end.
    const END: Duration = Duration::from_secs(10);

    /// A bridge that was started. Dropped before the session works, as at Ctrl-C, it ends the
    /// bridge.
    pub(super) struct Started<'a> {
        session: &'a Session,
        bridge: Child,
        is_kept: bool,
    }

    impl Started<'_> {
        /// The session stays.
        pub(super) fn keep(mut self) {
            self.is_kept = true;
        }
    }

    impl Drop for Started<'_> {
        fn drop(&mut self) {
            // One that listens ends when its socket is gone.
            if !self.is_kept && (!self.session.is_open() || remove_socket(self.session).is_err()) {
                let _ = self.bridge.kill();
            }
        }
    }

    /// Starts the bridge of a session, and waits until it listens.
    pub(super) async fn start<'a>(session: &'a Session, bridge: &Bridge) -> Result<Started<'a>, Failure> {
        let log = File::options().create(true).append(true).mode(0o600).open(&session.log);
        let log =
            log.map_err(|error| Failure::usage(format!("{} cannot be written: {error}", session.log.display())))?;
        if log.try_lock().is_err() {
            return Err(Failure::usage(format!("the session {} is open already", session.name))
                .hint(format!("trunkline close {}", session.name)));
        }
        // The lock is ours, so its bridge was killed.
        remove_socket(session)?;
        let _ = log.set_len(0);
        let mut command = Command::new(program()?);
        command.args(words(session, bridge)).stdin(Stdio::null()).stdout(Stdio::null());
        // The lock of the log lasts as long as the bridge has it open.
        command.stderr(log).process_group(0);
        let spawned = command.spawn().map_err(|error| Failure::unreachable(format!("cannot start: {error}")))?;
        let mut started = Started { session, bridge: spawned, is_kept: false };
        let deadline = Instant::now() + bridge.connection.connect_timeout;
        while !session.is_open() {
            if !matches!(started.bridge.try_wait(), Ok(None)) || Instant::now() > deadline {
                return Err(not_started(started));
            }
            sleep(POLL).await;
        }
        Ok(started)
    }

    /// The failure that the bridge has logged: over HTTP, its clients do not learn the details.
    pub(super) async fn failure(session: &Session) -> Option<Failure> {
        let deadline = Instant::now() + LOGGED;
        while Instant::now() < deadline {
            if let Some(failure) = logged(session) {
                return Some(failure);
            }
            sleep(POLL).await;
        }
        None
    }

    fn not_started(mut started: Started<'_>) -> Failure {
        let session = started.session;
        let has_ended = !matches!(started.bridge.try_wait(), Ok(None));
        let _ = started.bridge.kill();
        let _ = started.bridge.wait();
        let failure = || match has_ended {
            true => Failure::unreachable("it ended before it listened"),
            false => Failure::new(Exit::Timeout, "timeout", "it did not listen in time"),
        };
        logged(session).unwrap_or_else(|| not_begun(session, failure()))
    }

    fn logged(session: &Session) -> Option<Failure> {
        let failure = Failure::printed_in(&fs::read_to_string(&session.log).ok()?)?;
        Some(not_begun(session, failure))
    }

    fn not_begun(session: &Session, failure: Failure) -> Failure {
        failure.tried(format!("starting the session {}", session.name))
    }

    fn program() -> Result<std::path::PathBuf, Failure> {
        env::current_exe().map_err(|error| Failure::unreachable(format!("this program cannot be found: {error}")))
    }

    /// The words of this process, for a bridge: its flags are the same.
    fn words(session: &Session, bridge: &Bridge) -> Vec<OsString> {
        let mut given: Vec<OsString> = env::args_os().skip(1).collect();
        let end = given.iter().position(|word| word == "--").unwrap_or(given.len());
        let command = given.split_off(end);
        if let Some(connect) = given.iter().position(|word| word == "connect") {
            given[connect] = "bridge".into();
        }
        if let Some(name) = given.iter().rposition(|word| *word == *session.name) {
            given.remove(name);
        }
        let mut more = vec!["--listen".to_owned(), session.url(), "--end-when-idle".to_owned()];
        more.push(humantime::format_duration(bridge.listening.idle).to_string());
        if !given.iter().any(|word| word == "--json") {
            // Its failures are read from its log.
            more.push("--json".to_owned());
        }
        let is_given = |flag: &str| {
            let variable = flag.trim_start_matches('-').to_uppercase().replace('-', "_");
            let is_it = |word: &OsString| word.to_str().is_some_and(|word| word.split('=').next() == Some(flag));
            given.iter().any(is_it) || env::var_os(format!("TRUNKLINE_{variable}")).is_some()
        };
        if !is_given("--share") {
            // All commands use one connection, and what the server keeps for it.
            more.extend(["--share", "all"].map(str::to_owned));
        }
        if !person::is_present() {
            // A script must not open a browser, and wait for it.
            more.push("--ask-nobody".to_owned());
        }
        given.into_iter().chain(more.into_iter().map(OsString::from)).chain(command).collect()
    }

    /// Ends a session: its bridge ends when its socket is gone.
    pub(super) async fn end(session: &Session) -> Result<(), Failure> {
        remove_socket(session)?;
        let deadline = Instant::now() + END;
        let Ok(log) = File::open(&session.log) else { return Ok(()) };
        while matches!(log.try_lock(), Err(TryLockError::WouldBlock)) {
            if Instant::now() > deadline {
                return Err(Failure::unreachable(format!("the session {} does not end", session.name)));
            }
            sleep(POLL).await;
        }
        // The log stays: another command may be about to lock it.
        Ok(())
    }

    fn remove_socket(session: &Session) -> Result<(), Failure> {
        match fs::remove_file(&session.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::usage(format!("{} cannot be removed: {error}", session.socket.display())))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(not(unix))]
mod background {
    use crate::{commands::bridge::Bridge, failure::Failure, sessions::Session};

    pub(super) struct Started;

    impl Started {
        pub(super) fn keep(self) {}
    }

    pub(super) async fn start(_: &Session, _: &Bridge) -> Result<Started, Failure> {
        Err(Failure::usage("sessions need Unix sockets, which this system does not have")
            .hint("name the server in each command"))
    }

    pub(super) async fn failure(_: &Session) -> Option<Failure> {
        None
    }

    pub(super) async fn end(_: &Session) -> Result<(), Failure> {
        Ok(())
    }
}
