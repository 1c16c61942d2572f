//! Watches the remote server for changes of its lists, and of resources that clients of this server
//! are subscribed to.

use super::shares::has_share;
use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    future::poll_fn,
    sync::Arc,
    time::{Duration, Instant},
};
use trunkline_core::{
    client::{Client, Subscription},
    extension::{WeakServer, composition::names, counts::Counts, on_drop::OnDrop, race, sync::Mutex},
    protocol::{RpcError, model::ChangeKind},
    runtime::BoxedTask,
    server::{Category, Server},
};
use trunkline_proto::engine::later;

/// Maximum subscribed resources.
const MAX_RESOURCES: usize = 1_024;
/// How many resources of one stream are subscribed to at a time.
const MAX_CONCURRENT_SUBSCRIPTIONS: usize = 16;
/// Minimum time between two searches for resources that no client wants any more.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// The server that the remote one is mounted on, and its prefix there.
#[derive(Clone)]
pub(super) struct MountPoint {
    pub(super) server: WeakServer,
    pub(super) prefix: String,
}

/// The subscriptions at the remote server.
pub(super) struct Watching {
    pub(super) mount_point: MountPoint,
    lists: Mutex<Option<Arc<Subscription>>>,
    resources: Mutex<HashMap<String, WatchedResource>>,
    /// Resources whose subscriptions have ended, with the clients that they were charged to.
    lost: Mutex<HashMap<String, Option<Arc<str>>>>,
    shares: Arc<WatchShares>,
    /// When to search for unwanted resources again.
    next_search: Mutex<Option<Instant>>,
}

struct WatchedResource {
    subscription: Arc<Subscription>,
    /// The client that it is charged to.
    caller: Option<Arc<str>>,
    _share: WatchShare,
}

/// A resource that was watched at a server or connection which was replaced.
pub(super) struct WatchedBefore {
    pub(super) uri: String,
    pub(super) caller: Option<Arc<str>>,
}

/// The number of watched resources, in total and per client.
#[derive(Default)]
struct WatchShares(Mutex<Counts<Arc<str>>>);

/// Counts a resource while it is watched. It is charged to the first client that subscribes to it.
type WatchShare = OnDrop<Box<dyn FnOnce() + Send>>;

impl MountPoint {
    /// The URI of a resource in the outer server.
    fn uri(&self, own: &str) -> String {
        names::public_uri(&self.prefix, own)
    }
}

impl Watching {
    pub(super) fn new(mount_point: MountPoint) -> Arc<Self> {
        Arc::new(Self {
            mount_point,
            lists: Mutex::default(),
            resources: Mutex::default(),
            lost: Mutex::default(),
            shares: Arc::default(),
            next_search: Mutex::default(),
        })
    }

    /// Starts reporting list changes that the server announces.
    pub(super) fn begin(self: &Arc<Self>, client: &Client) {
        let filter = client.server().announced_lists();
        if filter.is_empty() {
            return;
        }
        let (watching, client) = (Arc::downgrade(self), client.clone());
        Arc::clone(client.runtime()).spawn(Box::pin(async move {
            let subscribed = client.subscribe_to(filter, true).await;
            let server = client.server_label().map(str::to_owned);
            drop(client);
            let Some(watching) = watching.upgrade() else { return };
            match subscribed {
                Ok(subscription) => {
                    let subscription = Arc::new(subscription);
                    *watching.lists.lock() = Some(Arc::clone(&subscription));
                    let mount_point = watching.mount_point.clone();
                    drop(watching);
                    report(server, subscription, mount_point).await;
                }
                Err(error) => {
                    tracing::warn!(target: "trunkline::server::proxy", server, %error, "a proxy cannot subscribe to list changes");
                }
            }
        }));
    }

