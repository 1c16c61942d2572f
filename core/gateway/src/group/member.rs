//! A server of a group and its connection, which is established on demand and shared by all
//! waiters.

use super::{
    group_changes::GroupChanges,
    group_settings::GroupSettings,
    member_pauses::{MemberPauses, PendingQuestions},
    member_subscriptions::MemberSubscriptions,
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    task::Waker,
    time::Duration,
};
use trunkline_core::{
    client::{Client, ClientError, ClientEvents, ClientId, Connector, GroupTarget, RequestOptions},
    extension::{Observation, Promise, change, composition::names, race::unless, sync::Mutex, wait},
    protocol::{Era, RawJson, method, model::LoggingLevel},
};

#[cfg(feature = "server")]
use trunkline_core::extension::ConnectionState;

/// How to reach a server, or the error in its configuration.
pub(super) type MemberServer = Result<GroupTarget, ClientError>;

/// A server of a group.
pub(crate) struct GroupMember {
    /// The name by which it was added.
    pub(crate) name: String,
    /// The prefix of its names in the group.
    pub(crate) prefix: String,
    server: MemberServer,
    settings: Arc<GroupSettings>,
    changes: Arc<GroupChanges>,
    connection: Mutex<MemberConnection>,
    /// The server's own names of tools and prompts with shortened names, by list method, from the
    /// latest lists.
    aliases: Mutex<HashMap<String, HashMap<String, String>>>,
    pub(super) subscriptions: MemberSubscriptions,
    pub(super) pauses: MemberPauses,
    /// Observes a client that is shared with the program.
    observation: Mutex<Option<Observation>>,
}

#[derive(Default)]
struct MemberConnection {
    state: MemberState,
    wakers: Vec<Waker>,
}

#[derive(Default)]
enum MemberState {
    /// Not tried yet.
    #[default]
    Untried,
    /// The promise stops connecting.
    Connecting(Arc<Promise<()>>),
    Connected(Client),
    Failed(ClientError),
    /// Removed from the group.
    Removed,
}

impl GroupMember {
    pub(super) fn new(
        name: String,
        server: MemberServer,
        settings: Arc<GroupSettings>,
        changes: Arc<GroupChanges>,
    ) -> Arc<Self> {
        Arc::new(Self {
            prefix: names::prefix(&name),
            name,
            server,
            settings,
            changes,
            connection: Mutex::default(),
            aliases: Mutex::default(),
            subscriptions: MemberSubscriptions::default(),
            pauses: MemberPauses::default(),
            observation: Mutex::default(),
        })
    }

    /// The connection, reconnecting if it failed or ended.
    ///
    /// # Errors
    /// If connecting fails, or the server was removed from the group.
    pub(crate) async fn client(self: &Arc<Self>) -> Result<Client, ClientError> {
        if let Some(client) = self.connected() {
            return Ok(client);
        }
        self.begin_connecting();
        let look = |connection: &mut MemberConnection| match &connection.state {
            MemberState::Connected(client) => Some(client.check_open().map(|()| client.clone())),
            MemberState::Failed(error) => Some(Err(error.clone())),
            MemberState::Removed => Some(Err(ClientError::Closed)),
            MemberState::Untried | MemberState::Connecting(_) => None,
        };
        wait(&self.connection, |connection| &mut connection.wakers, look).await
    }

    /// Connects, unless it is connecting, connected or removed.
    fn begin_connecting(self: &Arc<Self>) {
        let stop = Arc::default();
        match &mut self.connection.lock().state {
            MemberState::Connecting(_) | MemberState::Removed => return,
            MemberState::Connected(client) if client.check_open().is_ok() => return,
            state => *state = MemberState::Connecting(Arc::clone(&stop)),
        }
        // In a separate task, because others may still wait for it when the caller no longer does.
        let connecting = PendingConnect { member: Arc::clone(self), outcome: None };
        self.changes.runtime.spawn(Box::pin(connecting.run(stop)));
    }

    /// Changes the state if that is due, and wakes the waiters. Returns the state that is no longer
    /// needed, to be dropped without the lock.
    fn set_if(&self, is_due: impl FnOnce(&MemberState) -> bool, next: MemberState) -> MemberState {
        let set = |connection: &mut MemberConnection| {
            if is_due(&connection.state) { std::mem::replace(&mut connection.state, next) } else { next }
        };
        change(&self.connection, |connection| &mut connection.wakers, set)
    }

    /// The connection, if there is one.
    pub(crate) fn connected(&self) -> Option<Client> {
        match &self.connection.lock().state {
            MemberState::Connected(client) if client.check_open().is_ok() => Some(client.clone()),
            _ => None,
        }
    }

