//! One list of a server, in registration order, with lookup by key and paging.

use super::{
    access_options::AccessOptions,
    register_error::{OnDuplicate, RegisterError},
};
use crate::fast_map::FastIndexMap;
use crate::protocol::{RawJson, Revision, RevisionFeature};
use bytes::Bytes;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// An item of a list.
pub(crate) trait Listed {
    /// The noun with its article, for error messages.
    const NOUN: &'static str;

    /// The name or URI, unique within the list.
    fn key(&self) -> &str;
    /// The descriptor sent in lists.
    fn descriptor(&self) -> &Descriptor;
    /// Access to the feature.
    fn access(&self) -> &AccessOptions;
}

/// Implements [`Listed`] for a type with a `descriptor`.
macro_rules! listed {
    ($type:ty, $noun:literal, $($key:ident).+, $($access:ident).+) => {
        impl $crate::server::registry::list::Listed for $type {
            const NOUN: &'static str = $noun;

            fn key(&self) -> &str {
                &self.$($key).+
            }

            fn descriptor(&self) -> &$crate::server::registry::list::Descriptor {
                &self.descriptor
            }

            fn access(&self) -> &$crate::server::registry::access_options::AccessOptions {
                &self.$($access).+
            }
        }
    };
}
pub(super) use listed;

/// A descriptor as registered, and its JSON per revision, created when it is first listed.
pub(crate) struct Descriptor {
    value: Value,
    project: fn(&mut Value, Revision),
    rendered: [OnceLock<RawJson>; Revision::ALL.len()],
}

impl Descriptor {
    pub(in crate::server) fn new(value: Value, project: fn(&mut Value, Revision)) -> Self {
        Self { value, project, rendered: Default::default() }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    fn rendered(&self, revision: Revision) -> &RawJson {
        self.rendered[revision as usize].get_or_init(|| {
            let mut value = self.value.clone();
            (self.project)(&mut value, revision);
            RawJson::object(&value)
        })
    }
}

/// A list. Its order is stable (TOOL-04).
pub(crate) struct List<T> {
    items: FastIndexMap<Arc<str>, Numbered<T>>,
    /// The number of the last registration.
    last: u64,
    /// The first page per revision, cached because nearly every list request asks for it.
    first_page: [OnceLock<ListedPage>; Revision::ALL.len()],
    /// `true` if callers may see different parts of the list.
    is_personal: OnceLock<bool>,
}

/// An item and its number. Each list counts separately, so that a cursor means the same on every
/// instance of a server (PAG-05).
struct Numbered<T> {
    number: u64,
    /// The registration id, unique within the server.
    id: u64,
    item: Arc<T>,
    /// If `false`, the item keeps its position and its name but is hidden.
    is_enabled: bool,
}

impl<T> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        Self { item: Arc::clone(&self.item), ..*self }
    }
}

/// An item that may be listed, depending on the caller.
#[derive(Clone)]
pub(crate) struct ListCandidate {
    pub(in crate::server) number: u64,
    pub(in crate::server) key: String,
    pub(in crate::server) access: AccessOptions,
    /// The descriptor as JSON for the revision.
    pub(in crate::server) text: RawJson,
}

/// The items of one page, separated by commas, and where the next page starts.
#[derive(Clone, Default)]
pub(crate) struct ListedPage {
    pub(crate) items: Bytes,
    /// The number of items.
    pub(crate) number: usize,
    pub(crate) next: Option<u64>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: FastIndexMap::default(), last: 0, first_page: Default::default(), is_personal: OnceLock::new() }
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), last: self.last, ..Self::default() }
    }
}

impl<T: Listed> List<T> {
    /// Adds an item, or replaces the item of the same key, which is returned.
    pub(in crate::server) fn add(
        &mut self,
        id: u64,
        item: Arc<T>,
        on_duplicate: OnDuplicate,
    ) -> Result<Option<Arc<T>>, RegisterError> {
        let known = self.items.get(item.key()).map(|known| known.number);
        if known.is_some() && on_duplicate == OnDuplicate::Error {
            return Err(taken(&*item));
        }
        self.forget_pages();
        self.last += u64::from(known.is_none());
        let added = Numbered { number: known.unwrap_or(self.last), id, item, is_enabled: true };
        let replaced = self.items.insert(added.item.key().into(), added);
        Ok(replaced.map(|replaced| replaced.item))
    }

    /// Replaces the item of a registration, possibly under another key, and returns the old one.
    pub(in crate::server) fn change(&mut self, id: u64, item: Arc<T>) -> Result<Arc<T>, RegisterError> {
        let position = self.position(id).ok_or_else(RegisterError::removed)?;
        self.items.replace_index(position, item.key().into()).map_err(|_| taken(&*item))?;
        self.forget_pages();
        Ok(std::mem::replace(&mut self.items[position].item, item))
    }

