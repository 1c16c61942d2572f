//! The bell: the one function of the host that the core calls.

/// Wakes the host's loop when its queue becomes non-empty.
#[uniffi::export(foreign)]
pub trait Bell: Send + Sync {
    /// Is called on a thread of the core. It must neither block nor call back into the port.
    fn ring(&self);
}
