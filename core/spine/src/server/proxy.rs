//! Proxies of remote servers, which the crate above adds to a server.

use super::{FeatureHandle, RegisterError, Server, ServerBuilder};

/// A remote server as [`Server::proxy`] takes it: a `&Client`, a `&ClientGroup` or a
/// `ProxyDefinition`.
///
/// `P` is the last of them. The crate of proxies can implement the trait for clients because `P` is
/// a type of that crate.
pub trait IntoProxy<P: Proxy> {
    /// Converts it to a proxy with the default options.
    fn into_proxy(self) -> P;
}

/// A proxy that can be added to a server.
pub trait Proxy: Send + 'static {
    /// Adds the features of the remote server to a server, and watches their changes.
    ///
    /// # Errors
    /// As for [`Server::proxy`].
    fn add_to(self, server: &Server) -> Result<FeatureHandle<Server>, RegisterError>;
}

impl Server {
    /// Exposes the features of the server behind a client as features of this one. The two sides
    /// can use different revisions: the proxy exposes a legacy server under 2026-07-28, and a
    /// modern one to legacy clients. Without a prefix, which is possible for one server, names and
    /// URIs stay unchanged; see `ProxyDefinition`. Use the returned handle to remove the proxy.
    ///
    /// Progress, log messages and cancellations are forwarded in both directions, and results and
    /// errors are passed on unchanged. If the server requests input, the request goes to the client
    /// of the call that needs it. In the legacy era, a session belongs to a single client, so each
    /// caller gets its own connection, opened with the settings of this client; lists, completions
    /// and subscriptions use this client's connection. If the server cannot be reached, only calls
    /// to it fail, and its features are missing from lists in the meantime.
    ///
    /// ```no_run
    /// use trunkline::{ChildCommand, Client, Server};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let old = Client::connect(ChildCommand::new(["python", "old_server.py"])).await?;
    /// let gateway = Server::builder("gateway", "1.0.0").build();
    /// gateway.proxy(&old)?;
    /// gateway.listen("127.0.0.1:8000").await?.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// For a group, each of its servers is exposed under its name in the group, for as long as it
    /// belongs to the group.
    ///
    /// # Errors
    /// If the prefix is invalid or already in use, if the client or a server of the group is
    /// connected to this server itself, or if a server of the group is itself a group.
    pub fn proxy<P: Proxy>(&self, proxy: impl IntoProxy<P>) -> Result<FeatureHandle<Self>, RegisterError> {
        proxy.into_proxy().add_to(self)
    }
}

impl ServerBuilder {
    /// Exposes the features of the server behind a client, or of all servers of a group; see
    /// [`Server::proxy`].
    pub fn proxy<P: Proxy>(self, proxy: impl IntoProxy<P>) -> Self {
        let proxy = proxy.into_proxy();
        self.adding(move |server| proxy.add_to(server).map(drop))
    }
}
