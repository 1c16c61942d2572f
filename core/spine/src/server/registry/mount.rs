//! Mounts: other servers, in this process or behind a client, whose features this server exposes.

use super::{
    category::{Category, ListSet},
    listed_tools::ListedSchema,
    prompt::RegisteredPrompt,
    register_error::RegisterError,
    resource::ReadInfo,
    snapshot::Snapshot,
    tool::{RegisteredTool, ToolTasks},
};
use crate::{
    composition::names, connection_state::ConnectionState, protocol::RpcError, runtime::BoxedTask,
    server::handlers::Handler, sync::Mutex,
};
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Maximum shortened names kept per mount, in addition to those that can be derived from its
/// registry.
const MAX_ALIASES: usize = 10_000;

/// A mounted server.
pub(crate) struct RegisteredMount {
    /// Set when it is added to a server.
    pub(in crate::server) number: u64,
    /// The prefix of its names and URIs; empty if they stay unchanged.
    pub(in crate::server) prefix: String,
    pub(in crate::server) source: MountSource,
    /// Full names by their shortened forms, as listed to clients.
    pub(super) aliases: Mutex<HashMap<(Category, String), String>>,
}

/// The server behind a mount.
pub(crate) enum MountSource {
    /// A server in this process; requests continue in its registry.
    Local(Arc<dyn LocalServer>),
    /// A server behind a client; requests are forwarded.
    Remote(Arc<dyn RemoteServer>),
}

/// A server in this process that can be mounted.
pub(crate) trait LocalServer: Send + Sync + 'static {
    /// Its current features.
    fn snapshot(&self) -> Arc<Snapshot>;
}

/// A server behind a client. Its handler receives the parameters of the request under the remote
/// names, and completes with the whole result.
pub trait RemoteServer: Handler {
    /// The kinds of features that it has, as far as known.
    fn offers(&self) -> Offers;
    /// The task support of a tool, connecting first if necessary. Its tasks run on this server and
    /// wait for the remote one.
    fn tasks_of(&self, tool: &str) -> BoxedTask<ToolTasks>;
    /// The input schema of a tool that mirrors parameters in HTTP headers; `None` if it mirrors
    /// none, as far as known. With `lists`, the tools are listed first if they never were.
    fn mirrored_of(&self, tool: &str, lists: bool) -> BoxedTask<Option<Arc<ListedSchema>>>;
    /// The state of the connection to it, as far as known.
    fn connection_state(&self) -> ConnectionState;
    /// Returns whether clients see the description of the remote server instead of this one's, and
    /// its failures instead of lists without its items.
    fn is_transparent(&self) -> bool {
        false
    }
    /// The server's description of itself, connecting first if necessary. `details` tells whether
    /// an error may have details of the failure.
    fn describe(&self, details: bool) -> BoxedTask<Result<RemoteDescription, RpcError>>;
    /// Subscribes to changes of resources, for as long as any client is subscribed to them. They
    /// are charged to a client, if there is a per-client limit. Fails with the first error, if any;
    /// the resources after a limit are left out.
    fn watch(&self, uris: Vec<String>, client: Option<Arc<str>>) -> BoxedTask<Result<(), RpcError>>;
}

/// A remote server's description of itself.
#[derive(Debug, Clone, Default)]
pub struct RemoteDescription {
    /// Its Implementation object.
    pub info: Option<Value>,
    /// Its capabilities object.
    pub capabilities: Value,
    /// Its instructions for the model.
    pub instructions: Option<String>,
}

/// The kinds of features that a server has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// The lists that it has.
    pub lists: ListSet,
    /// `true` if it completes arguments.
    pub completions: bool,
    /// `true` if it has agent skills.
    pub skills: bool,
    /// `true` if it has tasks.
    pub tasks: bool,
}

impl RegisteredMount {
    pub(in crate::server) fn new(prefix: String, source: MountSource) -> Self {
        Self { number: 0, prefix, source, aliases: Mutex::default() }
    }

    pub(in crate::server) fn offers(&self) -> Offers {
        match &self.source {
            MountSource::Local(server) => server.snapshot().offers(),
            MountSource::Remote(server) => server.offers(),
        }
    }

    /// The remote server that this one is shown as, if it is.
    fn transparent(&self) -> Option<&Arc<dyn RemoteServer>> {
        match &self.source {
            MountSource::Remote(server) => Some(server).filter(|server| server.is_transparent()),
            MountSource::Local(_) => None,
        }
    }

