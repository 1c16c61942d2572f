//! The bell: the one function of the host that the core calls.

use std::sync::Arc;

use trunkline_bridge as bridge;

/// Wakes the host's loop when its queue becomes non-empty.
#[uniffi::export(foreign)]
pub trait Bell: Send + Sync {
    /// Is called on a thread of the core. It must neither block nor call back into the port.
    fn ring(&self);
}

/// The bell of a host. If its function throws, uniffi panics, and the core contains that.
pub(crate) struct HostBell(pub(crate) Arc<dyn Bell>);

impl bridge::Bell for HostBell {
    fn ring(&self) {
        self.0.ring();
    }
}

/// The bell of a port whose host waits in `drain`.
pub(crate) struct Silent;

impl bridge::Bell for Silent {
    fn ring(&self) {}
}
