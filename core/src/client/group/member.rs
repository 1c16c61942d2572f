//! One server of a group: its connection, made once for all who wait for it, and again on demand.

use super::{changes::GroupChanges, names};
use crate::{
    client::{Client, ClientError, ClientEvents, ClientOptions, Connector},
    protocol::RawJson,
    runtime::Promise,
    sync::Mutex,
};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

/// One server of a group.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) prefix: String,
    /// The place of the server, or the error in its configuration.
    place: Result<Arc<dyn Connector>, ClientError>,
    options: ClientOptions,
    state: Mutex<MemberState>,
    /// The server's own names of the tools and prompts whose name in the group is shortened, from
    /// the latest lists.
    aliases: Mutex<HashMap<String, String>>,
}

enum MemberState {
    /// Not tried yet, or failed.
    Apart(Option<ClientError>),
    /// Those who wait for the connection.
    Connecting(Vec<Arc<Promise<()>>>),
    Connected(Client),
    /// Taken out of the group.
    Removed,
}

impl Member {
    pub(super) fn new(
        name: String,
        place: Result<Arc<dyn Connector>, ClientError>,
        options: ClientOptions,
    ) -> Arc<Self> {
        let (state, aliases) = (Mutex::new(MemberState::Apart(None)), Mutex::default());
        Arc::new(Self { prefix: names::prefix(&name), name, place, options, state, aliases })
    }

    /// The connection; one that failed or ended is made anew.
    pub(super) async fn client(self: &Arc<Self>, changes: &Arc<GroupChanges>) -> Result<Client, ClientError> {
        let mut tried = false;
        loop {
            let promise = Arc::new(Promise::default());
            let start = {
                let mut state = self.state.lock();
                match &mut *state {
                    MemberState::Removed => return Err(ClientError::Closed),
                    MemberState::Connected(client) => match client.failure() {
                        None => return Ok(client.clone()),
                        Some(error) if tried => return Err(error),
                        Some(_) => {
                            *state = MemberState::Connecting(vec![Arc::clone(&promise)]);
                            true
                        }
                    },
                    MemberState::Connecting(waiting) => {
                        waiting.push(Arc::clone(&promise));
                        false
                    }
                    MemberState::Apart(Some(error)) if tried => return Err(error.clone()),
                    MemberState::Apart(_) => {
                        *state = MemberState::Connecting(vec![Arc::clone(&promise)]);
                        true
                    }
                }
            };
            if start {
                // A task of its own: others may wait for it when the caller does not any more.
                let connecting = PendingConnect { member: Arc::clone(self), outcome: None };
                changes.runtime.spawn(Box::pin(connecting.run(Arc::clone(changes))));
            }
            promise.kept().await;
            tried = true;
        }
    }

    /// The connection, if there is one.
    pub(super) fn connected(&self) -> Option<Client> {
        match &*self.state.lock() {
            MemberState::Connected(client) if client.failure().is_none() => Some(client.clone()),
            _ => None,
        }
    }

    /// Why there is no connection.
    pub(super) fn error(&self) -> Option<ClientError> {
        match &*self.state.lock() {
            MemberState::Connected(client) => client.failure(),
            MemberState::Apart(error) => error.clone(),
            MemberState::Connecting(_) => None,
            MemberState::Removed => Some(ClientError::Closed),
        }
    }

    /// Ends the connection, for good.
    pub(super) async fn remove(&self, deadline: Duration) {
        let before = std::mem::replace(&mut *self.state.lock(), MemberState::Removed);
        match before {
            MemberState::Connected(client) => client.close_within(deadline).await,
            MemberState::Connecting(waiting) => waiting.iter().for_each(|promise| promise.keep(())),
            MemberState::Apart(_) | MemberState::Removed => {}
        }
    }

    pub(super) fn remember(&self, alias: String, own: String) {
        self.aliases.lock().insert(alias, own);
    }

    pub(super) fn own_name(&self, alias: &str) -> Option<String> {
        self.aliases.lock().get(alias).cloned()
    }

    /// The connection has ended by itself.
    fn ended(&self, error: &ClientError) {
        let before = {
            let mut state = self.state.lock();
            match &*state {
                MemberState::Connected(_) => std::mem::replace(&mut *state, MemberState::Apart(Some(error.clone()))),
                _ => return,
            }
        };
        drop(before);
    }
}

/// A connection that is being made. However the task ends, those who wait are woken.
struct PendingConnect {
    member: Arc<Member>,
    outcome: Option<Result<Client, ClientError>>,
}

impl PendingConnect {
    async fn run(mut self, changes: Arc<GroupChanges>) {
        let events = Arc::new(MemberEvents { changes: Arc::downgrade(&changes), member: Arc::downgrade(&self.member) });
        let opened = match &self.member.place {
            Ok(connector) => {
                let (runtime, options) = (Arc::clone(&changes.runtime), self.member.options.clone());
                Client::open(runtime, Arc::clone(connector), options, events).await
            }
            Err(error) => Err(error.clone()),
        };
        if let Err(error) = &opened {
            tracing::warn!(target: "trunkline", "the server {:?} of the group cannot be used: {error}", self.member.name);
        }
        let connected = opened.is_ok();
        self.outcome = Some(opened);
        drop(self);
        if connected {
            changes.lists_changed();
        }
    }
}

impl Drop for PendingConnect {
    fn drop(&mut self) {
        let cut = || Err(ClientError::Invalid("The connecting was cut short inside".to_owned()));
        let outcome = self.outcome.take().unwrap_or_else(cut);
        let (waiting, unused) = {
            let mut state = self.member.state.lock();
            let next = match outcome {
                Ok(client) => MemberState::Connected(client),
                Err(error) => MemberState::Apart(Some(error)),
            };
            match &*state {
                MemberState::Connecting(_) => match std::mem::replace(&mut *state, next) {
                    MemberState::Connecting(waiting) => (waiting, None),
                    _ => return,
                },
                // Removed meanwhile: dropping the connection ends it.
                _ => (Vec::new(), Some(next)),
            }
        };
        drop(unused);
        waiting.iter().for_each(|promise| promise.keep(()));
    }
}

/// Takes what a server sends by itself to the group.
struct MemberEvents {
    changes: Weak<GroupChanges>,
    member: Weak<Member>,
}

impl ClientEvents for MemberEvents {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        if let (Some(changes), Some(member)) = (self.changes.upgrade(), self.member.upgrade()) {
            changes.notified(&member.prefix, method, params);
        }
    }

    /// Another process, or another session: its lists may be others, too.
    fn reconnected(&self) {
        if let Some(changes) = self.changes.upgrade() {
            changes.lists_changed();
        }
    }

    fn closed(&self, error: Option<&ClientError>) {
        let (Some(error), Some(changes), Some(member)) = (error, self.changes.upgrade(), self.member.upgrade()) else {
            return;
        };
        member.ended(error);
        changes.lists_changed();
    }
}
