//! The connections to the server: one in each era that it speaks.

use super::{
    hub::{Hub, State, text_of},
    rounds::Rounds,
    state::{ConnectionState, Era, Exchange, Increment, ListName, ListProgress, ListState, now},
};
use crate::{
    connection::{Connection, Events, Options},
    exit::Exit,
    failure::{Failure, Problem},
    flags::ConnectionFlags,
    login::Asked,
    login_flags::Opener,
    target::Server,
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{AbortHandle, JoinHandle},
};
use trunkline::{
    Client, ClientOptions, RevisionChoice,
    auth::{AuthExchange, AuthObserver},
    client::ErrorKind,
    protocol::{RawJson, app, extension, method, model::ClientCapabilities},
};

/// Codes of failures that say nothing about the revisions of the server.
const NOT_ABOUT_ERAS: [&str; 7] =
    ["authorizationRequired", "refused", "unreachable", "tls", "notStarted", "usage", "cancelled"];

/// The clause of a server's refusal that says where to log in.
const CHALLENGE: &str = "RFC 9728 section 5.1";

/// A server, and all that the page does with it.
pub(super) struct Inspector {
    pub(super) hub: Arc<Hub>,
    pub(super) server: Server,
    pub(super) flags: ConnectionFlags,
    has_page: bool,
    links: Mutex<[Link; 2]>,
    /// Over HTTP, one era is opened after the other, so that a person logs in once.
    turn: tokio::sync::Mutex<()>,
    pub(super) rounds: Rounds,
    /// Stops running calls.
    pub(super) stops: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// The connection of one era.
#[derive(Default)]
pub(super) struct Link {
    pub(super) connection: Option<Arc<Connection>>,
    opening: Option<AbortHandle>,
    /// Events of an older connection have an older number.
    pub(super) generation: u64,
    pub(super) lists: [KeptList; 5],
    pub(super) subscriptions: HashMap<String, AbortHandle>,
}

/// A list, and whether it is being fetched.
#[derive(Default)]
pub(super) struct KeptList {
    pub(super) items: Option<RawJson>,
    pub(super) is_loading: bool,
    /// Fetch it again: it has changed meanwhile.
    pub(super) again: bool,
    /// Two reads had the same items in another order.
    pub(super) is_reordered: bool,
}

impl Inspector {
    /// Without a page, the person at the terminal logs in.
    pub(super) fn new(hub: Arc<Hub>, server: Server, mut flags: ConnectionFlags, has_page: bool) -> Arc<Self> {
        let (ladder, rounds) = (Arc::clone(&hub), Rounds::new(Arc::clone(&hub)));
        flags.login.trace = Some(AuthObserver::new(move |step| ladder.exchange(rung(step))));
        Arc::new(Self {
            hub,
            server,
            flags,
            has_page,
            links: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            rounds,
            stops: Mutex::default(),
        })
    }

    /// Repeats a step of the login with what the steps before it have given.
    pub(super) async fn repeat(&self, rung_id: u64) -> Result<(), Failure> {
        let gone = || Failure::usage("This step is no longer kept").hint("log in again");
        let repeated = self.hub.rung(rung_id).ok_or_else(gone)?.send().await;
        let step = repeated.map_err(|error| Failure::new(Exit::Login, "unauthorized", error.0))?;
        self.hub.repeated(rung_id, rung(step));
        Ok(())
    }

    /// The eras whose connections are open, or are being opened.
    pub(super) fn used(&self) -> Vec<Era> {
        let state = self.hub.state();
        let used = state.connections.iter().filter(|connection| is_used(connection.state));
        used.map(|connection| connection.era).collect()
    }

    pub(super) fn links(&self) -> MutexGuard<'_, [Link; 2]> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The eras that the flags allow, the newest first.
    pub(super) fn eras(&self) -> Result<Vec<Era>, Failure> {
        Ok(match self.flags.revisions()? {
            RevisionChoice::Pinned(revision) => vec![Era::of(revision.era())],
            RevisionChoice::Legacy => vec![Era::Legacy],
            RevisionChoice::Modern => vec![Era::Modern],
            _ => vec![Era::Modern, Era::Legacy],
        })
    }

