//! Servers that show the features of others: of this process, and behind a client.

mod groups;
mod mounts;
mod proxies;
mod tasks;
mod tool_filters;
mod transparent;
mod upstream;

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};
use trunkline::{
    Client, ClientEvents, ClientOptions, RevisionChoice, Server,
    client::{ClientBuilder, Connector, Inbox, Link, LinkFailure, LinkMessage},
    protocol::{RawJson, RequestId, Revision},
    runtime::BoxedTask,
    transport::{Target, TokioRuntime},
};

use crate::process::DEADLINE;

/// The remote server of these tests, as a role of this binary.
pub(crate) const ROLE: &str = "remote server";

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { proxies::remote().serve_stdio().await.unwrap() });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

const LEGACY: Revision = Revision::LATEST_LEGACY;
const MODERN: Revision = Revision::LATEST;

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("it does not end")
}

/// Waits until something is true.
async fn until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

async fn connect(server: &Server, revision: Revision) -> Client {
    connect_as(server, Client::builder(), revision).await
}

async fn connect_as(server: &Server, builder: ClientBuilder, revision: Revision) -> Client {
    let options = builder.into_options().with_revision(RevisionChoice::Pinned(revision));
    soon(Client::connect_with(server, options, ())).await.unwrap()
}

/// Keeps the notifications of a server.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, String)>>>);

impl ClientEvents for Heard {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let params = params.map(|params| String::from_utf8_lossy(params.as_bytes()).into_owned());
        self.0.lock().unwrap().push((method.to_owned(), params.unwrap_or_default()));
    }
}

impl Heard {
    async fn connect(&self, server: &Server, revision: Revision) -> Client {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision)).with_listen(true);
        soon(Client::connect_with(server, options, self.clone())).await.unwrap()
    }

    fn has(&self, method: &str, part: &str) -> bool {
        self.0.lock().unwrap().iter().any(|(heard, params)| heard == method && params.contains(part))
    }
}

/// Connects to a server in this process. The connections can be cut, and otherwise do not end
/// before they may.
struct Fragile {
    server: Arc<dyn Connector>,
    open: Mutex<Vec<Arc<dyn Inbox>>>,
    may_end: Arc<Semaphore>,
}

impl Fragile {
    fn new(server: &Server) -> Arc<Self> {
        let server = Target::from(server).connector(&ClientOptions::default(), &TokioRuntime::current()).unwrap();
        Arc::new(Self { server, open: Mutex::default(), may_end: Arc::new(Semaphore::new(0)) })
    }

    fn target(self: &Arc<Self>) -> Target {
        Target::from(Arc::clone(self) as Arc<dyn Connector>)
    }

    fn cut(&self) {
        self.may_end.add_permits(1);
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        open.iter().for_each(|inbox| inbox.closed(LinkFailure::Closed));
    }
}

impl Connector for Fragile {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        self.open.lock().unwrap().push(Arc::clone(&inbox));
        let (connecting, may_end) = (self.server.connect(inbox), Arc::clone(&self.may_end));
        Box::pin(async move { Ok(Arc::new(FragileLink { link: connecting.await?, may_end }) as Arc<dyn Link>) })
    }

    fn is_pipe(&self) -> bool {
        true
    }

    fn reconnects(&self) -> bool {
        false
    }
}

struct FragileLink {
    link: Arc<dyn Link>,
    may_end: Arc<Semaphore>,
}

impl Link for FragileLink {
    fn send(&self, message: LinkMessage) {
        self.link.send(message);
    }

    fn abandon(&self, id: &RequestId) -> bool {
        self.link.abandon(id)
    }

    fn negotiated(&self, revision: Revision) {
        self.link.negotiated(revision);
    }

    fn close(&self, deadline: Duration) -> BoxedTask {
        let (may_end, closing) = (Arc::clone(&self.may_end), self.link.close(deadline));
        Box::pin(async move {
            let _permit = may_end.acquire().await.unwrap();
            closing.await;
        })
    }
}
