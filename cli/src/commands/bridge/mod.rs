//! `trunkline bridge`: joins a client to a server that speaks another transport or revision.

mod callers;
mod ending;
mod flags;
pub(super) mod listening;
pub(super) mod log;
mod other_bridges;
mod translation;

use crate::{connection, exit::Exit, failure::Failure, login::Asked, output::Output, target};
use ending::{Observed, Use};
pub(crate) use flags::Bridge;
use flags::Level;
use listening::Place;
use std::{path::PathBuf, sync::Arc, time::Duration};
use trunkline::{
    Client, HttpOptions, ProxyDefinition, ProxyOptions, Server, ServerOptions,
    client::ServerEntry,
    telemetry::Telemetry,
    transport::{ChildStderr, Target},
};

/// How long a server may take to exit after its input has ended, before it is terminated. A host
/// that ends waits for nobody.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum time of a call or a task, regardless of progress: the client decides how long it waits.
const MAX_CALL: Duration = Duration::from_secs(24 * 60 * 60);

impl Bridge {
    pub(crate) async fn run(mut self, output: &Output) -> Result<Exit, Failure> {
        for note in self.translate()? {
            output.note(&note);
        }
        log::start(self.log.unwrap_or(Level::Warn));
        let place = self.listening.place(&self.callers)?;
        let (server, port) = self.find()?;
        let client = self.client(&server, port).await?;
        let proxy = ProxyOptions::default()
            .with_transparent(true)
            .with_max_connections(self.listening.max_connections())
            .with_shared(self.listening.is_shared())
            .with_allow_tools(std::mem::take(&mut self.tool_allow))
            .with_deny_tools(std::mem::take(&mut self.tool_deny));
        let (used, idle) = (Use::new(), self.end_when_idle);
        let observed = idle.map(|_| Arc::new(Observed(Arc::clone(&used))) as Arc<dyn Telemetry>);
        let options = ServerOptions::default()
            .with_session_idle(self.listening.idle)
            .with_task_ttl(MAX_CALL)
            .with_telemetry_receiver(observed);
        let bridge = Server::builder("trunkline", env!("CARGO_PKG_VERSION"))
            .options(options)
            .proxy(ProxyDefinition::new(&client).options(proxy))
            .build();
        let served = match place {
            Place::Standard => bridge.serve_stdio().await.map_err(|error| Failure::unreachable(error.to_string())),
            Place::Http(options) => {
                let end = async |socket: Option<PathBuf>| match idle {
                    Some(idle) => ending::wait(used, idle, socket).await,
                    None => std::future::pending().await,
                };
                listen(&bridge, (&client, &server.label), (*options, output), end).await
            }
        };
        client.close_within(EXIT_TIMEOUT).await;
        served.map(|()| Exit::Done)
    }

    /// The server, and the port to which a login redirects.
    fn find(&mut self) -> Result<(target::Server, Option<u16>), Failure> {
        let (words, command) = (std::mem::take(&mut self.words), std::mem::take(&mut self.command));
        let (mut server, rest) = target::find(words, command, &self.connection)?;
        let port = match &rest[..] {
            [] => None,
            [port] => Some(port.parse().map_err(|_| {
                Failure::usage(format!("{port:?} is no port to redirect a login to"))
                    .hint("the command of a server comes after `--`")
            })?),
            [_, second, ..] => return Err(Failure::usage(format!("{second:?} is one word too many"))),
        };
        // Its log is that of the bridge, which hosts show.
        match &mut server.target {
            Target::Child(child) => child.stderr = ChildStderr::PassThrough,
            Target::Entry(ServerEntry::Command { stderr, stderr_file: None, .. }) => {
                stderr.get_or_insert_with(|| "inherit".to_owned());
            }
            _ => {}
        }
        Ok((server, port))
    }

    /// The client of the server, which connects with the first request of the host.
    async fn client(&self, server: &target::Server, port: Option<u16>) -> Result<Client, Failure> {
        let options = connection::options_without_auth(&self.connection)?
            .with_max_timeout(MAX_CALL)
            .with_close_timeout(EXIT_TIMEOUT)
            .with_reconnect(true)
            .with_lazy(true);
        let asked = if self.ask_nobody { Asked::Nobody } else { Asked::ByHost };
        let auth = self.connection.login.auth(&self.connection, server, (asked, port))?;
        let options = options.with_auth(auth);
        Client::connect_with(server.target.clone(), options, ())
            .await
            .map_err(|error| Failure::from(error).at(&server.label))
    }
}

/// Serves HTTP until a signal, or until `end` completes.
async fn listen(
    bridge: &Server,
    (client, label): (&Client, &str),
    (options, output): (HttpOptions, &Output),
    end: impl AsyncFnOnce(Option<PathBuf>),
) -> Result<(), Failure> {
    let socket = options.unix.clone();
    let sse = options.sse.clone().filter(|_| !options.stateless);
    let listener = bridge.listen_with(options).await.map_err(|error| {
        Failure::usage(format!("--listen: {error}")).hint("choose another port, or 0 for a free one")
    })?;
    let url = listener.url().unwrap_or_default();
    let sse = sse.map(|path| format!(" and {path}")).unwrap_or_default();
    output.note(&format!("bridge: {label} on {url}{sse} · all revisions"));
    // Connects at once, so that what is wrong is seen before the first client comes.
    let start = async {
        match client.ping().await {
            Ok(()) => output.note(&format!("bridge: connected to {}", described(client, label))),
            Err(error) => output.failure(&Failure::from(error).tried("to connect; the next request tries again")),
        }
    };
    let (serving, end) = (listener.run(), end(socket));
    tokio::pin!(serving, start, end);
    let mut has_started = false;
    loop {
        tokio::select! {
            () = &mut start, if !has_started => has_started = true,
            () = &mut end => return Ok(()),
            ended = &mut serving => return ended.map_err(|error| Failure::unreachable(error.to_string())),
        }
    }
}

/// The server: its name, version and revision.
fn described(client: &Client, label: &str) -> String {
    let info = client.server_info();
    let name = info.map_or_else(|| label.to_owned(), |info| format!("{} {}", info.name, info.version));
    format!("{name}, {}", client.revision())
}
