//! Synchronization primitives. With the feature `loom`, they are those of the model checker, which
//! tries all interleavings (loom_tests.rs).

#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::atomic;
#[cfg(not(feature = "loom"))]
pub(crate) use trunkline::bridge_support::{Condvar, Mutex};

#[cfg(feature = "loom")]
pub(crate) use checked::{Condvar, Mutex};
#[cfg(feature = "loom")]
pub(crate) use loom::sync::atomic;

#[cfg(feature = "loom")]
mod checked {
    use loom::sync::MutexGuard;
    use std::{sync::PoisonError, time::Instant};

    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Self {
            Self(loom::sync::Condvar::new())
        }
    }

    impl Condvar {
        /// Time does not pass in a model, so waiting forever is an error. Only a deadline that is
        /// over ends a wait.
        pub(crate) fn wait_while_until<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            deadline: Instant,
            mut unchanged: impl FnMut(&mut T) -> bool,
        ) -> MutexGuard<'a, T> {
            while Instant::now() < deadline && unchanged(&mut guard) {
                guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            guard
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