    /// The open connection of an era.
    pub(super) fn connection(&self, era: Era) -> Result<Arc<Connection>, Problem> {
        let open = self.links()[era.index()].connection.clone();
        if let Some(connection) = open.filter(|connection| connection.client.is_connected()) {
            return Ok(connection);
        }
        let known = self.hub.state().connection(era).problem.clone();
        Err(known.unwrap_or_else(|| {
            let failure = Failure::new(Exit::Unreachable, "closed", "There is no connection in this era");
            (&failure.hint("reconnect")).into()
        }))
    }

    /// Opens the connection of an era: the first time, or again.
    pub(super) fn open(self: &Arc<Self>, era: Era) -> JoinHandle<()> {
        let (generation, old) = self.forget(era);
        self.hub.connection(era, |connection| {
            (connection.state, connection.problem) = (ConnectionState::Connecting, None);
        });
        let inspector = Arc::clone(self);
        let opening = tokio::spawn(async move {
            if let Some(old) = old {
                old.client.close().await;
            }
            let began = Instant::now();
            let opened = inspector.connect(era, generation).await;
            inspector.rounds.end_logins(era, None);
            match opened {
                Ok(connection) => inspector.opened(era, (generation, began), connection),
                Err(failure) => inspector.failed(era, generation, &failure),
            }
        });
        self.links()[era.index()].opening = Some(opening.abort_handle());
        opening
    }

    /// Takes the connection of an era out of use. Returns the number of the next one.
    fn forget(&self, era: Era) -> (u64, Option<Arc<Connection>>) {
        let (generation, old, ended) = {
            let link = &mut self.links()[era.index()];
            link.generation += 1;
            if let Some(opening) = link.opening.take() {
                opening.abort();
            }
            (link.generation, link.connection.take(), std::mem::take(&mut link.subscriptions))
        };
        self.rounds.end_logins(era, None);
        ended.values().for_each(AbortHandle::abort);
        ended.keys().for_each(|uri| self.subscription_ended(era, uri));
        (generation, old)
    }

    /// Ends the connection of an era; `why` is what the page shows.
    pub(super) async fn close(&self, era: Era, why: &Failure) {
        let (_, old) = self.forget(era);
        self.hub.connection(era, |connection| {
            if is_used(connection.state) {
                (connection.state, connection.problem) = (ConnectionState::Closed, Some(why.into()));
                connection.pid = None;
            }
        });
        if let Some(old) = old {
            old.client.close().await;
        }
    }

    /// Stops what waits for a login: an opening, or a call. Without a known call, all of the era.
    pub(super) async fn stop_login(&self, era: Era, call: Option<u64>) {
        let failure = Failure::new(Exit::Login, "cancelled", "The login was cancelled").hint("reconnect");
        let (is_opening, waiting) = {
            let state = &mut *self.hub.state();
            let is_opening = state.connection(era).state == ConnectionState::Connecting;
            let waiting = state.running(Some(era)).map(|running| running.id);
            (is_opening, waiting.filter(|running| call.is_none_or(|call| call == *running)).collect::<Vec<_>>())
        };
        if is_opening {
            self.forget(era);
            self.hub.connection(era, |connection| {
                (connection.state, connection.problem) = (ConnectionState::Failed, Some((&failure).into()));
            });
        } else if waiting.is_empty() && call.is_none() {
            // A list or a ping, which nothing else stops.
            self.close(era, &failure).await;
        } else {
            // A call that has just ended needs no stop.
            waiting.into_iter().for_each(|running| drop(self.stop(running)));
            self.rounds.end_logins(era, None);
        }
    }

