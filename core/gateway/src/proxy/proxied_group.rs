//! A proxied group. Each of its servers is mounted under its name while it is in the group.

use super::{group_server::ServerOfGroup, remote::RemoteOptions};
use crate::group::{ClientGroup, GroupMember};
use std::sync::{Arc, Weak};
use trunkline_core::{
    client::ClientEvents,
    extension::{Observation, RemoteServer, sync::Mutex},
    protocol::{RawJson, method},
    server::{Category, FeatureHandle, RegisterError, Server},
};

/// A group mounted on a server. The servers of the group are mounted on an inner server.
pub(super) struct ProxiedGroup {
    group: ClientGroup,
    server: Server,
    /// The identity of the server that the group is mounted on.
    outside: usize,
    options: RemoteOptions,
    mounted: Mutex<Vec<MountedServer>>,
    _observation: Observation,
}

/// A mounted server of the group.
struct MountedServer {
    member: Arc<GroupMember>,
    /// `None` if it cannot be mounted.
    mount: Option<(Arc<ServerOfGroup>, FeatureHandle<Server>)>,
}

impl ProxiedGroup {
    /// Mounts the group on a server.
    ///
    /// # Errors
    /// If the prefix is invalid or already in use, or a server of the group cannot be mounted.
    pub(super) fn show(
        group: ClientGroup,
        outside: &Server,
        prefix: &str,
        options: RemoteOptions,
    ) -> Result<FeatureHandle<Server>, RegisterError> {
        let server = Server::builder("group", env!("CARGO_PKG_VERSION")).build();
        let proxied = Arc::new_cyclic(|this| Self {
            _observation: group.observe(Arc::new(GroupObserver(Weak::clone(this)))),
            group,
            server: server.clone(),
            outside: outside.identity(),
            options,
            mounted: Mutex::default(),
        });
        for member in proxied.group.members() {
            proxied.check(&member).map_err(|problem| RegisterError(format!("proxy: {problem}")))?;
        }
        proxied.update();
        outside.mount_with_guard(prefix, &server, Box::new(proxied))
    }

    /// Refuses a server whose calls would be ambiguous or endless.
    fn check(&self, member: &GroupMember) -> Result<(), String> {
        let (name, connector) = (&member.name, member.connector());
        if connector.is_some_and(|connector| !connector.has_sessions()) {
            return Err(format!("the server {name:?} of the group is itself a group; add a proxy for that one"));
        }
        if connector.is_some_and(|connector| connector.is_of_server(self.outside)) {
            return Err(format!("the server {name:?} of the group is this server itself, so calls would never end"));
        }
        Ok(())
    }

    /// Mounts servers that were added to the group, and removes those that have left it. The others
    /// may have another connection.
    fn update(&self) {
        let mut mounted = self.mounted.lock();
        let members = self.group.members();
        mounted.retain(|server| {
            let stays = members.iter().any(|member| Arc::ptr_eq(member, &server.member));
            match &server.mount {
                Some((server, _)) if stays => server.follow(),
                Some((_, mount)) => _ = mount.remove(),
                None => {}
            }
            stays
        });
        for member in members {
            // A server that was added again under the same name is another one.
            if !mounted.iter().any(|server| Arc::ptr_eq(&server.member, &member)) {
                let mount = self.mount(&member);
                mounted.push(MountedServer { member, mount });
            }
        }
    }

    fn mount(&self, member: &Arc<GroupMember>) -> Option<(Arc<ServerOfGroup>, FeatureHandle<Server>)> {
        let added = self.check(member).and_then(|()| {
            let options = self.options.clone();
            let server = ServerOfGroup::new(Arc::clone(member), &self.group, self.server.downgrade(), options);
            let mount = self.server.mount_remote(&member.prefix, Arc::clone(&server) as Arc<dyn RemoteServer>);
            mount.map(|mount| (server, mount)).map_err(|error| error.to_string())
        });
        added
            .inspect_err(|error| {
                tracing::warn!(target: "trunkline::server::proxy", server = member.name, error, "could not add a server of a group");
            })
            .ok()
    }
}

/// Notifies clients of list changes in the group, including added and removed servers.
struct GroupObserver(Weak<ProxiedGroup>);

impl ClientEvents for GroupObserver {
    fn notification(&self, method: &str, _: Option<&RawJson>) {
        let category = match method {
            method::TOOLS_LIST_CHANGED => Category::Tools,
            method::PROMPTS_LIST_CHANGED => Category::Prompts,
            method::RESOURCES_LIST_CHANGED => Category::Resources,
            _ => return,
        };
        let Some(proxied) = self.0.upgrade() else { return };
        proxied.update();
        proxied.server.list_changed(category);
    }
}
