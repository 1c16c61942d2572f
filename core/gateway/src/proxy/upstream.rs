//! A proxied server that can be replaced by another one.

use super::{
    definition::{ProxyDefinition, ProxySource, check_client},
    remote::{Remote, RemoteOptions},
    tool_filter::ToolFilter,
    watching::{MountPoint, WatchedBefore},
};
use crate::surface::{Surface, SurfaceChange, SurfaceList};
use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    task::Waker,
};
use trunkline_core::{
    client::{Client, ClientError},
    extension::{
        Ambient, ConnectionState, ListSet, ListedSchema, Offers, Promise, RemoteDescription, RemoteServer, ToolTasks,
        change, race::unless, sync::Mutex, wait,
    },
    protocol::{RpcError, error::code},
    runtime::{BoxedTask, Runtime},
    server::{Call, Category, Handler, Outcome, RegisterError, Server, TaskSupport},
};

/// A server behind a proxy that can be replaced while the clients of the proxy stay connected: a
/// new version of it, or one at another place.
///
/// ```no_run
/// use trunkline::{ChildCommand, Client, ProxyDefinition, Server, Upstream};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let command = || ChildCommand::new(["python", "weather.py"]);
/// let first = Client::connect(command()).await?;
/// let server = Server::builder("dev", "1.0.0").build();
/// let upstream = Upstream::add_to(&server, ProxyDefinition::new(&first).transparent(true))?;
/// upstream.open().await?;
/// // … the program has changed …
/// let failed = upstream.replace(&Client::connect(command()).await?).await?;
/// let changes = upstream.open().await?;
/// println!("{failed} requests failed, {} changes", changes.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Upstream {
    switch: Arc<Switch>,
}

struct Switch {
    this: Weak<Self>,
    runtime: Arc<dyn Runtime>,
    mount_point: MountPoint,
    options: RemoteOptions,
    state: Mutex<SwitchState>,
}

struct SwitchState {
    current: Current,
    /// Number of servers that are ending.
    ending: usize,
    /// The features of the last server.
    offers: Offers,
    /// The lists when they were read last.
    surface: Option<Surface>,
    /// Resources whose subscriptions ended with a server.
    watched: Vec<WatchedBefore>,
    wakers: Vec<Waker>,
}

enum Current {
    Server(Arc<Remote>),
    /// The last server is ending; requests wait for this one.
    Changing(Arc<Remote>),
    /// There is none: the error of all requests.
    Stopped(RpcError),
}

impl Upstream {
    /// Adds a proxy to a server. It must be for a client, not for a group.
    ///
    /// # Errors
    /// As for [`Server::proxy`].
    pub fn add_to(server: &Server, proxy: ProxyDefinition) -> Result<Self, RegisterError> {
        let ProxyDefinition { source: ProxySource::Client(client), options } = proxy else {
            return Err(RegisterError("proxy: only the proxy of one server can be replaced".to_owned()));
        };
        check_client(&client, server)?;
        let prefix = options.prefix.unwrap_or_default();
        let mount_point = MountPoint { server: server.downgrade(), prefix: prefix.clone() };
        let options = RemoteOptions {
            max_connections: options.max_connections,
            shared: options.shared,
            transparent: options.transparent,
            tools: ToolFilter::new(options.allow_tools, options.deny_tools),
        };
        let runtime = Arc::clone(client.runtime());
        let remote = Remote::new(client, mount_point.clone(), options.clone());
        if remote.client.was_opened() {
            remote.begin();
        }
        let offers = Offers { lists: ListSet::every(), completions: true, skills: false, tasks: false };
        let current = Current::Server(remote);
        let state = SwitchState { current, ending: 0, offers, surface: None, watched: Vec::new(), wakers: Vec::new() };
        let switch = Arc::new_cyclic(|this| Switch {
            this: Weak::clone(this),
            runtime,
            mount_point,
            options,
            state: Mutex::new(state),
        });
        server.mount_remote(&prefix, Arc::clone(&switch) as Arc<dyn RemoteServer>)?;
        Ok(Self { switch })
    }

    /// Replaces the server. Its client is closed; requests in flight fail with the reason
    /// `restarted`, and are never repeated. Requests that arrive later are for the new server,
    /// which begins to serve when the old one has ended, unless its client is open already. Then
    /// call [`Upstream::open`]. Returns how many requests failed. Dropping the future does not stop
    /// the change.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] if the client cannot be proxied.
    pub async fn replace(&self, client: &Client) -> Result<usize, ClientError> {
        let Some(server) = self.switch.mount_point.server.upgrade() else { return Err(ClientError::Closed) };
        check_client(client, &server).map_err(|error| ClientError::Invalid(error.to_string()))?;
        drop(server);
        let new = Remote::new(client.clone(), self.switch.mount_point.clone(), self.switch.options.clone());
        let next = if client.was_opened() {
            new.begin();
            Current::Server(new)
        } else {
            Current::Changing(new)
        };
        Ok(self.switch.end_with(next).await)
    }

    /// Ends the server without another one: until [`Upstream::replace`], requests fail with this
    /// text. Returns how many requests failed. Dropping the future does not stop the change.
    pub async fn stop(&self, text: &str) -> usize {
        let error = RpcError::new(code::INTERNAL_ERROR, text);
        self.switch.end_with(Current::Stopped(error)).await
    }

    /// Opens the connection to the server, if it is not open yet, and subscribes again to the
    /// resources that clients of the proxy are subscribed to. Clients are told which lists differ
    /// from those of the last server. Returns the differences.
    ///
    /// # Errors
    /// As for [`Client::list_all`]. Requests of clients then try again.
    pub async fn open(&self) -> Result<Vec<SurfaceChange>, ClientError> {
        let remote = self.switch.current().await.map_err(ClientError::Protocol)?;
        remote.open().await?;
        let watched = self.switch.state.lock().watched.split_off(0);
        remote.watching.watch_again(&remote.client, watched).await;
        let surface = Surface::of(&remote.client).await?;
        let before = self.switch.state.lock().surface.replace(surface.clone());
        let changes = before.map(|before| before.changes_to(&surface)).unwrap_or_default();
        self.switch.announce(&changes);
        Ok(changes)
    }
}

