//! The servers of a group.

use super::{
    group_changes::GroupChanges,
    group_settings::{GroupSettings, PART_TIMEOUT},
    member::{GroupMember, MemberServer},
};
use indexmap::IndexMap;
use serde_json::{Value, value::RawValue};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use trunkline_core::{
    client::{ClientError, RequestOptions},
    extension::{
        Promise,
        composition::{
            names,
            rewriting::{self, ObjectMembers},
        },
        on_drop::OnDrop,
        race::until,
        sync::Mutex,
        whole_lists::{MAX_BYTES, MAX_ITEMS},
    },
    protocol::{
        RawJson, RequestId, RpcError,
        envelope::count_values,
        extension,
        method::{self, Method},
        model::LoggingLevel,
    },
    runtime::{BoxedTask, Runtime},
};
use trunkline_proto::engine::later;

/// Connections opened, or lists fetched, at a time.
const MAX_CONCURRENCY: usize = 16;
/// At most what a message adds to the list in it: bytes, and JSON values.
const ENVELOPE_BYTES: usize = 128;
const ENVELOPE_VALUES: usize = 16;

/// The servers of a group, by prefix.
pub(super) struct GroupMembers {
    /// `None` once the group is closed, so that no more servers are added.
    table: Mutex<Option<IndexMap<String, Arc<GroupMember>>>>,
    pub(super) changes: Arc<GroupChanges>,
    pub(super) settings: Arc<GroupSettings>,
}

impl GroupMembers {
    pub(super) fn new(runtime: Arc<dyn Runtime>, settings: GroupSettings) -> Arc<Self> {
        let table = Mutex::new(Some(IndexMap::new()));
        Arc::new(Self { table, changes: GroupChanges::new(runtime), settings: Arc::new(settings) })
    }

    pub(super) fn add(&self, name: String, server: MemberServer) -> Result<Arc<GroupMember>, ClientError> {
        let member = GroupMember::new(name, server, Arc::clone(&self.settings), Arc::clone(&self.changes));
        let mut table = self.table.lock();
        let table = table.as_mut().ok_or(ClientError::Closed)?;
        if table.contains_key(&member.prefix) {
            return Err(ClientError::Invalid(format!("The group already has a server named {:?}", member.name)));
        }
        table.insert(member.prefix.clone(), Arc::clone(&member));
        Ok(member)
    }

    /// The servers, in the order in which they were added.
    pub(super) fn all(&self) -> Vec<Arc<GroupMember>> {
        self.table.lock().iter().flat_map(IndexMap::values).cloned().collect()
    }

    /// The server with this name.
    pub(super) fn named(&self, name: &str) -> Result<Arc<GroupMember>, ClientError> {
        self.of_prefix(&names::prefix(name)).ok_or_else(|| self.unknown(&format!("no server named {name:?}")))
    }

    pub(super) fn take(&self, name: &str) -> Result<Arc<GroupMember>, ClientError> {
        let taken = self.table.lock().as_mut().and_then(|table| table.shift_remove(&names::prefix(name)));
        taken.ok_or_else(|| self.unknown(&format!("no server named {name:?}")))
    }

    /// Connects to all servers. Failed ones record their error.
    pub(super) async fn connect_all(self: &Arc<Self>) {
        self.each(self.all(), MAX_CONCURRENCY, |member| Box::pin(async move { drop(member.client().await) })).await;
    }

    /// Updates the handlers and roots of all connections.
    pub(super) fn update_all(&self) {
        for member in self.all() {
            if let Some(client) = member.connected() {
                member.update(&client);
            }
        }
    }

    /// Drops all connections without waiting.
    pub(super) fn give_up(&self) {
        for member in self.all() {
            // Dropping it closes it.
            drop(member.give_up());
        }
    }

    /// Closes all connections.
    pub(super) async fn close_all(self: &Arc<Self>, deadline: Duration) {
        let members: Vec<_> = self.table.lock().take().into_iter().flat_map(IndexMap::into_values).collect();
        *self.changes.inbox.lock() = None;
        let number = members.len();
        // Concurrently, because each has the same deadline.
        self.each(members, number, move |member| Box::pin(async move { member.remove(deadline).await })).await;
    }

    /// Sets the log level of all servers that support logging, including those added later.
    #[expect(deprecated, reason = "older revisions have it")]
    pub(super) async fn set_log_level(self: &Arc<Self>, level: LoggingLevel) {
        self.settings.change(|options| options.log_level = Some(level));
        let options = self.settings.part_options();
        self.each(self.all(), MAX_CONCURRENCY, move |member| {
            let options = options.clone();
            Box::pin(async move { member.set_log_level(level, &options).await })
        })
        .await;
    }

