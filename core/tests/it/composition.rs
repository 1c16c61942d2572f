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
use tokio::time::timeout;
use trunkline::{
    Client, ClientEvents, ClientOptions, RevisionChoice, Server,
    client::ClientBuilder,
    protocol::{RawJson, Revision},
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
