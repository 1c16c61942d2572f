//! A server of a proxied group. It is connected on demand, and there is a `Remote` for each of its
//! connections.

use super::{
    failures::rpc_error,
    remote::{Remote, RemoteOptions},
    watching::MountPoint,
};
use crate::group::{ClientGroup, GroupMember};
use std::sync::{Arc, Weak};
use trunkline_core::{
    client::Client,
    extension::{
        Ambient, ConnectionState, ListSet, ListedSchema, Offers, RemoteDescription, RemoteServer, ToolTasks,
        WeakServer, race::unless, sync::Mutex,
    },
    protocol::{RawJson, RpcError, method::Method},
    runtime::{BoxedTask, Runtime},
    server::{Call, Handler, Outcome, TaskSupport},
};

/// A server of a proxied group.
pub(super) struct ServerOfGroup {
    this: Weak<Self>,
    member: Arc<GroupMember>,
    runtime: Arc<dyn Runtime>,
    mount_point: MountPoint,
    options: RemoteOptions,
    /// The remote server of the newest connection.
    remote: Mutex<Option<Arc<Remote>>>,
}

impl ServerOfGroup {
    pub(super) fn new(
        member: Arc<GroupMember>,
        group: &ClientGroup,
        server: WeakServer,
        mut options: RemoteOptions,
    ) -> Arc<Self> {
        options.tools = options.tools.map(|filter| filter.of_member(&member.prefix));
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            mount_point: MountPoint { server, prefix: member.prefix.clone() },
            member,
            runtime: Arc::clone(group.runtime()),
            options,
            remote: Mutex::default(),
        })
    }

    /// The remote server of a connection, which takes over the subscriptions of the last one. The
    /// group reports changes of its lists.
    fn remote(&self, client: Client) -> Arc<Remote> {
        let (remote, before) = {
            let mut remote = self.remote.lock();
            if let Some(remote) = remote.as_ref().filter(|remote| remote.client.is(&client)) {
                return Arc::clone(remote);
            }
            let new = Remote::new(client, self.mount_point.clone(), self.options.clone());
            (Arc::clone(&new), remote.replace(new))
        };
        if let Some(before) = before {
            let remote = Arc::clone(&remote);
            self.runtime.spawn(Box::pin(async move {
                let watched = before.watching.end();
                drop(before);
                remote.watching.watch_again(&remote.client, watched).await;
            }));
        }
        remote
    }

    /// Takes over the subscriptions if the group has connected to the server again.
    pub(super) fn follow(&self) {
        let is_used = self.remote.lock().is_some();
        if let Some(client) = self.member.connected().filter(|_| is_used) {
            self.remote(client);
        }
    }

    /// The remote server, connected. `details` tells whether an error may have details.
    async fn connected(&self, details: bool) -> Result<Arc<Remote>, RpcError> {
        let client = self.member.client().await.map_err(|error| rpc_error(Some(&self.member.name), &error, details))?;
        Ok(self.remote(client))
    }
}

impl Handler for ServerOfGroup {
    fn call(&self, call: Call) {
        if let Some(client) = self.member.connected() {
            return self.remote(client).call(call);
        }
        if let Some(list) = Method::list_member(call.info().method()) {
            // Lists are empty rather than wait for a disconnected server.
            let empty = RawJson::from_value(&serde_json::json!({ list: [] }));
            call.complete(empty.map_or_else(|_| Outcome::Protocol(RpcError::internal()), Outcome::Result));
            return;
        }
        let Some(server) = self.this.upgrade() else { return };
        let ambient = Ambient::current();
        self.runtime.spawn(Box::pin(async move {
            let info = call.info().clone();
            let sent = async {
                match server.connected(info.may_see_details()).await {
                    Ok(remote) => remote.call(call),
                    Err(error) => {
                        call.complete(Outcome::Protocol(error));
                    }
                }
            };
            // A cancelled call needs no response.
            let _ = unless(info.cancelled(), ambient.around(sent)).await;
        }));
    }
}

impl RemoteServer for ServerOfGroup {
    fn offers(&self) -> Offers {
        match self.member.connected() {
            Some(client) => self.remote(client).offers(),
            // Unknown until it is connected.
            None => Offers { lists: ListSet::every(), completions: true, skills: false, tasks: false },
        }
    }

    fn tasks_of(&self, tool: &str) -> BoxedTask<ToolTasks> {
        const NONE: ToolTasks = ToolTasks { support: TaskSupport::Forbidden, defers: false };
        let Some(server) = self.this.upgrade() else { return Box::pin(async { NONE }) };
        let tool = tool.to_owned();
        Box::pin(async move {
            match server.connected(false).await {
                Ok(remote) => remote.tasks_of(&tool).await,
                Err(_) => NONE,
            }
        })
    }

    fn mirrored_of(&self, tool: &str, lists: bool) -> BoxedTask<Option<Arc<ListedSchema>>> {
        let Some(server) = self.this.upgrade() else { return Box::pin(async { None }) };
        let tool = tool.to_owned();
        Box::pin(async move { server.connected(false).await.ok()?.mirrored_of(&tool, lists).await })
    }

    fn connection_state(&self) -> ConnectionState {
        // A connection over HTTP seems open until the remote server knows better.
        if let Some(client) = self.member.connected() {
            return self.remote(client).connection_state();
        }
        let of_callers = self.remote.lock().as_ref().map(|remote| remote.connection_state());
        self.member.connection_state().max(of_callers.unwrap_or(ConnectionState::Closed))
    }

    fn describe(&self, details: bool) -> BoxedTask<Result<RemoteDescription, RpcError>> {
        let Some(server) = self.this.upgrade() else { return Box::pin(async { Err(RpcError::internal()) }) };
        Box::pin(async move { server.connected(details).await?.describe(details).await })
    }

    fn watch(&self, uris: Vec<String>, client: Option<Arc<str>>) -> BoxedTask<Result<(), RpcError>> {
        let Some(server) = self.this.upgrade() else { return Box::pin(async { Err(RpcError::internal()) }) };
        Box::pin(async move { server.connected(false).await?.watch(uris, client).await })
    }
}