    /// The merged list of a method: a single page with the lists of all servers.
    pub(super) async fn list(self: &Arc<Self>, method: &str) -> Result<RawJson, ClientError> {
        let list = Method::list_member(method)
            .ok_or_else(|| ClientError::Invalid(format!("{method} does not return a list that can be merged")))?;
        let members = self.all();
        let pages: Arc<Mutex<Vec<_>>> = Arc::new(Mutex::new(vec![Vec::new(); members.len()]));
        let numbered: Vec<_> = members.iter().cloned().enumerate().collect();
        let (group, collected, of) = (Arc::clone(self), Arc::clone(&pages), method.to_owned());
        self.each(numbered, MAX_CONCURRENCY, move |(number, member)| {
            let (group, collected, method) = (Arc::clone(&group), Arc::clone(&collected), of.clone());
            Box::pin(async move {
                match group.part_of(&member, &method).await {
                    Ok(items) => collected.lock()[number] = items,
                    Err(error) => tracing::warn!(
                        target: "trunkline::client::group",
                        server = member.name, method, %error, "a server is missing from a list of its group"
                    ),
                }
            })
        })
        .await;
        let mut pages = std::mem::take(&mut *pages.lock());
        self.leave_out_longest(&members, method, &mut pages);
        let items: Vec<_> = pages.into_iter().flatten().collect();
        RawJson::from_value(&IndexMap::from([(list, items)])).map_err(ClientError::unreadable)
    }

    /// The list of one server, if it arrives in time. While the user logs in, no timeout of the
    /// request runs: the list arrives late, and those of the group change.
    async fn part_of(&self, member: &Arc<GroupMember>, method: &str) -> Result<Vec<ObjectMembers>, ClientError> {
        let (runtime, options) = (&self.changes.runtime, self.settings.part_options());
        let limit = options.timeout.unwrap_or(PART_TIMEOUT);
        let deadline = later(runtime.now(), limit);
        let listed = Arc::new(Promise::default());
        let (listing, member, method) = (Arc::clone(&listed), Arc::clone(member), method.to_owned());
        let changes = Arc::clone(&self.changes);
        // In a separate task, so that the login continues.
        runtime.spawn(Box::pin(async move {
            let list = list_of(&member, &method, &options).await;
            let is_late = changes.runtime.now() >= deadline;
            if is_late && list.is_ok() {
                changes.lists_changed();
            }
            listing.keep(list);
        }));
        let late = || Err(ClientError::Timeout(format!("the list did not arrive within {limit:?}")));
        until(&**runtime, deadline, listed.kept()).await.unwrap_or_else(late)
    }

    /// Empties the longest lists of servers if all together exceed the limits of one, so that a
    /// server with a huge list does not hide the others.
    fn leave_out_longest(&self, members: &[Arc<GroupMember>], method: &str, pages: &mut [Vec<ObjectMembers>]) {
        let (options, _) = self.settings.current();
        let bytes = options.max_message_bytes.min(MAX_BYTES).saturating_sub(ENVELOPE_BYTES);
        let limits = [MAX_ITEMS, bytes, options.max_values.saturating_sub(ENVELOPE_VALUES)];
        let mut sizes: Vec<_> = pages.iter().map(|page| size_of(page)).collect();
        let is_over = |sizes: &[[usize; 3]], at: usize| sizes.iter().map(|size| size[at]).sum::<usize>() > limits[at];
        while let Some(over) = (0..limits.len()).find(|at| is_over(&sizes, *at))
            && let Some(longest) = (0..sizes.len()).max_by_key(|number| sizes[*number][over])
        {
            let server = &members[longest].name;
            tracing::warn!(target: "trunkline::client::group", server, method, "a server is missing from a list of its group, which is too long");
            pages[longest].clear();
            sizes[longest] = [0; 3];
        }
    }

    /// The server of a tool or prompt that a request is about, and the server's own name for it.
    /// `list` is the method that lists them.
    pub(super) async fn owner_of_name(
        self: &Arc<Self>,
        id: &RequestId,
        public: &str,
        list: &str,
    ) -> Result<(Arc<GroupMember>, String), ClientError> {
        let found = names::split(public).and_then(|(prefix, rest)| Some((self.of_prefix(prefix)?, rest)));
        let (member, rest) = found.ok_or_else(|| self.unknown(&format!("nothing named {public:?}")))?;
        if !names::is_alias(rest) {
            return Ok((member, rest.to_owned()));
        }
        if member.own_name(list, rest).is_none() {
            // Shortened in an earlier run of the program. The list has the full name.
            let _in_flight = member.pauses.enter(id.clone());
            member.client().await?;
            list_of(&member, list, &self.settings.part_options()).await?;
        }
        let own = member.own_name(list, rest);
        let own = own.ok_or_else(|| {
            ClientError::Invalid(format!("The server {:?} has nothing named {public:?}", member.name))
        })?;
        Ok((member, own))
    }