    /// Returns whether a failure to list its features is that of the whole list.
    pub(in crate::server) fn is_transparent(&self) -> bool {
        self.transparent().is_some()
    }

    /// The features, if the server is in this process.
    pub(in crate::server) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        match &self.source {
            MountSource::Local(server) => Some(server.snapshot()),
            MountSource::Remote(_) => None,
        }
    }

    /// Returns the name used by the mounted server, given the part after the prefix.
    fn own_name(&self, category: Category, rest: &str) -> String {
        if !names::is_alias(rest) {
            return rest.to_owned();
        }
        if let Some(own) = self.aliases.lock().get(&(category, rest.to_owned())) {
            return own.clone();
        }
        let shown = |own: &String| names::split(&names::public(&self.prefix, own)).is_some_and(|(_, it)| it == rest);
        let found = self.snapshot().and_then(|snapshot| snapshot.all_names(category).into_iter().find(shown));
        found.unwrap_or_else(|| rest.to_owned())
    }

    /// Records the full name of a feature that is listed under a shortened one.
    pub(in crate::server) fn remember(&self, category: Category, rest: String, own: String) {
        let mut aliases = self.aliases.lock();
        if aliases.len() >= MAX_ALIASES {
            aliases.clear();
        }
        aliases.insert((category, rest), own);
    }
}

impl Snapshot {
    /// The kinds of features of this server, including those mounted on it.
    pub(in crate::server) fn offers(&self) -> Offers {
        self.mounts.iter().fold(self.own, |all, mount| all.and(mount.offers()))
    }

    /// The description of the remote server that this one is shown as; `None` if there is none.
    pub(in crate::server) fn describe_remote(
        &self,
        details: bool,
    ) -> Option<BoxedTask<Result<RemoteDescription, RpcError>>> {
        self.mounts.iter().find_map(|mount| mount.transparent()).map(|server| server.describe(details))
    }

    /// The remote servers behind this one: the prefix of their names, and the state of the
    /// connection to each.
    pub(crate) fn remote_states(&self) -> Vec<(String, ConnectionState)> {
        let of_mount = |mount: &Arc<RegisteredMount>| match &mount.source {
            MountSource::Local(server) => {
                let inner = server.snapshot().remote_states().into_iter();
                inner.map(|(prefix, state)| (names::nested(&mount.prefix, &prefix), state)).collect()
            }
            MountSource::Remote(server) => vec![(mount.prefix.clone(), server.connection_state())],
        };
        self.mounts.iter().flat_map(of_mount).collect()
    }

    /// The kinds of features that this server has besides those of the server that it is shown as.
    pub(in crate::server) fn own_offers(&self) -> Offers {
        let others = self.mounts.iter().filter(|mount| !mount.is_transparent());
        others.fold(self.own, |all, mount| all.and(mount.offers()))
    }

    /// Returns the mount that a name belongs to, and the name used there.
    pub(in crate::server) fn mount_of_name(
        &self,
        category: Category,
        name: &str,
    ) -> Option<(&Arc<RegisteredMount>, String)> {
        let of_prefix = names::split(name).and_then(|(prefix, rest)| {
            let mount = self.mounts.iter().find(|mount| mount.prefix == prefix)?;
            Some((mount, mount.own_name(category, rest)))
        });
        of_prefix.or_else(|| Some((self.unprefixed()?, name.to_owned())))
    }

    /// Returns the mount that a URI or URI template belongs to, and the URI used there.
    pub(in crate::server) fn mount_of_uri(&self, uri: &str) -> Option<(&Arc<RegisteredMount>, String)> {
        let of_prefix = names::split_uri(uri).and_then(|(prefix, own)| {
            Some((self.mounts.iter().find(|mount| mount.prefix == prefix)?, own.into_owned()))
        });
        of_prefix.or_else(|| Some((self.unprefixed()?, uri.to_owned())))
    }

    /// Finds a tool, here or on a mounted server in this process.
    pub(in crate::server) fn tool(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        if let Some(tool) = self.tools.get(name) {
            return Some(Arc::clone(tool));
        }
        let (mount, own) = self.mount_of_name(Category::Tools, name)?;
        mount.snapshot()?.tool(&own)
    }

    /// Finds a prompt, here or on a mounted server in this process.
    pub(in crate::server) fn prompt(&self, name: &str) -> Option<Arc<RegisteredPrompt>> {
        if let Some(prompt) = self.prompts.get(name) {
            return Some(Arc::clone(prompt));
        }
        let (mount, own) = self.mount_of_name(Category::Prompts, name)?;
        mount.snapshot()?.prompt(&own)
    }

