//! Values shared within a request.

use crate::sync::Mutex;
use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
};

/// Values of a request, one per type, shared by its middleware, extractors and handler
/// ([`Context::vars`](crate::Context::vars)).
///
/// ```
/// use trunkline::{Context, Server, server::{MiddlewareDefinition, Next}};
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// let find_tenant = MiddlewareDefinition::from_fn(|ctx: Context, next: Next| async move {
///     ctx.vars().insert(Tenant("acme".into()));
///     Ok(next.run().await?)
/// });
/// let server = Server::builder("tenants", "1.0.0")
///     .add_middleware(find_tenant)
///     .tool("tenant", "Name the tenant.", async |ctx: Context| {
///         ctx.vars().get::<Tenant>().map_or_else(String::new, |Tenant(name)| name)
///     })
///     .build();
/// ```
#[derive(Default)]
pub struct Vars(Mutex<BTreeMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl Vars {
    /// Sets the value of this type, and returns the previous one.
    pub fn insert<T: Any + Send + Sync>(&self, value: T) -> Option<T> {
        taken(self.0.lock().insert(TypeId::of::<T>(), Box::new(value)))
    }

    /// Returns a clone of the value of a type.
    pub fn get<T: Any + Send + Sync + Clone>(&self) -> Option<T> {
        self.0.lock().get(&TypeId::of::<T>())?.downcast_ref().cloned()
    }

    /// Removes and returns the value of a type.
    pub fn remove<T: Any + Send + Sync>(&self) -> Option<T> {
        taken(self.0.lock().remove(&TypeId::of::<T>()))
    }
}

fn taken<T: Any>(value: Option<Box<dyn Any + Send + Sync>>) -> Option<T> {
    value.and_then(|value| value.downcast().ok()).map(|value| *value)
}

impl fmt::Debug for Vars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vars").finish_non_exhaustive()
    }
}
