//! Connects to a target.

use crate::{
    failure::Failure,
    flags::{ConnectionFlags, Login, read},
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
    auth::{AccessToken, CredentialStore, OAuth, OAuthOptions, UrlOpener},
    client::{ErrorKind, ServerDefaults},
    client_auth::{AuthError, ClientAuth},
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
        let options = options(flags, &server)?.with_listen(more.listen);
        let options = person::in_options(&person, options);
        let target = server.target.clone();
        let opened = match more.events {
            Some(events) => Client::connect_with(target, options, events).await,
            None => Client::connect_with(target, options, ()).await,
        };
        match opened {
            Ok(client) => Ok(Self { client, server, took: began.elapsed(), person }),
            Err(error) => Err(not_open(error, &server, flags)),
        }
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
#[derive(Default)]
pub(crate) struct Options {
    /// Receive list changes.
    pub(crate) listen: bool,
    /// A file with answers to questions of the server.
    pub(crate) answer: Option<PathBuf>,
    pub(crate) events: Option<Events>,
}

/// A receiver of notifications.
pub(crate) struct Events(pub(crate) Box<Receive>);

/// Gets the method and the parameters of a notification.
type Receive = dyn Fn(&str, Option<&RawJson>) + Send + Sync;

impl ClientEvents for Events {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        (self.0)(method, params);
    }
}

fn options(flags: &ConnectionFlags, server: &Server) -> Result<ClientOptions, Failure> {
    let is_http = server.transport == "http";
    let auth = auth(flags)?;
    if auth.is_some() && !is_http {
        return Err(Failure::usage("--bearer-env and --auth are for servers with a URL").at(&server.label));
    }
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
        .with_reconnect(false)
        .with_server_defaults(defaults))
}

fn auth(flags: &ConnectionFlags) -> Result<Option<Arc<dyn ClientAuth>>, Failure> {
    if let Some(name) = &flags.bearer_env {
        let token = std::env::var(name).ok().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Failure::usage(format!("--bearer-env: the variable {name} is not set")))?;
        return Ok(Some(Arc::new(AccessToken::new(token))));
    }
    if flags.auth == Login::None {
        return Ok(None);
    }
    let mut login = OAuthOptions::default().with_client_name("trunkline").with_store(CredentialStore::File);
    if !person::is_present() {
        // A script must not open a browser, and wait for it.
        login = login.with_handler(UrlOpener::new(|_| async {
            Err(AuthError("a person has to log in, and there is no terminal: run the command in one".to_owned()))
        }));
    }
    let auth = OAuth::new(login).map_err(|error| Failure::usage(format!("--auth: {error}")))?;
    Ok(auth.into())
}

/// The failure of an opening, with what was tried.
fn not_open(error: ClientError, server: &Server, flags: &ConnectionFlags) -> Failure {
    let is_ours = error.kind() == ErrorKind::InvalidArgument;
    let failure = Failure::from(error).at(&server.label);
    if is_ours {
        return failure;
    }
    let revisions = match &flags.revision {
        Some(date) => format!("revision {date}"),
        None => format!("{:?} revisions", flags.era).to_lowercase().replace("auto revisions", "any revision"),
    };
    match server.transport {
        "stdio" => failure.tried(format!("starting `{}`, {revisions}", server.label)),
        _ => failure.tried(format!("connecting to {}, {revisions}", server.label)),
    }
}
