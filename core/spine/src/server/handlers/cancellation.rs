//! A cancellation flag that supports polling, awaiting and callbacks.

use crate::{runtime::wait, sync::Mutex};
use std::{
    collections::BTreeMap,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    task::Waker,
};

/// A one-way cancellation flag. Clones share the flag.
#[derive(Default)]
pub(crate) struct Cancellation {
    /// Created on demand, because most calls end before anything waits for the flag.
    state: OnceLock<Arc<Mutex<CancellationState>>>,
}

type Hook = Box<dyn FnOnce(&str) + Send>;

/// A registered hook.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookId(u64);

#[derive(Default)]
struct CancellationState {
    reason: Option<String>,
    hooks: BTreeMap<u64, Hook>,
    next_hook: u64,
    wakers: Vec<Waker>,
}

impl Clone for Cancellation {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(self.state()).into() }
    }
}

impl Cancellation {
    fn state(&self) -> &Arc<Mutex<CancellationState>> {
        self.state.get_or_init(Arc::default)
    }

    /// Sets the flag; only the first reason counts. Hooks and wakers run outside the lock. If a
    /// hook of the program panics, the caller can still cancel other calls.
    pub(crate) fn cancel(&self, reason: &str) {
        let (hooks, wakers) = {
            let mut state = self.state().lock();
            if state.reason.is_some() {
                return;
            }
            state.reason = Some(reason.to_owned());
            (std::mem::take(&mut state.hooks), std::mem::take(&mut state.wakers))
        };
        for hook in hooks.into_values() {
            if catch_unwind(AssertUnwindSafe(|| hook(reason))).is_err() {
                tracing::error!(target: "trunkline::server::request", "a hook of a cancelled call panicked");
            }
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns whether the flag is set.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.get().is_some_and(|state| state.lock().reason.is_some())
    }

    /// Calls `hook` with the reason when the flag is set, or immediately if it already is.
    /// Otherwise returns an id for [`Self::forget`].
    pub(crate) fn on_cancel(&self, hook: Hook) -> Option<HookId> {
        let reason = {
            let mut state = self.state().lock();
            match &state.reason {
                Some(reason) => reason.clone(),
                None => {
                    let id = state.next_hook;
                    state.next_hook += 1;
                    state.hooks.insert(id, hook);
                    return Some(HookId(id));
                }
            }
        };
        hook(&reason);
        None
    }

    /// Removes a hook.
    pub(crate) fn forget(&self, hook: Option<HookId>) {
        // The hook is dropped without holding the lock.
        let _hook = hook.and_then(|hook| self.state().lock().hooks.remove(&hook.0));
    }

    /// Completes when the flag is set.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + use<> {
        let state = Arc::clone(self.state());
        async move { wait(&state, |state| &mut state.wakers, |state| state.reason.is_some().then_some(())).await }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_hook_that_panics_does_not_keep_the_others_from_running() {
        let (cancellation, ran) = (Cancellation::default(), Arc::<AtomicBool>::default());
        cancellation.on_cancel(Box::new(|_| panic!("a hook of the program")));
        let runs = Arc::clone(&ran);
        cancellation.on_cancel(Box::new(move |_| runs.store(true, Ordering::Relaxed)));
        cancellation.cancel("over");
        assert!(ran.load(Ordering::Relaxed));
    }
}