    /// Enables or disables the item of a registration. Returns whether that has changed anything,
    /// or `None` if the item does not exist.
    pub(in crate::server) fn enable(&mut self, id: u64, is_enabled: bool) -> Option<bool> {
        let position = self.position(id)?;
        let is_change = self.items[position].is_enabled != is_enabled;
        if is_change {
            self.forget_pages();
            self.items[position].is_enabled = is_enabled;
        }
        Some(is_change)
    }

    /// Removes and returns the item of a registration. Returns `None` if it does not exist.
    pub(in crate::server) fn remove(&mut self, id: u64) -> Option<Arc<T>> {
        let position = self.position(id)?;
        self.forget_pages();
        self.items.shift_remove_index(position).map(|(_, removed)| removed.item)
    }

    fn forget_pages(&mut self) {
        self.first_page = Default::default();
        self.is_personal = OnceLock::new();
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.items.values().position(|numbered| numbered.id == id)
    }

    /// Returns the item of a registration, enabled or not.
    pub(in crate::server) fn registered(&self, id: u64) -> Option<&Arc<T>> {
        self.position(id).map(|position| &self.items[position].item)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.values().filter(|numbered| numbered.is_enabled).map(|numbered| &numbered.item)
    }

    /// Returns the registration id of the item with that key, enabled or not.
    pub(in crate::server) fn id(&self, key: &str) -> Option<u64> {
        self.items.get(key).map(|numbered| numbered.id)
    }

    /// Returns the item with that key, enabled or not.
    pub(super) fn known(&self, key: &str) -> Option<&Arc<T>> {
        self.items.get(key).map(|numbered| &numbered.item)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.items.get(key).filter(|numbered| numbered.is_enabled).map(|numbered| &numbered.item)
    }

    /// Returns the page after item number `after`; 0 for the first page.
    pub(crate) fn page(&self, after: u64, size: usize, revision: Revision) -> ListedPage {
        match after {
            0 => self.first_page[revision as usize].get_or_init(|| self.write_page(0, size, revision)).clone(),
            after => self.write_page(after, size, revision),
        }
    }

    /// Returns whether callers may see different parts of the list.
    pub(crate) fn is_personal(&self) -> bool {
        *self.is_personal.get_or_init(|| self.iter().any(|item| item.access().is_personal()))
    }

    /// Returns the items after item number `after`, for a list of which callers see different
    /// parts.
    pub(crate) fn candidates(&self, after: u64, revision: Revision) -> Vec<ListCandidate> {
        let candidate = |Numbered { number, item, .. }: &Numbered<T>| ListCandidate {
            number: *number,
            key: item.key().to_owned(),
            access: item.access().clone(),
            text: item.descriptor().rendered(revision).clone(),
        };
        self.after(after).map(candidate).collect()
    }

    /// The enabled items after item number `after`.
    fn after(&self, after: u64) -> impl Iterator<Item = &Numbered<T>> {
        let start = self.items.partition_point(|_, numbered| numbered.number <= after);
        self.items[start..].values().filter(|numbered| numbered.is_enabled)
    }

    fn write_page(&self, after: u64, size: usize, revision: Revision) -> ListedPage {
        let mut rest = self.after(after);
        let page: Vec<_> = rest.by_ref().take(size.max(1)).collect();
        let texts: Vec<_> =
            page.iter().map(|numbered| numbered.item.descriptor().rendered(revision).as_bytes()).collect();
        let next = page.last().filter(|_| rest.next().is_some()).map(|last| last.number);
        ListedPage { items: texts.join(&b","[..]).into(), number: page.len(), next }
    }
}

fn taken<T: Listed>(item: &T) -> RegisterError {
    RegisterError(format!("{} named {:?} is already registered", T::NOUN, item.key()))
}

/// Returns a list result without its closing brace.
pub(crate) fn list_members(member: &str, items: &[u8], next: Option<&str>, hints: &str, revision: Revision) -> Vec<u8> {
    let mut members = Vec::with_capacity(items.len() + 256);
    members.extend_from_slice(format!(r#"{{"{member}":["#).as_bytes());
    members.extend_from_slice(items);
    members.push(b']');
    if let Some(next) = next {
        members.extend_from_slice(br#","nextCursor":"#);
        members.extend_from_slice(Value::from(next).to_string().as_bytes());
    }
    if revision.supports(RevisionFeature::CacheHints) {
        members.push(b',');
        members.extend_from_slice(hints.as_bytes());
    }
    members
}