    /// The server of a resource, and the server's own URI for it.
    pub(super) fn owner_of_uri(&self, public: &str) -> Result<(Arc<GroupMember>, String), ClientError> {
        let found = names::split_uri(public).and_then(|(prefix, uri)| Some((self.of_prefix(prefix)?, uri)));
        found.map(|(member, uri)| (member, uri.into_owned())).ok_or_else(|| {
            self.unknown(&format!("no resource {public:?}; URIs of a group begin with the prefix of the server and +"))
        })
    }

    /// The server of a task, and the server's own id for it.
    pub(super) fn owner_of_task(&self, public: &str) -> Result<(Arc<GroupMember>, String), ClientError> {
        let found = names::split(public).and_then(|(prefix, id)| Some((self.of_prefix(prefix)?, id)));
        found.map(|(member, id)| (member, id.to_owned())).ok_or_else(|| {
            let problem = "ids of a group begin with the name of the server and __";
            ClientError::UnknownTask(RpcError::invalid_params(format!("Unknown task {public:?}: {problem}")))
        })
    }

    /// The name of the server that has a tool.
    pub(super) fn server_of(&self, tool: &str) -> Option<String> {
        Some(self.of_prefix(names::split(tool)?.0)?.name.clone())
    }

    fn of_prefix(&self, prefix: &str) -> Option<Arc<GroupMember>> {
        self.table.lock().as_ref()?.get(prefix).cloned()
    }

    fn unknown(&self, problem: &str) -> ClientError {
        if self.table.lock().is_none() {
            return ClientError::Closed;
        }
        let display = |member: &Arc<GroupMember>| match &member.prefix {
            prefix if *prefix == member.name => prefix.clone(),
            prefix => format!("{} (its names begin with {prefix}__)", member.name),
        };
        let names: Vec<_> = self.all().iter().map(display).collect();
        let servers = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ClientError::Invalid(format!("The group has {problem}. Its servers: {servers}"))
    }

    /// Runs work for each item, with bounded concurrency, and waits for all.
    async fn each<T: Send + 'static>(
        &self,
        items: Vec<T>,
        at_once: usize,
        work: impl Fn(T) -> BoxedTask + Send + Sync + 'static,
    ) {
        let workers = items.len().min(at_once);
        let (queue, work) = (Arc::new(Mutex::new(VecDeque::from(items))), Arc::new(work));
        let ends: Vec<_> = (0..workers).map(|_| Arc::new(Promise::default())).collect();
        for end in &ends {
            let (queue, work, end) = (Arc::clone(&queue), Arc::clone(&work), Arc::clone(end));
            // Also if the work panics.
            let end = OnDrop::new(move || end.keep(()));
            self.changes.runtime.spawn(Box::pin(async move {
                loop {
                    let Some(item) = queue.lock().pop_front() else { break };
                    work(item).await;
                }
                drop(end);
            }));
        }
        for end in ends {
            end.kept().await;
        }
    }
}

/// The list of one server under the names of the group. A disconnected server has none.
async fn list_of(
    member: &GroupMember,
    method: &str,
    options: &RequestOptions,
) -> Result<Vec<ObjectMembers>, ClientError> {
    let Some(client) = member.connected() else { return Ok(Vec::new()) };
    let server = client.server();
    let declared: IndexMap<String, &RawValue> = server.capabilities.parse().unwrap_or_default();
    let is_declared = declared.contains_key(method.split('/').next().unwrap_or_default());
    // A server that has not declared its capabilities may have any list.
    let has_declared = !declared.is_empty() || server.info.is_some();
    if has_declared && !is_declared {
        return Ok(Vec::new());
    }
    let list = client.list_all(method, None, options).await?;
    let mut list: IndexMap<String, &RawValue> = list.parse().map_err(ClientError::unreadable)?;
    let items = Method::list_member(method).and_then(|member| list.shift_remove(member));
    let items: Vec<ObjectMembers> =
        serde_json::from_str(items.map_or("[]", RawValue::get)).map_err(ClientError::unreadable)?;
    let mut aliases = HashMap::new();
    // Read now: the description of a server with a pinned revision may have arrived with the list.
    let capabilities: Value = client.server().capabilities.parse().unwrap_or_default();
    let decides_tasks = method == method::TOOLS_LIST && extension::TASKS.is_in(&capabilities);
    let renamed = items.into_iter().map(|mut item| {
        if decides_tasks {
            rewriting::may_be_task(&mut item);
        }
        let renamed = rewriting::descriptor(method, &member.prefix, item);
        let (item, alias) = renamed.map_err(ClientError::InvalidResponse)?;
        aliases.extend(alias);
        Ok(item)
    });
    let renamed = renamed.collect();
    member.remember(method, aliases);
    renamed
}

/// The number of items of a list, of its bytes, and of its JSON values.
fn size_of(items: &[ObjectMembers]) -> [usize; 3] {
    let text = RawJson::from_value(&items);
    text.map_or([0; 3], |text| [items.len(), text.as_bytes().len(), count_values(text.as_bytes())])
}