    /// Reports changes of resources while any client is subscribed to them.
    ///
    /// # Errors
    /// If the server refuses one of them, or too many resources are watched, for all callers or for
    /// this one; in the latter case, the rest is not watched.
    pub(super) async fn watch(
        self: Arc<Self>,
        client: Client,
        uris: Vec<String>,
        caller: Option<Arc<str>>,
    ) -> Result<(), RpcError> {
        self.forget_unwanted(client.runtime().now());
        let mut outcome = Ok(());
        for some in uris.chunks(MAX_CONCURRENT_SUBSCRIPTIONS) {
            let (mut subscribing, mut limit): (Vec<BoxedTask<_>>, _) = (Vec::new(), Ok(()));
            for uri in some {
                if self.resources.lock().contains_key(uri) {
                    continue;
                }
                match self.share(&client, caller.as_ref()).await {
                    Ok(share) => {
                        let charged = (caller.clone(), share);
                        subscribing.push(Arc::clone(&self).subscribe(client.clone(), uri.clone(), charged));
                    }
                    Err(error) => {
                        limit = Err(error);
                        break;
                    }
                }
            }
            let Ok(subscribed) = race::all(subscribing).await;
            outcome = subscribed.into_iter().fold(outcome, Result::and);
            if limit.is_err() {
                return outcome.and(limit);
            }
        }
        outcome
    }

    /// Ends all subscriptions. Returns the resources that are still wanted, including those whose
    /// subscriptions have ended before.
    pub(super) fn end(&self) -> Vec<WatchedBefore> {
        let lists = self.lists.lock().take();
        lists.iter().for_each(|lists| lists.end());
        let watched = std::mem::take(&mut *self.resources.lock());
        watched.values().for_each(|watched| watched.subscription.end());
        let mut all = std::mem::take(&mut *self.lost.lock());
        all.extend(watched.into_iter().map(|(uri, watched)| (uri, watched.caller)));
        let Some(server) = self.mount_point.server.upgrade() else { return Vec::new() };
        let mut unwanted: HashSet<_> = all.keys().map(|uri| self.mount_point.uri(uri)).collect();
        server.retain_unwanted(&mut unwanted);
        let wanted = all.into_iter().filter(|(uri, _)| !unwanted.contains(&self.mount_point.uri(uri)));
        wanted.map(|(uri, caller)| WatchedBefore { uri, caller }).collect()
    }

    /// Watches resources that were watched at another server before, and reports each as changed.
    pub(super) async fn watch_again(self: &Arc<Self>, client: &Client, resources: Vec<WatchedBefore>) {
        for WatchedBefore { uri, caller } in resources {
            let watched = Arc::clone(self).watch(client.clone(), vec![uri.clone()], caller).await;
            if let Err(error) = watched {
                let server = client.server_label();
                tracing::warn!(target: "trunkline::server::proxy", server, uri, %error, "could not subscribe to a resource again");
            }
            if let Some(server) = self.mount_point.server.upgrade() {
                server.resource_updated(&self.mount_point.uri(&uri));
            }
        }
    }

    fn subscribe(
        self: Arc<Self>,
        client: Client,
        uri: String,
        (caller, share): (Option<Arc<str>>, WatchShare),
    ) -> BoxedTask<Result<Result<(), RpcError>, Infallible>> {
        Box::pin(async move {
            let subscription = match client.subscribe_to(uri.as_str().into(), true).await {
                Ok(subscription) => Arc::new(subscription),
                Err(error) => {
                    return Ok(Err(super::failures::rpc_error(client.server_label(), &error, false)));
                }
            };
            let watched = WatchedResource { subscription: Arc::clone(&subscription), caller, _share: share };
            let before = self.resources.lock().insert(uri.clone(), watched);
            self.lost.lock().remove(&uri);
            if let Some(before) = before {
                before.subscription.end();
            }
            let (watching, mount_point) = (Arc::downgrade(&self), self.mount_point.clone());
            let server = client.server_label().map(str::to_owned);
            client.runtime().spawn(Box::pin(async move {
                report(server, Arc::clone(&subscription), mount_point).await;
                if let Some(watching) = watching.upgrade() {
                    watching.ended(&uri, &subscription);
                }
            }));
            Ok(Ok(()))
        })
    }

    /// Called when a subscription has ended, so that the next client that wants the resource
    /// subscribes again, and so does the next connection for those that want it now.
    fn ended(&self, uri: &str, subscription: &Arc<Subscription>) {
        let mut resources = self.resources.lock();
        if resources.get(uri).is_some_and(|watched| Arc::ptr_eq(&watched.subscription, subscription))
            && let Some(watched) = resources.remove(uri)
        {
            let mut lost = self.lost.lock();
            if lost.len() < MAX_RESOURCES {
                lost.insert(uri.to_owned(), watched.caller);
            }
        }
    }

