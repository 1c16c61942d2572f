//! A listener of a server: its address, and its end.

use std::sync::Arc;

use serde_json::Value;
use trunkline_bridge::BridgeError;

use crate::edge::failure::Failure;
use crate::edge::text::Text;
use crate::lifespan::HostLifespan;
use crate::open_handle::{self, OpenHandle};
use crate::port::Port;
use crate::server_requests::ServerRequestHandlers;

/// An open listener of a server. `trunkline_listener_free` closes and frees it.
pub struct trunkline_listener {
    pub(crate) inner: Arc<Listener>,
}

pub(crate) struct Listener {
    pub(crate) port: Arc<Port>,
    pub(crate) handle: u64,
    pub(crate) url: Text,
    pub(crate) open: Arc<OpenHandle>,
}

impl Listener {
    /// Opens a listener, and waits until it is listening.
    pub(crate) fn open(
        port: &Arc<Port>,
        lifespan: &Arc<HostLifespan>,
        begin: impl FnOnce(&trunkline_bridge::Port) -> Result<u64, BridgeError>,
    ) -> Result<Arc<Self>, Failure> {
        port.check_may_wait()?;
        let open = OpenHandle::new(None, ServerRequestHandlers::default());
        open.hold(lifespan.enter(port)?);
        Self::begin(port, open.clone(), begin).inspect_err(|_| {
            let _ = port.run_as_callback(None, || open.let_go());
        })
    }

    fn begin(
        port: &Arc<Port>,
        open: Arc<OpenHandle>,
        begin: impl FnOnce(&trunkline_bridge::Port) -> Result<u64, BridgeError>,
    ) -> Result<Arc<Self>, Failure> {
        let handle = port.make(open.clone(), begin, |_| ())?;
        let info = port.wait_for(handle, None).inspect_err(|_| port.detach(handle))?;
        let info: Value = serde_json::from_slice(&info).unwrap_or_default();
        let url = Text::copy(info["url"].as_str().unwrap_or_default().as_bytes());
        Ok(Arc::new(Self { port: port.clone(), handle, url, open }))
    }

    pub(crate) fn close_now(&self) {
        open_handle::close_now(&self.port, self.handle, &self.open);
    }
}
