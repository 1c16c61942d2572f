//! The lifespan of a server: opened before its first call and closed after its last.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use trunkline::bridge_support::Mutex;

use crate::edge::failure::Failure;
use crate::edge::user_data::UserData;
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
    /// The lifespans of mounted servers.
    mounted: Mutex<Vec<Weak<Self>>>,
    state: Mutex<HostLifespanState>,
}

#[derive(Default)]
struct HostLifespanState {
    /// The number of open listeners and in-memory clients.
    users: usize,
    /// While it is open, its uses of the mounted servers' lifespans.
    open: Option<Vec<HostLifespanUse>>,
}

/// A listener or in-memory client that keeps a lifespan open.
pub(crate) struct HostLifespanUse(Arc<HostLifespan>);

impl Drop for HostLifespanUse {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.users = state.users.saturating_sub(1);
        if state.users == 0 {
            drop(state);
            self.0.close();
        }
    }
}

impl HostLifespan {
    pub(crate) fn set(&self, callbacks: LifespanCallbacks) -> Result<(), Failure> {
        if self.state.lock().open.is_some() {
            return Err(Failure::invalid("the server is in use: set its lifespan before listening"));
        }
        let before = self.callbacks.lock().replace(Arc::new(callbacks));
        drop(before);
        Ok(())
    }

    /// Opens the lifespan of a mounted server together with this one.
    pub(crate) fn mount(&self, other: &Arc<Self>, port: &Arc<Port>) -> Result<(), Failure> {
        self.mounted.lock().push(Arc::downgrade(other));
        if self.state.lock().open.is_none() {
            return Ok(());
        }
        let used = other.enter(port)?;
        if let Some(open) = &mut self.state.lock().open {
            open.push(used);
            return Ok(());
        }
        // It was closed meanwhile. No lock may be held, because this runs the host's `close` of the
        // other one.
        drop(used);
        Ok(())
    }

    /// Opens it for one more user, as a callback of the port.
    pub(crate) fn enter(self: &Arc<Self>, port: &Arc<Port>) -> Result<HostLifespanUse, Failure> {
        let has_callbacks = self.callbacks.lock().is_some() || !self.mounted.lock().is_empty();
        if let Some(used) = self.enter_open(!has_callbacks) {
            return Ok(used);
        }
        let opened = port.run_as_callback(None, || self.open())?;
        opened.unwrap_or_else(|| Err(Failure::internal("the wait for a turn ended early")))
    }

    /// Returns another use if it is already open, or if there is nothing to run.
    fn enter_open(self: &Arc<Self>, with_nothing: bool) -> Option<HostLifespanUse> {
        let mut state = self.state.lock();
        if with_nothing {
            state.open.get_or_insert_default();
        }
        state.open.is_some().then(|| {
            state.users += 1;
            HostLifespanUse(self.clone())
        })
    }

    fn open(self: &Arc<Self>) -> Result<HostLifespanUse, Failure> {
        if let Some(used) = self.enter_open(false) {
            return Ok(used);
        }
        let mounted = self.mounted.lock().clone();
        let mounted = mounted.iter().filter_map(Weak::upgrade).map(|mounted| mounted.open());
        let mounted = mounted.collect::<Result<Vec<_>, _>>()?;
        let callbacks = self.callbacks.lock().clone();
        if let Some(LifespanCallbacks { open: Some(open), data, .. }) = callbacks.as_deref() {
            // SAFETY: the host's function with the host's data.
            if !unsafe { open(data.pointer()) } {
                return Err(Failure::transport("the open callback of the server's lifespan returned false"));
            }
        }
        let mut state = self.state.lock();
        state.open = Some(mounted);
        state.users += 1;
        Ok(HostLifespanUse(self.clone()))
    }

    /// Closes it permanently: its server was freed.
    pub(crate) fn end(&self) {
        self.close();
        let callbacks = self.callbacks.lock().take();
        drop(callbacks);
    }

    /// Closes it if it is open.
    fn close(&self) {
        let Some(mounted) = self.state.lock().open.take() else { return };
        let callbacks = self.callbacks.lock().clone();
        if let Some(LifespanCallbacks { close: Some(close), data, .. }) = callbacks.as_deref() {
            // SAFETY: the host's function with the host's data.
            unsafe { close(data.pointer()) }
        }
        drop(mounted);
    }
}
