//! Connects to a target.

use crate::{
    failure::Failure,
    flags::{ConnectionFlags, read},
    login::Asked,
    person::{self, Person},
    target::Server,
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use trunkline::{
    Client, ClientError, ClientEvents, ClientOptions,
    client::{ErrorKind, ServerDefaults},
    protocol::{RawJson, model::Implementation},
};

/// An open connection.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) server: Server,
    /// How long it took to connect.
    pub(crate) took: Duration,
    person: Arc<Person>,
}

impl Connection {
    /// Connects to a server.
    pub(crate) async fn open(server: Server, flags: &ConnectionFlags) -> Result<Self, Failure> {
        Self::open_with(server, flags, Options::default()).await
    }

    pub(crate) async fn open_with(server: Server, flags: &ConnectionFlags, more: Options) -> Result<Self, Failure> {
        let began = Instant::now();
        let person = Arc::new(Person::new(more.answer)?);
        let options = options(flags, &server, more.asked)?.with_listen(more.listen).with_lazy(more.lazy);
        let options = match more.host {
            Some(host) => host(options),
            None => person::in_options(&person, options),
        };
        let target = server.target.clone();
        let opened = match more.events {
            Some(events) => Client::connect_with(target, options, events).await,
            None => Client::connect_with(target, options, ()).await,
        };
        match opened {
            Ok(client) => Ok(Self { client, server, took: began.elapsed(), person }),
            Err(error) => Err(not_open(error, &server, &flags.revisions_in_words())),
        }
    }

    /// Opens a connection that was to wait for its first request; `revisions` are those that it
    /// tries.
    pub(crate) async fn opened(&self, revisions: &str) -> Result<(), Failure> {
        self.client.opened().await.map_err(|error| not_open(error, &self.server, revisions))
    }

    /// The failure of a request, with what was tried.
    pub(crate) fn failure(&self, error: ClientError, tried: &str) -> Failure {
        let failure = self.unanswered().unwrap_or_else(|| error.into());
        failure.tried(format!("{tried} at {}", self.identity())).at(&self.server.label)
    }

    /// The failure if the server asked something that nobody could answer.
    pub(crate) fn unanswered(&self) -> Option<Failure> {
        self.person.unanswered().map(|failure| failure.at(&self.server.label))
    }

    /// The server: its name, version, revision and transport.
    pub(crate) fn identity(&self) -> String {
        let info = self.client.server_info();
        let name = info.map_or_else(|| self.server.label.clone(), |info| format!("{} {}", info.name, info.version));
        format!("{name} · {} · {}", self.client.revision(), self.server.transport)
    }

    pub(crate) async fn close(self) {
        self.client.close().await;
    }
}

/// The options of a connection that are up to the command.
pub(crate) struct Options {
    /// Receive list changes.
    pub(crate) listen: bool,
    /// A file with answers to questions of the server.
    pub(crate) answer: Option<PathBuf>,
    pub(crate) events: Option<Events>,
    /// The person to ask for a login.
    pub(crate) asked: Asked,
    /// Connect with the first request.
    pub(crate) lazy: bool,
    /// Sets what answers the server's questions; by default, that is the person at the terminal.
    pub(crate) host: Option<Host>,
}

pub(crate) type Host = Box<dyn FnOnce(ClientOptions) -> ClientOptions + Send>;

impl Default for Options {
    fn default() -> Self {
        Self { listen: false, answer: None, events: None, asked: Asked::AtTerminal, lazy: false, host: None }
    }
}

/// A receiver of notifications, and of the end of the connection.
pub(crate) struct Events {
    notified: Box<Receive>,
    closed: Option<Box<Closed>>,
}

/// Gets the method and the parameters of a notification.
type Receive = dyn Fn(&str, Option<&RawJson>) + Send + Sync;
/// Gets why the connection has ended; `None` if this side ended it.
type Closed = dyn Fn(Option<&ClientError>) + Send + Sync;

impl Events {
    pub(crate) fn new(notified: impl Fn(&str, Option<&RawJson>) + Send + Sync + 'static) -> Self {
        Self { notified: Box::new(notified), closed: None }
    }

    pub(crate) fn with_closed(self, closed: impl Fn(Option<&ClientError>) + Send + Sync + 'static) -> Self {
        Self { closed: Some(Box::new(closed)), ..self }
    }
}

impl ClientEvents for Events {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        (self.notified)(method, params);
    }

    fn closed(&self, error: Option<&ClientError>) {
        if let Some(closed) = &self.closed {
            closed(error);
        }
    }
}

fn options(flags: &ConnectionFlags, server: &Server, asked: Asked) -> Result<ClientOptions, Failure> {
    let auth = flags.login.auth(flags, server, (asked, None))?;
    Ok(options_without_auth(flags)?.with_auth(auth))
}

/// The options, except for the credentials.
pub(crate) fn options_without_auth(flags: &ConnectionFlags) -> Result<ClientOptions, Failure> {
    let ca = flags.ca.as_deref().map(|path| read(path, "--ca")).transpose()?;
    let mut defaults = ServerDefaults::default()
        .with_env(flags.process_variables()?.into_iter().collect::<BTreeMap<_, _>>())
        .with_inherit_env(flags.inherit_env.then_some(true))
        .with_stderr("keep");
    defaults.ca = ca;
    defaults.proxy.clone_from(&flags.proxy);
    defaults.cwd = flags.cwd.as_ref().map(|folder| folder.to_string_lossy().into_owned());
    Ok(ClientOptions::default()
        .with_info(Implementation::new("trunkline", env!("CARGO_PKG_VERSION")))
        .with_revision(flags.revisions()?)
        .with_timeout(flags.timeout)
        .with_connect_timeout(flags.connect_timeout)
        .with_ping_interval(flags.ping_interval)
        .with_reconnect(false)
        .with_server_defaults(defaults))
}

/// The failure of an opening, with what was tried.
fn not_open(error: ClientError, server: &Server, revisions: &str) -> Failure {
    let is_ours = error.kind() == ErrorKind::InvalidArgument;
    let failure = Failure::from(error).at(&server.label);
    if is_ours {
        return failure;
    }
    match server.transport {
        "stdio" => failure.tried(format!("starting `{}`, {revisions}", server.label)),
        _ => failure.tried(format!("connecting to {}, {revisions}", server.label)),
    }
}