    /// Finds a resource by URI, or else the first matching template, here or on a mounted server in
    /// this process.
    pub(in crate::server) fn readable(&self, uri: &str) -> Option<Arc<ReadInfo>> {
        let registered = self.resources.get(uri).map(|resource| &resource.read);
        let by_template = || self.templates.iter().find(|template| template.matches(uri).is_some());
        if let Some(read) = registered.or_else(|| by_template().map(|template| &template.read)) {
            return Some(Arc::clone(read));
        }
        let (mount, own) = self.mount_of_uri(uri)?;
        mount.snapshot()?.readable(&own)
    }

    /// Subscribes to changes of a resource, if it belongs to a remote server.
    pub(in crate::server) fn watch(
        &self,
        uri: &str,
        client: Option<Arc<str>>,
    ) -> Option<BoxedTask<Result<(), RpcError>>> {
        self.remote_of(uri).map(|(server, own)| server.watch(vec![own], client))
    }

    /// Subscribes to changes of those resources that belong to remote servers, at each of them.
    pub(in crate::server) fn watch_all(
        &self,
        uris: &BTreeSet<String>,
        client: Option<&Arc<str>>,
    ) -> Vec<BoxedTask<Result<(), RpcError>>> {
        let mut servers: HashMap<usize, (Arc<dyn RemoteServer>, Vec<String>)> = HashMap::new();
        for (server, own) in uris.iter().filter_map(|uri| self.remote_of(uri)) {
            let address = Arc::as_ptr(&server).addr();
            servers.entry(address).or_insert_with(|| (server, Vec::new())).1.push(own);
        }
        servers.into_values().map(|(server, own)| server.watch(own, client.cloned())).collect()
    }

    /// Returns the remote server that a resource belongs to, and its URI there.
    fn remote_of(&self, uri: &str) -> Option<(Arc<dyn RemoteServer>, String)> {
        if self.mounts.is_empty() || self.resources.get(uri).is_some() {
            return None;
        }
        let (mount, own) = self.mount_of_uri(uri)?;
        match &mount.source {
            MountSource::Local(server) => server.snapshot().remote_of(&own),
            MountSource::Remote(server) => Some((Arc::clone(server), own)),
        }
    }

    /// Returns the mount without a prefix.
    fn unprefixed(&self) -> Option<&Arc<RegisteredMount>> {
        self.mounts.iter().find(|mount| mount.prefix.is_empty())
    }

    /// All names registered here and on servers mounted here.
    fn all_names(&self, category: Category) -> Vec<String> {
        let mut all = self.names(category);
        for mount in self.mounts.iter() {
            let own = mount.snapshot().map(|snapshot| snapshot.all_names(category)).unwrap_or_default();
            all.extend(own.iter().map(|own| names::public(&mount.prefix, own)));
        }
        all
    }

    /// Refuses a mount that would make names ambiguous.
    pub(super) fn check_mount(&self, prefix: &str) -> Result<(), RegisterError> {
        let wrong = |text: String| Err(RegisterError(text));
        if !prefix.is_empty() && !names::is_prefix(prefix) {
            return wrong(format!(
                "mount: the prefix {prefix:?} must be 1 to 32 letters, digits, - and _, without __ and without _ at its end"
            ));
        }
        if self.mounts.iter().any(|other| other.prefix == prefix) {
            return wrong(match prefix {
                "" => "mount: a server without a prefix is already mounted; give this one a prefix".to_owned(),
                prefix => format!("mount: a server is already mounted as {prefix:?}"),
            });
        }
        if prefix.is_empty() && !self.providers.is_empty() {
            return wrong(
                "mount: the server has providers, which can serve any name; give the mount a prefix".to_owned(),
            );
        }
        Ok(())
    }

    /// Refuses a provider if a mount without a prefix already serves all other names.
    pub(super) fn check_provider(&self) -> Result<(), RegisterError> {
        match self.unprefixed() {
            None => Ok(()),
            Some(_) => Err(RegisterError(
                "provider: a server is mounted without a prefix and takes all unregistered names; give that mount a prefix"
                    .to_owned(),
            )),
        }
    }
}

impl Offers {
    fn and(self, other: Self) -> Self {
        Self {
            lists: self.lists.with(other.lists),
            completions: self.completions || other.completions,
            skills: self.skills || other.skills,
            tasks: self.tasks || other.tasks,
        }
    }
}
