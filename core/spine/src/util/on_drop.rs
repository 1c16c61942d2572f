//! Work that must be done however a scope ends, even if its future is dropped or panics.

/// Calls a function when dropped.
pub struct OnDrop<F: FnOnce()>(Option<F>);

/// One that can be a field.
pub type BoxedOnDrop = OnDrop<Box<dyn FnOnce() + Send + Sync>>;

impl<F: FnOnce()> OnDrop<F> {
    /// Calls `function` when the returned guard is dropped.
    pub fn new(function: F) -> Self {
        Self(Some(function))
    }

    /// Drops the function without calling it.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(function) = self.0.take() {
            function();
        }
    }
}
