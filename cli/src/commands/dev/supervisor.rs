//! Starts the server, and starts it again when files change.

use super::files::Files;
use crate::{failure::Failure, output::Output};
use std::{
    convert::Infallible,
    path::PathBuf,
    time::{Duration, Instant},
};
use trunkline::{
    Client, ClientError, ClientOptions, Upstream, client::ErrorKind, surface::SurfaceChange, transport::Target,
};

/// How often a server that does not start is tried before the next change.
const MAX_ATTEMPTS: usize = 3;
/// Maximum differences that are printed after a restart.
const MAX_SHOWN: usize = 20;

/// Keeps the server running.
pub(super) struct Supervisor<'o> {
    pub(super) upstream: Upstream,
    /// The client of the current server.
    pub(super) client: Client,
    pub(super) target: Target,
    pub(super) options: ClientOptions,
    pub(super) files: Files,
    pub(super) keep_old: bool,
    pub(super) output: &'o Output,
    pub(super) label: String,
}

/// The end of a wait for the server.
enum Started {
    Opened(Result<Vec<SurfaceChange>, ClientError>),
    /// Files have changed meanwhile.
    Changed(Vec<PathBuf>),
}

impl Supervisor<'_> {
    /// Runs until files can no longer be watched.
    pub(super) async fn run(&mut self) -> Result<Infallible, Failure> {
        let mut changed = self.begin().await?;
        loop {
            let files = match changed.take() {
                Some(files) => files,
                None => self.files.changed().await?,
            };
            changed = self.restart(&files).await?;
        }
    }

    pub(super) async fn end(&self, within: Duration) {
        self.upstream.stop("the program is ending").await;
        self.client.close_within(within).await;
    }

    /// Starts the server for the first time. Returns files that have changed meanwhile.
    async fn begin(&mut self) -> Result<Option<Vec<PathBuf>>, Failure> {
        match self.open().await? {
            Started::Changed(files) => Ok(Some(files)),
            Started::Opened(Ok(_)) => {
                let (info, revision) = (self.client.server_info(), self.client.revision());
                let name = info.map_or_else(|| self.label.clone(), |info| format!("{} {}", info.name, info.version));
                self.output.note(&format!("dev: started {name}, {revision}"));
                Ok(None)
            }
            Started::Opened(Err(error)) => {
                self.give_up(error).await;
                Ok(None)
            }
        }
    }

    /// Starts the changed server. Returns files that have changed meanwhile.
    async fn restart(&mut self, files: &[PathBuf]) -> Result<Option<Vec<PathBuf>>, Failure> {
        let (began, what) = (Instant::now(), described(files));
        let new = Client::connect_with(self.target.clone(), self.options.clone().with_lazy(!self.keep_old), ()).await;
        let new = match new {
            Ok(new) => new,
            Err(error) => {
                self.output.note(&format!("dev: {what} · not restarted"));
                self.output.failure(&self.failure(error).tried("to start the new server; the old one serves"));
                return Ok(None);
            }
        };
        let failed = self.upstream.replace(&new).await;
        let failed = failed.map_err(|error| self.failure(error))?;
        self.client = new;
        match self.open().await? {
            Started::Changed(files) => Ok(Some(files)),
            Started::Opened(Ok(changes)) => {
                let calls = match failed {
                    0 => String::new(),
                    1 => " · 1 request failed".to_owned(),
                    number => format!(" · {number} requests failed"),
                };
                let took = began.elapsed().as_millis();
                self.output.note(&format!("dev: {what} · restarted in {took} ms{calls}"));
                self.show(&changes);
                Ok(None)
            }
            Started::Opened(Err(error)) => {
                self.output.note(&format!("dev: {what} · not restarted"));
                self.give_up(error).await;
                Ok(None)
            }
        }
    }

    /// Waits until the server serves, or has failed too often.
    async fn open(&mut self) -> Result<Started, Failure> {
        let mut attempt = 1;
        loop {
            let opened = tokio::select! {
                opened = self.upstream.open() => opened,
                files = self.files.changed() => return files.map(Started::Changed),
            };
            match opened {
                Err(error) if attempt < MAX_ATTEMPTS && error.kind() == ErrorKind::Transport => attempt += 1,
                opened => return Ok(Started::Opened(opened)),
            }
        }
    }

    /// Says why there is no server. Requests fail with the same until files change.
    async fn give_up(&self, error: ClientError) {
        if error.kind() != ErrorKind::Protocol {
            let text = format!("{error}\nThe next change of a file starts the server again.");
            self.upstream.stop(&text).await;
            self.client.close().await;
        }
        let failure = self.failure(error).tried("to start the server; the next change of a file starts it again");
        self.output.failure(&failure);
    }

    fn failure(&self, error: ClientError) -> Failure {
        Failure::from(error).at(&self.label)
    }

    /// Prints how the lists of the server differ.
    fn show(&self, changes: &[SurfaceChange]) {
        for change in changes.iter().take(MAX_SHOWN) {
            self.output.note(&format!("     {}", crate::table::one_line(&change.to_string())));
        }
        if changes.len() > MAX_SHOWN {
            self.output.note(&format!("     and {} more", changes.len() - MAX_SHOWN));
        }
    }
}

/// The changed files, in a few words.
fn described(files: &[PathBuf]) -> String {
    match files {
        [one] => format!("{} changed", one.display()),
        [one, two] => format!("{} and {} changed", one.display(), two.display()),
        [one, rest @ ..] => format!("{} and {} other files changed", one.display(), rest.len()),
        [] => "nothing changed".to_owned(),
    }
}
