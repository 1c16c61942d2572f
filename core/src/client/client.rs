//! A connection to a server, as programs hold it.

use super::{
    error::ClientError,
    events::ClientEvents,
    handlers::ClientHandlers,
    host::as_raw,
    inner::ClientInner,
    link::{ClientId, Connector},
    options::ClientOptions,
    roots::check_roots,
    server_description::ServerDescription,
};
use crate::{
    engine::RevisionChoice,
    protocol::{
        Era, Revision, method,
        model::{Implementation, Root, ServerCapabilities},
    },
    runtime::Runtime,
};
use serde_json::Value;
use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    time::Duration,
};

/// A connection to a server. Cheap to clone; clones are the same connection.
///
/// ```no_run
/// # async fn run() -> Result<(), trunkline::ClientError> {
/// use serde_json::json;
/// use trunkline::{ChildCommand, Client};
///
/// let client = Client::connect(ChildCommand::new(["python", "weather.py"])).await?; // or a URL, or a `&Server`
/// println!("{:?} speaks {}", client.server_info(), client.revision());
/// for tool in client.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// let result = client.call_tool("forecast", json!({"city": "Oslo"})).await?;
/// println!("{}", result.joined_text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<ClientInner>,
}

impl Client {
    /// The name and version of the server, if it gave them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().info.as_ref()?.parse().ok()
    }

    /// The capabilities of the server; see [`Client::server`] for a revision that was pinned.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.server().capabilities.parse().unwrap_or_default()
    }

    /// Advice of the server how to use it, for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.server().instructions.as_deref()
    }

    /// The description that the server gave when the connection was opened. Where 2026-07-28 was
    /// pinned, the server is asked when the connection is open, and nothing waits for its answer:
    /// until then, or without one, only the revision is known.
    pub fn server(&self) -> &ServerDescription {
        static UNKNOWN: OnceLock<ServerDescription> = OnceLock::new();
        self.inner.description().unwrap_or_else(|| UNKNOWN.get_or_init(|| ServerDescription::pinned(Revision::LATEST)))
    }

    /// Returns `false` once the client was closed, or has lost a server that it cannot reach again.
    pub fn is_connected(&self) -> bool {
        !self.inner.closed.load(Ordering::Acquire)
    }

    /// The id of the process of the server, if this client has started it and it runs. A server
    /// that is started again has another one.
    pub fn pid(&self) -> Option<u32> {
        self.inner.link().and_then(|link| link.process_id())
    }

    /// Why the connection has ended, if it has, and not by this side.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<ClientError> {
        let failure = self.inner.failure.lock().clone();
        failure.filter(|_| self.inner.closed.load(Ordering::Acquire)).map(ClientError::Link)
    }

    /// Returns whether requests to it come to that client: it is the same, or a group that shares
    /// it.
    pub(super) fn leads_to(&self, client: ClientId) -> bool {
        self.inner.id == client || self.inner.connector.leads_to(client)
    }

    /// `None` while there is a connection; otherwise why it was lost, unless it is being made anew.
    pub(super) fn lost(&self) -> Option<Option<ClientError>> {
        let is_there = self.inner.ready.load(Ordering::Acquire);
        (!is_there).then(|| self.inner.failure.lock().clone().map(ClientError::Link))
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.server().revision
    }

    /// Ends the connection: politely until the deadline, then by force. Requests in flight end as
    /// closed.
    ///
    /// It can be asked for more than once: everyone waits for the same end, and the earliest
    /// deadline counts.
    pub async fn close_within(&self, deadline: Duration) {
        self.inner.end(None);
        if let Some(link) = self.inner.link() {
            link.close(deadline).await;
            let ended = self.inner.link.lock().take();
            drop(ended);
        }
    }

    /// [`Client::close_within`] the time of [`ClientOptions::close_timeout`].
    pub async fn close(&self) {
        self.close_within(self.inner.options.close_timeout).await;
    }
}

impl Client {
    /// The options that the client was built with.
    pub fn options(&self) -> &ClientOptions {
        &self.inner.options
    }

    /// Another connection to the same server, in the revision of this one.
    ///
    /// # Errors
    /// As for [`Client::open`].
    pub(crate) async fn connect_again(
        &self,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        let options = options.with_revision(RevisionChoice::Pinned(self.revision()));
        Self::open(Arc::clone(&self.inner.runtime), Arc::clone(&self.inner.connector), options, events).await
    }

    /// Returns whether both are the same connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Reports the notifications of the server to an observer too.
    pub(crate) fn add_observer(&self, observer: Arc<dyn ClientEvents>) {
        self.inner.host.observers.add(observer);
    }

    pub(crate) fn remove_observer(&self, observer: &Arc<dyn ClientEvents>) {
        self.inner.host.observers.remove(observer);
    }

    pub(crate) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.inner.runtime
    }

    pub(crate) fn connector(&self) -> &Arc<dyn Connector> {
        &self.inner.connector
    }

    /// The handlers as they are now.
    pub fn handlers(&self) -> ClientHandlers {
        self.inner.host.handlers()
    }

    /// Takes other handlers. Servers of the modern era see the capabilities that follow from them
    /// with the next request.
    ///
    /// # Errors
    /// In the legacy era, if they need a capability that was not declared when the connection was
    /// opened.
    pub fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        let has_roots = self.inner.host.roots().is_some();
        self.declare(&handlers, has_roots)?;
        self.inner.host.set_handlers(handlers);
        Ok(())
    }

    /// Changes the roots. Servers of the legacy era are notified; others see the new ones
    /// when they ask.
    ///
    /// # Errors
    /// A URI that does not begin with `file://`, or that climbs with `..`; otherwise as for
    /// [`Client::set_handlers`].
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), ClientError> {
        let roots: Vec<_> = roots.into_iter().collect();
        check_roots(&roots)?;
        self.declare(&self.handlers(), true)?;
        self.inner.host.set_roots(roots);
        if self.revision().era() == Era::Legacy {
            self.notify(method::ROOTS_LIST_CHANGED, None)?;
        }
        Ok(())
    }

    /// Declares the capabilities that the handlers and roots need, if that is still possible.
    fn declare(&self, handlers: &ClientHandlers, has_roots: bool) -> Result<(), ClientError> {
        let needed = self.inner.host.needed(handlers, has_roots);
        let mut conversation = self.inner.conversation.lock();
        if conversation.revision().is_some_and(|revision| revision.era() == Era::Modern) {
            conversation.declare(as_raw(&needed));
        } else if let Some(missing) = missing(&needed, &self.inner.capabilities.parse().unwrap_or_default()) {
            let text = format!(
                "The capability {missing} was not declared when the connection was opened, and this server's revision takes \
                 no others: register the handler before connecting"
            );
            return Err(ClientError::Invalid(text));
        }
        Ok(())
    }
}

/// A member of the first object that the second lacks, as a path.
fn missing(needed: &Value, declared: &Value) -> Option<String> {
    needed.as_object()?.iter().find_map(|(name, value)| match declared.get(name) {
        None => Some(name.clone()),
        Some(there) => missing(value, there).map(|rest| format!("{name}.{rest}")),
    })
}