    async fn connect(self: &Arc<Self>, era: Era, generation: u64) -> Result<Arc<Connection>, Failure> {
        let is_http = self.server.transport == "http";
        let _turn = if is_http { Some(self.turn.lock().await) } else { None };
        let options = self.options(era, generation)?;
        let mut flags = self.flags.clone();
        flags.login.opener = self.has_page.then(|| Opener(self.opener(era)));
        let connection = Connection::open_with(self.server.clone(), &flags, options).await?;
        let unopened = Unopened(Some(connection.client.clone()));
        self.hub.state().wire.belongs(connection.client.id().number(), era);
        let revisions = match (&self.flags.revision, era) {
            (Some(_), _) => self.flags.revisions_in_words(),
            (None, Era::Legacy) => "legacy revisions".to_owned(),
            (None, Era::Modern) => "modern revisions".to_owned(),
        };
        connection.opened(&revisions).await?;
        if era == Era::Modern {
            // A pinned revision needs no probe, so that nothing is known yet.
            let described = connection.client.described().await;
            described.map_err(|error| connection.failure(error, "asking the server what it is"))?;
        }
        unopened.keep();
        Ok(Arc::new(connection))
    }

    fn options(self: &Arc<Self>, era: Era, generation: u64) -> Result<Options, Failure> {
        let choice = match (self.flags.revisions()?, era) {
            (RevisionChoice::Pinned(revision), era) if Era::of(revision.era()) == era => {
                RevisionChoice::Pinned(revision)
            }
            (_, Era::Legacy) => RevisionChoice::Legacy,
            (_, Era::Modern) => RevisionChoice::Modern,
        };
        let handlers = self.handlers(era);
        let roots = self.hub.state().roots.clone();
        #[expect(deprecated, reason = "older revisions have it")]
        let host = move |options: ClientOptions| {
            let options = options.with_revision(choice).with_handlers(handlers).with_roots(Some(roots));
            options.with_capabilities(capabilities())
        };
        let (notified, closed) = (Arc::downgrade(self), Arc::downgrade(self));
        let events = Events::new(move |name, params| {
            if let Some(inspector) = notified.upgrade() {
                inspector.notified(era, name, params);
            }
        });
        let events = events.with_closed(move |error| {
            // Without an error, this side has closed it.
            if let (Some(inspector), Some(error)) = (Weak::upgrade(&closed), error) {
                inspector.ended(era, generation, &Failure::from(error.clone()));
            }
        });
        Ok(Options {
            listen: true,
            lazy: true,
            events: Some(events),
            asked: Asked::AtTerminal,
            host: Some(Box::new(host)),
            ..Options::default()
        })
    }

    fn opened(self: &Arc<Self>, era: Era, (generation, began): (u64, Instant), connection: Arc<Connection>) {
        let client = &connection.client;
        let declared = client.server().declared().unwrap_or_default();
        let lists: Vec<_> = ListName::ALL.into_iter().filter(|list| list.is_declared(era, &declared)).collect();
        {
            let link = &mut self.links()[era.index()];
            if link.generation != generation {
                return;
            }
            link.opening = None;
            link.connection = Some(Arc::clone(&connection));
            // An older connection may have declared them.
            for absent in ListName::ALL.into_iter().filter(|list| !lists.contains(list)) {
                let kept = &mut link.lists[absent.index()];
                (kept.items, kept.is_reordered) = (None, false);
            }
        }
        self.hub.connection(era, |shown| {
            shown.describe(client.server());
            (shown.state, shown.problem, shown.pid) = (ConnectionState::Open, None, client.pid());
            (shown.opened_at, shown.took_ms) = (Some(now()), Some(began.elapsed().as_secs_f64() * 1000.0));
            shown.openings += 1;
            for list in ListName::ALL {
                let state = shown.lists.of(list);
                if lists.contains(&list) {
                    state.state = ListProgress::Loading;
                } else {
                    *state = ListState { version: state.version + 1, ..ListState::default() };
                }
            }
        });
        for list in lists {
            let inspector = Arc::clone(self);
            tokio::spawn(async move { inspector.changed(era, list).await });
        }
        if let Some(error) = client.failure() {
            self.ended(era, generation, &Failure::from(error));
        }
        self.judge();
    }

    fn failed(&self, era: Era, generation: u64, failure: &Failure) {
        if self.links()[era.index()].generation != generation {
            return;
        }
        self.hub.connection(era, |connection| {
            (connection.state, connection.problem) = (ConnectionState::Failed, Some(failure.into()));
        });
        self.judge();
    }

