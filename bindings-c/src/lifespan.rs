//! The lifespan of a server: opened before its first call and closed after its last.

use std::sync::Weak;

use trunkline_bridge::ErrorKind;

use crate::edge::prelude::*;
use crate::port::Port;

/// Opens what the calls of a server need. Return `false` on failure; the function that was about to
/// serve then fails.
pub type trunkline_lifespan_open_callback = Option<unsafe extern "C" fn(user_data: *mut c_void) -> bool>;

/// Closes what was opened.
pub type trunkline_lifespan_close_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

pub(crate) struct LifespanCallbacks {
    pub(crate) open: trunkline_lifespan_open_callback,
    pub(crate) close: trunkline_lifespan_close_callback,
    pub(crate) data: UserData,
}

/// The lifespan of one of the host's servers.
#[derive(Default)]
pub(crate) struct HostLifespan {
    callbacks: Mutex<Option<Arc<LifespanCallbacks>>>,
    /// The lifespans of mounted servers, by the registrations of their mounts.
    mounted: Mutex<Vec<(u64, Weak<Self>)>>,
    open: Mutex<Weak<OpenLifespan>>,
}

/// A lifespan while it is open. The listeners and in-memory clients that use it share it; the last
/// one closes it.
#[derive(Default)]
pub(crate) struct OpenLifespan {
    callbacks: Mutex<Option<Arc<LifespanCallbacks>>>,
    mounted: Mutex<Vec<Arc<Self>>>,
}

impl OpenLifespan {
    /// Keeps the lifespan of a mounted server open as long as this one.
    fn hold(&self, mounted: Arc<Self>) {
        let mut held = self.mounted.lock();
        if !held.iter().any(|other| Arc::ptr_eq(other, &mounted)) {
            held.push(mounted);
        }
    }

    fn close(&self) {
        let callbacks = self.callbacks.lock().take();
        if let Some(LifespanCallbacks { close: Some(close), data, .. }) = callbacks.as_deref() {
            // SAFETY: the host's function with the host's data.
            unsafe { close(data.pointer()) }
        }
        let mounted = std::mem::take(&mut *self.mounted.lock());
        drop(mounted);
    }
}

impl Drop for OpenLifespan {
    fn drop(&mut self) {
        self.close();
    }
}

impl HostLifespan {
    pub(crate) fn set(&self, callbacks: LifespanCallbacks) -> Result<(), Failure> {
        if self.open.lock().strong_count() > 0 {
            return Err(Failure::invalid("the server is in use: set its lifespan before listening"));
        }
        let before = self.callbacks.lock().replace(Arc::new(callbacks));
        drop(before);
        Ok(())
    }

    /// Opens the lifespan of a server that `add` mounts together with this one.
    pub(crate) fn mount(
        &self,
        other: &Arc<Self>,
        port: &Arc<Port>,
        add: impl FnOnce() -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        // Its features may be called as soon as they are added.
        self.enter_mounted(other, port)?;
        let registration = add()?;
        self.mounted.lock().push((registration, Arc::downgrade(other)));
        // This one may have opened meanwhile.
        self.enter_mounted(other, port)
    }

    fn enter_mounted(&self, other: &Self, port: &Arc<Port>) -> Result<(), Failure> {
        let open = self.open.lock().upgrade();
        if let Some(open) = open {
            open.hold(other.enter(port)?);
        }
        Ok(())
    }

    /// The next time this one opens, that of the mounted server stays closed. If it is open, it
    /// stays open as long as this one, because calls may still use it.
    pub(crate) fn unmount(&self, registration: u64) {
        self.mounted.lock().retain(|(mount, _)| *mount != registration);
    }

    /// Opens it for one more user, as a callback of the port.
    pub(crate) fn enter(&self, port: &Arc<Port>) -> Result<Arc<OpenLifespan>, Failure> {
        let mut open = self.open.lock();
        let has_callbacks = self.callbacks.lock().is_some() || !self.mounted.lock().is_empty();
        if let Some(used) = open.upgrade().or_else(|| (!has_callbacks).then(Arc::default)) {
            *open = Arc::downgrade(&used);
            return Ok(used);
        }
        drop(open);
        let opened = port.run_as_callback(None, || self.open())?;
        opened.unwrap_or_else(|| Err(Failure::internal("the wait for a turn ended early")))
    }

    fn open(&self) -> Result<Arc<OpenLifespan>, Failure> {
        let open = self.open.lock().upgrade();
        if let Some(open) = open {
            return Ok(open);
        }
        let opened = Arc::new(OpenLifespan::default());
        self.open_mounted(&opened)?;
        let callbacks = self.callbacks.lock().clone();
        if let Some(LifespanCallbacks { open: Some(open), data, .. }) = callbacks.as_deref() {
            // SAFETY: the host's function with the host's data.
            if !unsafe { open(data.pointer()) } {
                let message = "the open callback of the server's lifespan returned false";
                return Err(Failure::of(ErrorKind::Transport, message));
            }
        }
        *opened.callbacks.lock() = callbacks;
        *self.open.lock() = Arc::downgrade(&opened);
        // What was mounted meanwhile found this one closed.
        self.open_mounted(&opened)?;
        Ok(opened)
    }

    fn open_mounted(&self, opened: &OpenLifespan) -> Result<(), Failure> {
        let mounted = self.mounted.lock().clone();
        for other in mounted.iter().filter_map(|(_, other)| other.upgrade()) {
            opened.hold(other.open()?);
        }
        Ok(())
    }

    /// Closes it permanently: its server was freed.
    pub(crate) fn end(&self) {
        let open = self.open.lock().upgrade();
        open.inspect(|open| open.close());
        let callbacks = self.callbacks.lock().take();
        drop(callbacks);
    }
}