    /// The connection, or why there is none; `None` while connecting.
    pub(super) fn status(&self) -> Option<Result<Client, ClientError>> {
        match &self.connection.lock().state {
            MemberState::Connected(client) => match (client.lost(), client.check_open()) {
                (None, _) => Some(Ok(client.clone())),
                (Some(_), Err(error)) => Some(Err(error)),
                (Some(error), Ok(())) => error.map(Err),
            },
            MemberState::Failed(error) => Some(Err(error.clone())),
            MemberState::Untried | MemberState::Connecting(_) => None,
            MemberState::Removed => Some(Err(ClientError::Closed)),
        }
    }

    /// The state of the connection.
    #[cfg(feature = "server")]
    pub(crate) fn connection_state(&self) -> ConnectionState {
        match &self.connection.lock().state {
            MemberState::Untried => ConnectionState::Idle,
            MemberState::Connecting(_) => ConnectionState::Connecting,
            MemberState::Connected(client) => client.connection_state(),
            MemberState::Failed(_) => ConnectionState::Down,
            MemberState::Removed => ConnectionState::Closed,
        }
    }

    /// Closes the connection permanently. A shared client stays open.
    pub(super) async fn remove(&self, deadline: Duration) {
        if let Some(client) = self.give_up()
            && !self.is_shared()
        {
            client.close_within(deadline).await;
        }
    }

    /// The connector of the server; `None` if its configuration is invalid.
    pub(crate) fn connector(&self) -> Option<&Arc<dyn Connector>> {
        self.server.as_ref().ok().map(GroupTarget::connector)
    }

    /// Returns whether requests to the server eventually reach this client.
    pub(super) fn leads_to(&self, client: ClientId) -> bool {
        self.server.as_ref().is_ok_and(|server| server.leads_to(client))
    }

    /// Returns whether the connection is a shared client.
    fn is_shared(&self) -> bool {
        matches!(self.server, Ok(GroupTarget::Client(_)))
    }

    /// Stops connecting and returns the current connection. There will be no other one.
    pub(super) fn give_up(&self) -> Option<Client> {
        let before = self.set_if(|_| true, MemberState::Removed);
        drop(self.observation.lock().take());
        match before {
            MemberState::Connected(client) => Some(client),
            MemberState::Connecting(stop) => {
                stop.keep(());
                None
            }
            _ => None,
        }
    }

    /// Subscribes to a resource, by the server's own URI.
    pub(super) async fn subscribe(self: &Arc<Self>, uri: &str) -> Result<(), ClientError> {
        let client = self.client().await?;
        self.subscriptions.open(&client, &self.prefix, uri, &self.changes).await
    }

    /// Updates the handlers and roots of the connection to those of the group.
    #[expect(deprecated, reason = "older revisions have it")]
    pub(super) fn update(&self, client: &Client) {
        if self.is_shared() {
            return;
        }
        let (options, _) = self.settings.current();
        let updated = client.set_handlers(options.handlers.of_member()).and_then(|()| match options.roots {
            Some(roots) => client.set_roots(roots),
            None => Ok(()),
        });
        if let Err(error) = updated {
            tracing::warn!(target: "trunkline::client::group", server = self.name, %error, "could not update the handlers or roots of a server");
        }
    }

    pub(super) async fn set_log_level(&self, level: LoggingLevel, options: &RequestOptions) {
        // In the modern era, it is sent with each request.
        let logging =
            |client: &Client| client.revision().era() == Era::Modern || client.server_capabilities().logging.is_some();
        let Some(client) = self.connected().filter(logging) else { return };
        let params = RawJson::object(&json!({"level": level}));
        if let Err(error) = client.request(method::LOGGING_SET_LEVEL, Some(&params), options).await {
            tracing::warn!(target: "trunkline::client::group", server = self.name, %error, "a server rejected the log level");
        }
    }

    /// Stores the shortened names of a list of the server, each with the server's own name.
    pub(super) fn remember(&self, list: &str, aliases: HashMap<String, String>) {
        self.aliases.lock().insert(list.to_owned(), aliases);
    }

    pub(super) fn own_name(&self, list: &str, alias: &str) -> Option<String> {
        self.aliases.lock().get(list)?.get(alias).cloned()
    }

    /// Uses a shared client as the connection.
    async fn share(&self, client: &Client, events: Arc<MemberEvents>) -> Result<Client, ClientError> {
        let observation = client.observe_lists(events).await?;
        let before = self.observation.lock().replace(observation);
        drop(before);
        client.check_open().map(|()| client.clone())
    }

