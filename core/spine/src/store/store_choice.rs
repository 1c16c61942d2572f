//! The store option of a server.

use super::{Store, StoreError, StoreGuard, StoreUrl, redacted};
use crate::{
    protocol::{describe::Type, options::JsonForm},
    runtime::Runtime,
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

/// A store, given by URL or as a custom implementation.
///
/// ```
/// use trunkline::{ServerOptions, store::StoreChoice};
///
/// let options = ServerOptions::default().with_store(StoreChoice::url("sqlite:state.db"));
/// ```
#[derive(Clone)]
pub struct StoreChoice(Chosen);

#[derive(Clone)]
enum Chosen {
    Url(String),
    Custom(Arc<dyn Store>),
}

impl StoreChoice {
    /// The store at a URL: `memory:`, `sqlite:PATH`, `redis://…` or `rediss://…`.
    pub fn url(url: impl Into<String>) -> Self {
        Self(Chosen::Url(url.into()))
    }

    /// A custom store.
    pub fn custom(store: Arc<dyn Store>) -> Self {
        Self(Chosen::Custom(store))
    }

    /// Checks the URL, and that the cargo feature of its store is enabled.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match &self.0 {
            Chosen::Url(url) => StoreUrl::read(url).map(drop),
            Chosen::Custom(_) => Ok(()),
        }
    }

    /// Opens the store with a deadline for each call.
    pub(crate) fn open(&self, runtime: &Arc<dyn Runtime>, deadline: Duration) -> Result<StoreGuard, StoreError> {
        let store = self.open_unguarded(runtime, deadline)?;
        Ok(StoreGuard::new(store, &self.redacted(), Arc::clone(runtime), deadline))
    }

    /// Opens the store without deadlines.
    #[doc(hidden)]
    pub fn open_unguarded(&self, runtime: &Arc<dyn Runtime>, deadline: Duration) -> Result<Arc<dyn Store>, StoreError> {
        match &self.0 {
            Chosen::Url(url) => runtime.open_store(url, deadline),
            Chosen::Custom(store) => Ok(Arc::clone(store)),
        }
    }

    fn redacted(&self) -> String {
        match &self.0 {
            Chosen::Url(url) => redacted(url),
            Chosen::Custom(_) => "of the program".to_owned(),
        }
    }
}

/// Two choices are equal if they name the same store.
impl PartialEq for StoreChoice {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Chosen::Url(one), Chosen::Url(other)) => one == other,
            (Chosen::Custom(one), Chosen::Custom(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Redacts the password.
impl fmt::Debug for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreChoice({})", self.redacted())
    }
}

/// The JSON form: the URL of a store.
pub struct ChosenStore;

impl JsonForm<Option<StoreChoice>> for ChosenStore {
    const TYPE: Type = Type::String;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StoreChoice>, D::Error> {
        let url = String::deserialize(deserializer)?;
        StoreUrl::read(&url).map_err(D::Error::custom)?;
        Ok(Some(StoreChoice::url(url)))
    }

    fn write(value: &Option<StoreChoice>) -> Value {
        value.as_ref().map(StoreChoice::redacted).into()
    }
}
