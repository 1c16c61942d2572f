//! Boxed futures, as returned by traits.

use std::{future::Future, pin::Pin};

/// A boxed future.
pub type BoxedTask<T = ()> = Pin<Box<dyn Future<Output = T> + Send>>;
