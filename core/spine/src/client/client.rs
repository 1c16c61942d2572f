//! The client handle.

use super::{
    ClientError, ClientEvents, ClientHandlers, ClientId, ClientOptions, Connector, LinkFailure, ServerDescription,
    client_options::check_roots, inner::ClientInner,
};
use crate::{
    engine::RevisionChoice,
    protocol::{
        Era, RawJson, Revision, method,
        model::{Implementation, Root, ServerCapabilities},
    },
    race,
    runtime::Runtime,
};
use once_cell::race::OnceBox;
use serde_json::Value;
use std::{
    sync::{Arc, Weak, atomic::Ordering},
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
    /// The name and version of the server, if sent.
    pub fn server_info(&self) -> Option<Implementation> {
        self.server().info.as_ref()?.parse().ok()
    }

    /// The capabilities of the server; see [`Client::server`] if the revision was pinned.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.server().capabilities.parse().unwrap_or_default()
    }

    /// The server's instructions for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.server().instructions.as_deref()
    }

    /// The server's description from when the connection was opened. If 2026-07-28 is pinned, the
    /// description is requested in the background once the connection is open: until it arrives,
    /// only the revision is known. With the option `lazy`, nothing is known before the first
    /// request.
    pub fn server(&self) -> &ServerDescription {
        static UNKNOWN: OnceBox<ServerDescription> = OnceBox::new();
        self.inner
            .description()
            .unwrap_or_else(|| UNKNOWN.get_or_init(|| Box::new(ServerDescription::pinned(Revision::LATEST))))
    }

    /// Returns `false` once the client is closed, or has lost a server that it cannot reconnect to.
    pub fn is_connected(&self) -> bool {
        !self.inner.closed.load(Ordering::Acquire)
    }

    /// The process id of the server, if this client started it and it is running. It changes when
    /// the server is restarted.
    pub fn pid(&self) -> Option<u32> {
        self.inner.link().and_then(|link| link.process_id())
    }

    /// Why the connection ended, unless this side ended it.
    #[doc(hidden)]
    pub fn failure(&self) -> Option<ClientError> {
        let failure = self.inner.failure.lock().clone();
        failure.filter(|_| self.inner.closed.load(Ordering::Acquire)).map(ClientError::Link)
    }

    /// Returns whether requests to it reach that client: it is the same client, or a group that
    /// shares it.
    pub(super) fn leads_to(&self, client: ClientId) -> bool {
        self.inner.id == client || self.inner.connector.leads_to(client)
    }

    /// The number of this client in its process.
    #[doc(hidden)]
    pub fn id(&self) -> ClientId {
        self.inner.id
    }

    /// Returns whether no subscription of this client is open.
    #[doc(hidden)]
    pub fn has_no_subscriptions(&self) -> bool {
        self.inner.subscriptions.is_empty()
    }

    /// Returns an error if the client is closed or has lost its connection.
    #[doc(hidden)]
    pub fn check_open(&self) -> Result<(), ClientError> {
        self.inner.check_open()
    }

    /// `None` while connected; otherwise why the connection was lost, unless it is being
    /// reestablished.
    #[doc(hidden)]
    pub fn lost(&self) -> Option<Option<ClientError>> {
        let is_there = self.inner.ready.load(Ordering::Acquire);
        (!is_there).then(|| self.inner.failure.lock().clone().map(ClientError::Link))
    }

    /// The negotiated revision.
    pub fn revision(&self) -> Revision {
        self.server().revision
    }

    /// Closes the connection: gracefully until the deadline, then forcibly. Requests in flight fail
    /// as closed.
    ///
    /// If called repeatedly, all calls wait for the same end, and the earliest deadline wins.
    pub async fn close_within(&self, deadline: Duration) {
        self.inner.end(None);
        let lost = self.inner.lost_link.lock().take();
        if let Some(lost) = lost {
            race::within(&*self.inner.runtime, deadline, lost.kept()).await;
        }
        if let Some(link) = self.inner.link() {
            link.close(deadline).await;
            let ended = self.inner.link.lock().take();
            drop(ended);
        }
    }

    /// Calls [`Client::close_within`] with [`ClientOptions::close_timeout`].
    pub async fn close(&self) {
        self.close_within(self.inner.options.close_timeout).await;
    }
}