    /// A connection that was open has ended.
    fn ended(&self, era: Era, generation: u64, failure: &Failure) {
        {
            let link = &mut self.links()[era.index()];
            if link.generation != generation || link.connection.is_none() {
                return;
            }
            link.connection = None;
        }
        self.hub.connection(era, |connection| {
            (connection.state, connection.problem) = (ConnectionState::Closed, Some(failure.into()));
            connection.pid = None;
        });
    }

    /// A server that works in one era, and refuses the other one, does not speak that.
    fn judge(&self) {
        let state = &mut *self.hub.state();
        if !state.connections.iter().any(|connection| connection.openings > 0) {
            return self.explain(state);
        }
        for era in Era::ALL {
            let connection = state.connection(era);
            let is_about_eras =
                connection.problem.as_ref().is_some_and(|problem| !NOT_ABOUT_ERAS.contains(&&*problem.code));
            if connection.state == ConnectionState::Failed && connection.openings == 0 && is_about_eras {
                connection.state = ConnectionState::Unsupported;
                connection.problem = connection.problem.take().map(Problem::without_advice);
                let text = text_of(&Increment::Connection { connection });
                self.hub.tell(state, &text);
            }
        }
    }

    /// A server that refuses the first request of the modern era may know only the other one. If it
    /// fails there as well, that is why neither works.
    fn explain(&self, state: &mut State) {
        let failed = |era: Era| {
            let connection = &state.connections[era.index()];
            connection.problem.clone().filter(|_| connection.state == ConnectionState::Failed)
        };
        let (Some(legacy), Some(modern)) = (failed(Era::Legacy), failed(Era::Modern)) else { return };
        if modern.code == ErrorKind::Version.as_str() && legacy.code != modern.code {
            let connection = state.connection(Era::Modern);
            connection.problem = Some(legacy);
            let text = text_of(&Increment::Connection { connection });
            self.hub.tell(state, &text);
        }
    }

    /// A notification arrived. Called where messages are read.
    fn notified(self: &Arc<Self>, era: Era, name: &str, params: Option<&RawJson>) {
        let lists: &[ListName] = match name {
            method::LOG_MESSAGE => return self.logged(era, params),
            method::TOOLS_LIST_CHANGED => &[ListName::Tools],
            method::RESOURCES_LIST_CHANGED => &[ListName::Resources, ListName::ResourceTemplates],
            method::PROMPTS_LIST_CHANGED => &[ListName::Prompts],
            _ => return,
        };
        for list in lists {
            let inspector = Arc::clone(self);
            tokio::spawn(async move { inspector.changed(era, *list).await });
        }
    }
}

/// Closes the client of an opening that fails or is stopped. The library opens clients in a task of
/// their own, which would keep the server's process running, and the turn to log in taken.
struct Unopened(Option<Client>);

impl Unopened {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unopened {
    fn drop(&mut self) {
        if let (Some(client), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { client.close().await });
        }
    }
}

fn is_used(state: ConnectionState) -> bool {
    matches!(state, ConnectionState::Open | ConnectionState::Connecting)
}

/// A step of a login, as a rung of the ladder.
fn rung(step: AuthExchange) -> Exchange {
    let has_error = step.members.iter().any(|member| member.starts_with("error"));
    // A login begins with this refusal.
    let is_challenge = step.status == Some(401) && step.clause == CHALLENGE;
    let pass = is_challenge || (!has_error && step.status.is_none_or(|status| status < 400));
    let AuthExchange { method, url, status, members, clause, repeat, .. } = step;
    Exchange { id: 0, at: now(), method, url, status, members, clause, repeat, pass }
}

/// Declares to servers that the page shows apps.
fn capabilities() -> ClientCapabilities {
    let settings = json!({"mimeTypes": [app::MIME_TYPE]});
    let extensions = [(extension::APPS.id.to_owned(), settings)].into_iter().collect();
    ClientCapabilities { extensions: Some(extensions), ..ClientCapabilities::default() }
}