    /// Counts one more resource for a caller. At a limit, subscriptions that nobody wants any more
    /// end first.
    async fn share(&self, client: &Client, caller: Option<&Arc<str>>) -> Result<WatchShare, RpcError> {
        if let Ok(share) = self.shares.take(caller.cloned()) {
            return Ok(share);
        }
        let runtime = client.runtime();
        let at = self.next_search.lock().unwrap_or_else(|| runtime.now());
        runtime.sleep_until(at).await;
        self.forget_unwanted(at.max(runtime.now()));
        self.shares.take(caller.cloned())
    }

    /// Ends the subscriptions to resources that no client of this server is subscribed to. Asks all
    /// clients, so does nothing if it has done so recently.
    fn forget_unwanted(&self, now: Instant) {
        let mut next = self.next_search.lock();
        if next.is_some_and(|at| now < at) {
            return;
        }
        *next = Some(later(now, SEARCH_INTERVAL));
        let Some(server) = self.mount_point.server.upgrade() else { return };
        // Locked meanwhile, so that a resource that becomes wanted is either kept or watched again.
        let (mut resources, mut lost) = (self.resources.lock(), self.lost.lock());
        let mut unwanted: HashSet<_> =
            resources.keys().chain(lost.keys()).map(|uri| self.mount_point.uri(uri)).collect();
        server.retain_unwanted(&mut unwanted);
        let is_unwanted = |uri: &String| unwanted.contains(&self.mount_point.uri(uri));
        lost.retain(|uri, _| !is_unwanted(uri));
        let ended: Vec<_> = resources.extract_if(|uri, _| is_unwanted(uri)).collect();
        drop((resources, lost));
        ended.iter().for_each(|(_, watched)| watched.subscription.end());
    }
}

/// Ending the subscriptions also ends the tasks that report their changes.
impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(lists) = &*self.lists.lock() {
            lists.end();
        }
        for watched in self.resources.lock().values() {
            watched.subscription.end();
        }
    }
}

impl WatchShares {
    /// Counts one more resource of a client. `None` has no per-client limit.
    fn take(self: &Arc<Self>, client: Option<Arc<str>>) -> Result<WatchShare, RpcError> {
        let mut counts = self.0.lock();
        if counts.all >= MAX_RESOURCES {
            return Err(RpcError::busy(&format!("{MAX_RESOURCES} resources of a proxy are already subscribed to")));
        }
        let own = counts.of(client.as_ref());
        if !has_share(own, counts.all, MAX_RESOURCES) {
            return Err(RpcError::busy(&format!(
                "this client subscribes to {own} of the {MAX_RESOURCES} resources of a proxy, and the rest is reserved for others"
            )));
        }
        counts.add(client.as_ref(), 1);
        let shares = Arc::clone(self);
        Ok(OnDrop::new(Box::new(move || shares.0.lock().give_back(client.as_ref(), 1))))
    }
}

/// Reports the changes of a subscription to the clients of the outer server, until it ends. `name`
/// is that of the inner server in the log.
async fn report(name: Option<String>, subscription: Arc<Subscription>, mount_point: MountPoint) {
    while let Some(change) = poll_fn(|context| subscription.poll_change(context)).await {
        let Some(server) = mount_point.server.upgrade() else { return };
        match change {
            Ok(change) => match (change.kind, change.uri) {
                (ChangeKind::Tools, _) => server.list_changed(Category::Tools),
                (ChangeKind::Prompts, _) => server.list_changed(Category::Prompts),
                (ChangeKind::ResourceList, _) => server.list_changed(Category::Resources),
                (ChangeKind::Resource, Some(uri)) => server.resource_updated(&mount_point.uri(&uri)),
                (ChangeKind::Missed, _) => missed(&server, &subscription, &mount_point),
                _ => {}
            },
            Err(error) => {
                tracing::warn!(target: "trunkline::server::proxy", server = name, %error, "a proxy no longer receives changes");
            }
        }
    }
}

/// Changes may have been missed, so reports everything in the subscription as changed.
fn missed(server: &Server, subscription: &Subscription, mount_point: &MountPoint) {
    let filter = subscription.filter();
    let lists = [
        (filter.tools, Category::Tools),
        (filter.prompts, Category::Prompts),
        (filter.resource_list, Category::Resources),
    ];
    lists.into_iter().filter(|(wanted, _)| *wanted).for_each(|(_, category)| server.list_changed(category));
    filter.resources().iter().for_each(|uri| server.resource_updated(&mount_point.uri(uri)));
}