impl Client {
    /// Logs out of the server: forgets the access token and the refresh token that OAuth obtained
    /// for it, in the store of credentials as well, and the registration of the client if it
    /// registered itself. The tokens are then revoked if the authorization server supports that
    /// (RFC 7009); if it fails to, a warning is logged. The next request logs in again.
    ///
    /// The connection stays open. Credentials that the program supplies itself, such as a token,
    /// and the user's session in the browser remain. A group logs out of all its servers.
    ///
    /// # Errors
    /// If the store of credentials fails.
    pub async fn logout(&self) -> Result<(), ClientError> {
        let forgotten = self.inner.connector.logout(Arc::clone(&self.inner.runtime)).await;
        self.inner.cache.clear();
        forgotten.map_err(|error| ClientError::Link(LinkFailure::Broken(format!("Could not log out: {error}"))))
    }

    /// The access token for the server, renewed if it ends soon: one that a login obtained, or that
    /// the program supplies. `None` if there is none, also before the server has asked for one. It
    /// is a secret, and only for this server.
    ///
    /// # Errors
    /// If the store of credentials fails, or the token has ended and cannot be renewed.
    pub async fn access_token(&self) -> Result<Option<String>, ClientError> {
        let token = self.inner.connector.access_token(Arc::clone(&self.inner.runtime)).await;
        token.map_err(|error| {
            ClientError::Link(LinkFailure::Unauthorized { text: error.to_string(), demand: Box::default() })
        })
    }

    /// The options that the client was built with.
    pub fn options(&self) -> &ClientOptions {
        &self.inner.options
    }

    /// Opens another connection to the same server, in the same revision.
    ///
    /// # Errors
    /// See [`Client::open`].
    #[doc(hidden)]
    pub async fn connect_again(
        &self,
        options: ClientOptions,
        events: Arc<dyn ClientEvents>,
    ) -> Result<Self, ClientError> {
        let options = options.with_revision(RevisionChoice::Pinned(self.revision())).with_lazy(false);
        let (runtime, connector) = (Arc::clone(&self.inner.runtime), Arc::clone(&self.inner.connector));
        Self::open_as(self.inner.label.configured(), runtime, connector, options, events).await
    }

    /// The name of the server in the log: its name in a group, or else the one that it sent, or
    /// else its URL or command. On one line, without control characters, and not long.
    #[doc(hidden)]
    pub fn server_label(&self) -> Option<&str> {
        self.inner.label.get()
    }

    /// Returns whether both are the same connection.
    #[doc(hidden)]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    #[doc(hidden)]
    pub fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.inner.runtime
    }

    #[doc(hidden)]
    pub fn connector(&self) -> &Arc<dyn Connector> {
        &self.inner.connector
    }

    /// The current handlers.
    pub fn handlers(&self) -> ClientHandlers {
        self.inner.host.handlers()
    }

    /// Replaces the handlers. Servers of the modern era see the resulting capabilities with the
    /// next request.
    ///
    /// # Errors
    /// In the legacy era, if they need a capability that was not declared when the connection was
    /// opened.
    pub fn set_handlers(&self, handlers: ClientHandlers) -> Result<(), ClientError> {
        let has_roots = self.inner.host.roots.lock().is_some();
        self.declare(&handlers, has_roots)?;
        self.inner.host.set_handlers(handlers);
        Ok(())
    }

    /// Changes the roots. Servers of the legacy era are notified; others see the new roots when
    /// they ask.
    ///
    /// # Errors
    /// A URI that does not begin with `file://`, or that contains `..`; otherwise see
    /// [`Client::set_handlers`].
    #[deprecated(note = "in protocol revision 2026-07-28; use tool arguments, resource URIs or configuration instead")]
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), ClientError> {
        let roots: Vec<_> = roots.into_iter().collect();
        check_roots(&roots)?;
        self.declare(&self.handlers(), true)?;
        *self.inner.host.roots.lock() = Some(roots);
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
            let before = conversation.capabilities().clone();
            conversation.declare(RawJson::object(&needed));
            // They are among the parameters of each request (CCH-07).
            if *conversation.capabilities() != before {
                self.inner.cache.clear();
            }
        } else if let Some(missing) = missing(&needed, &self.inner.capabilities.parse().unwrap_or_default()) {
            let text = format!(
                "The capability {missing} was not declared when the connection was opened, and this server's revision does not allow adding it later: register the handler before connecting"
            );
            return Err(ClientError::Invalid(text));
        }
        Ok(())
    }
}

/// The path of a member of the first object that the second lacks.
fn missing(needed: &Value, declared: &Value) -> Option<String> {
    needed.as_object()?.iter().find_map(|(name, value)| match declared.get(name) {
        None => Some(name.clone()),
        Some(there) => missing(value, there).map(|rest| format!("{name}.{rest}")),
    })
}

/// The client, unless it was dropped.
pub(in crate::client) fn upgraded(client: &Weak<ClientInner>) -> Result<Client, ClientError> {
    client.upgrade().map(|inner| Client { inner }).ok_or(ClientError::Closed)
}