    /// Called when a connection was lost. It may be an earlier one; the current one continues.
    fn ended(&self, error: &ClientError) {
        let is_current =
            |state: &MemberState| matches!(state, MemberState::Connected(client) if client.check_open().is_err());
        drop(self.set_if(is_current, MemberState::Failed(error.clone())));
    }
}

/// A connection being established. However the task ends, the waiters are woken.
struct PendingConnect {
    member: Arc<GroupMember>,
    outcome: Option<Result<Client, ClientError>>,
}

impl PendingConnect {
    #[expect(deprecated, reason = "older revisions have it")]
    async fn run(mut self, stop: Arc<Promise<()>>) {
        let member = Arc::clone(&self.member);
        let (mut options, version) = member.settings.current();
        options.handlers = options.handlers.of_member();
        let events = Arc::new(MemberEvents { member: Arc::downgrade(&member), asking: PendingQuestions::default() });
        let opened = match &member.server {
            Ok(target) => {
                let opening = async {
                    match target.shared() {
                        Some(client) => member.share(client, events).await,
                        None => {
                            let (runtime, connector) = (&member.changes.runtime, target.connector());
                            Client::open(Arc::clone(runtime), Arc::clone(connector), options, events).await
                        }
                    }
                };
                unless(stop.kept(), opening).await.unwrap_or(Err(ClientError::Closed))
            }
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = &opened
            && !matches!(error, ClientError::Closed)
        {
            tracing::warn!(target: "trunkline::client::group", server = member.name, %error, "a server of the group cannot be used");
        }
        self.outcome = Some(opened);
        drop(self);
        if let Some(client) = member.connected() {
            let (now, changed) = member.settings.current();
            if changed != version {
                member.update(&client);
                if let Some(level) = now.log_level {
                    member.set_log_level(level, &member.settings.part_options()).await;
                }
            }
            member.subscriptions.open_again(&client, &member.prefix, &member.changes).await;
            member.changes.lists_changed();
        }
    }
}

impl Drop for PendingConnect {
    fn drop(&mut self) {
        let cut = || Err(ClientError::Invalid("Connecting was aborted by an internal error".to_owned()));
        let next = match self.outcome.take().unwrap_or_else(cut) {
            Ok(client) => MemberState::Connected(client),
            Err(error) => MemberState::Failed(error),
        };
        // If it was removed in the meantime, dropping the connection closes it.
        drop(self.member.set_if(|state| matches!(state, MemberState::Connecting(_)), next));
    }
}

/// Passes notifications of one connection to the group.
struct MemberEvents {
    member: Weak<GroupMember>,
    asking: PendingQuestions,
}

impl ClientEvents for MemberEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        if let Some(member) = self.member.upgrade() {
            member.changes.notified(&member.prefix, method, params);
        }
    }

    /// The server may be another process or session, with different lists.
    fn reconnected(&self) {
        if let Some(member) = self.member.upgrade() {
            member.changes.lists_changed();
        }
    }

    fn awaiting_user(&self, begins: bool) {
        if !begins {
            return self.asking.end();
        }
        if let Some(member) = self.member.upgrade() {
            self.asking.begin(&member.pauses, member.changes.inbox());
        }
    }

    fn server_name(&self) -> Option<String> {
        Some(self.member.upgrade()?.name.clone())
    }

    fn closed(&self, error: Option<&ClientError>) {
        let Some(member) = self.member.upgrade() else { return };
        // The program may have closed a shared client.
        member.ended(error.unwrap_or(&ClientError::Closed));
        member.changes.lists_changed();
    }
}

#[cfg(all(test, feature = "server", feature = "tokio"))]
mod tests {
    use super::*;
    use trunkline_core::{
        client::ClientOptions,
        server::Server,
        transport::{Target, TokioRuntime},
    };

    #[tokio::test]
    async fn the_late_end_of_an_old_connection_leaves_the_new_one_alone() {
        let runtime = TokioRuntime::current();
        let server = Server::builder("one", "1.0.0").build();
        let connector = Target::from(&server).connector(&ClientOptions::default(), &runtime).unwrap();
        let settings = Arc::new(GroupSettings::new(&ClientOptions::default()));
        let member = GroupMember::new("m".into(), Ok(connector.into()), settings, GroupChanges::new(runtime));
        member.client().await.unwrap();
        member.ended(&ClientError::Closed);
        assert!(member.connected().is_some());
        assert!(matches!(member.status(), Some(Ok(_))));
    }
}
