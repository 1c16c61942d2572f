//! What async code above the pure modules needs from its surroundings: tasks and time. `transport` provides it with tokio.

use crate::wire_log::WireLog;
use std::{future::Future, pin::Pin, time::Instant};

/// A boxed future.
pub type Task<T = ()> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs tasks and knows the time.
pub trait Runtime: Send + Sync + 'static {
    /// Runs a task in the background.
    fn spawn(&self, task: Task);
    /// The time now.
    fn now(&self) -> Instant;
    /// Waits until a time.
    fn sleep_until(&self, at: Instant) -> Task;
    /// Where messages are recorded, if anywhere.
    fn wire_log(&self) -> Option<&dyn WireLog>;
}