impl Switch {
    /// The server, once there is one.
    async fn current(&self) -> Result<Arc<Remote>, RpcError> {
        let found = |state: &mut SwitchState| match &state.current {
            Current::Server(remote) => Some(Ok(Arc::clone(remote))),
            Current::Changing(_) => None,
            Current::Stopped(error) => Some(Err(error.clone())),
        };
        wait(&self.state, |state| &mut state.wakers, found).await
    }

    /// Changes to the next server, or to none, and ends the last one. Returns the number of failed
    /// requests.
    async fn end_with(self: &Arc<Self>, next: Current) -> usize {
        let before = self.change(|state| {
            state.ending += 1;
            std::mem::replace(&mut state.current, next)
        });
        let (Current::Server(old) | Current::Changing(old)) = before else {
            self.ended(Vec::new());
            return 0;
        };
        let (switch, failed) = (Arc::clone(self), Arc::new(Promise::default()));
        let counted = Arc::clone(&failed);
        // In a separate task, so that it continues if the caller stops waiting.
        self.runtime.spawn(Box::pin(async move {
            if old.client.was_opened() {
                let offers = old.offers();
                switch.state.lock().offers = offers;
            }
            let (failed, watched) = old.end().await;
            switch.ended(watched);
            counted.keep(failed);
        }));
        failed.kept().await
    }

    /// Keeps what the next server needs. Once all others have ended, it serves.
    fn ended(&self, watched: Vec<WatchedBefore>) {
        self.change(|state| {
            state.watched.extend(watched);
            state.ending -= 1;
            if let (0, Current::Changing(next)) = (state.ending, &state.current) {
                state.current = Current::Server(Arc::clone(next));
            }
        });
    }

    fn change<T>(&self, work: impl FnOnce(&mut SwitchState) -> T) -> T {
        change(&self.state, |state| &mut state.wakers, work)
    }

    /// Tells clients which lists have changed.
    fn announce(&self, changes: &[SurfaceChange]) {
        let Some(server) = self.mount_point.server.upgrade() else { return };
        // Resources and templates share a notification.
        let category = |list| match list {
            SurfaceList::Tools => ("tools", Category::Tools),
            SurfaceList::Prompts => ("prompts", Category::Prompts),
            SurfaceList::Resources | SurfaceList::ResourceTemplates => ("resources", Category::Resources),
        };
        let mut told = BTreeSet::new();
        for (name, category) in changes.iter().map(|change| category(change.list)) {
            if told.insert(name) {
                server.list_changed(category);
            }
        }
    }
}

impl Handler for Switch {
    fn call(&self, call: Call) {
        let current = match &self.state.lock().current {
            Current::Server(remote) => Some(Arc::clone(remote)),
            _ => None,
        };
        if let Some(remote) = current {
            return remote.call(call);
        }
        let Some(switch) = self.this.upgrade() else { return };
        let ambient = Ambient::current();
        self.runtime.spawn(Box::pin(async move {
            let info = call.info().clone();
            let sent = async {
                match switch.current().await {
                    Ok(remote) => remote.call(call),
                    Err(error) => drop(call.complete(Outcome::Protocol(error))),
                }
            };
            // A cancelled call needs no response.
            let _ = unless(info.cancelled(), ambient.around(sent)).await;
        }));
    }
}

impl RemoteServer for Switch {
    fn offers(&self) -> Offers {
        let state = self.state.lock();
        match &state.current {
            Current::Server(remote) if remote.client.was_opened() => remote.offers(),
            _ => state.offers,
        }
    }

    fn tasks_of(&self, tool: &str) -> BoxedTask<ToolTasks> {
        const NONE: ToolTasks = ToolTasks { support: TaskSupport::Forbidden, defers: false };
        let Some(switch) = self.this.upgrade() else { return Box::pin(async { NONE }) };
        let tool = tool.to_owned();
        Box::pin(async move {
            match switch.current().await {
                Ok(remote) => remote.tasks_of(&tool).await,
                Err(_) => NONE,
            }
        })
    }

    fn mirrored_of(&self, tool: &str, lists: bool) -> BoxedTask<Option<Arc<ListedSchema>>> {
        let Some(switch) = self.this.upgrade() else { return Box::pin(async { None }) };
        let tool = tool.to_owned();
        Box::pin(async move { switch.current().await.ok()?.mirrored_of(&tool, lists).await })
    }

    fn connection_state(&self) -> ConnectionState {
        match &self.state.lock().current {
            Current::Server(remote) => remote.connection_state(),
            Current::Changing(_) => ConnectionState::Connecting,
            Current::Stopped(_) => ConnectionState::Closed,
        }
    }

    fn is_transparent(&self) -> bool {
        self.options.transparent
    }

    fn describe(&self, details: bool) -> BoxedTask<Result<RemoteDescription, RpcError>> {
        let Some(switch) = self.this.upgrade() else { return Box::pin(async { Err(RpcError::internal()) }) };
        Box::pin(async move { switch.current().await?.describe(details).await })
    }

    fn watch(&self, uris: Vec<String>, client: Option<Arc<str>>) -> BoxedTask<Result<(), RpcError>> {
        let Some(switch) = self.this.upgrade() else { return Box::pin(async { Err(RpcError::internal()) }) };
        Box::pin(async move { switch.current().await?.watch(uris, client).await })
    }
}
