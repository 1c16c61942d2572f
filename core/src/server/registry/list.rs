//! One list of a server, in registration order, with lookup by key and paging.

use super::{access_options::AccessOptions, duplicate::OnDuplicate, register_error::RegisterError};
use crate::fast_map::FastMap;
use crate::protocol::{RawJson, Revision, RevisionFeature};
use bytes::Bytes;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// An item of a list.
pub(crate) trait Listed {
    /// The member of the result that holds the list, such as `tools`.
    const MEMBER: &'static str;
    /// The noun with its article, for error messages.
    const NOUN: &'static str;

    /// The name or URI, unique within the list.
    fn key(&self) -> &str;
    /// The descriptor sent in lists.
    fn descriptor(&self) -> &Descriptor;
    /// Who can see and call it.
    fn access(&self) -> &AccessOptions;
}

/// Implements [`Listed`] for a type with a `descriptor`.
macro_rules! listed {
    ($type:ty, $member:literal, $noun:literal, $key:ident, $($access:ident).+) => {
        impl $crate::server::registry::list::Listed for $type {
            const MEMBER: &'static str = $member;
            const NOUN: &'static str = $noun;

            fn key(&self) -> &str {
                &self.$key
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
    items: Vec<Numbered<T>>,
    by_key: FastMap<Arc<str>, usize>,
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
#[derive(Clone)]
pub(crate) struct ListedPage {
    pub(crate) items: Bytes,
    /// The number of items.
    pub(crate) number: usize,
    pub(crate) next: Option<u64>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            by_key: FastMap::default(),
            last: 0,
            first_page: Default::default(),
            is_personal: OnceLock::new(),
        }
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        let (items, by_key) = (self.items.clone(), self.by_key.clone());
        Self { items, by_key, last: self.last, ..Self::default() }
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
        match self.by_key.get(item.key()) {
            Some(_) if on_duplicate == OnDuplicate::Error => Err(taken(&*item)),
            Some(&position) => {
                self.forget_pages();
                let Numbered { number, .. } = self.items[position];
                let replaced =
                    std::mem::replace(&mut self.items[position], Numbered { number, id, item, is_enabled: true });
                Ok(Some(replaced.item))
            }
            None => {
                self.forget_pages();
                self.last += 1;
                self.by_key.insert(item.key().into(), self.items.len());
                self.items.push(Numbered { number: self.last, id, item, is_enabled: true });
                Ok(None)
            }
        }
    }

    /// Replaces the item of a registration, possibly under another key, and returns the old one.
    pub(in crate::server) fn change(&mut self, id: u64, item: Arc<T>) -> Result<Arc<T>, RegisterError> {
        let position = self.position(id).ok_or_else(RegisterError::removed)?;
        if self.by_key.get(item.key()).is_some_and(|other| *other != position) {
            return Err(taken(&*item));
        }
        self.forget_pages();
        self.by_key.remove(self.items[position].item.key());
        self.by_key.insert(item.key().into(), position);
        Ok(std::mem::replace(&mut self.items[position].item, item))
    }

    /// Enables or disables the item of a registration. Returns `None` if it does not exist.
    pub(in crate::server) fn enable(&mut self, id: u64, is_enabled: bool) -> Option<()> {
        let position = self.position(id)?;
        self.forget_pages();
        self.items[position].is_enabled = is_enabled;
        Some(())
    }

    /// Removes and returns the item of a registration. Returns `None` if it does not exist.
    pub(in crate::server) fn remove(&mut self, id: u64) -> Option<Arc<T>> {
        let position = self.position(id)?;
        self.forget_pages();
        let removed = self.items.remove(position);
        self.by_key.remove(removed.item.key());
        self.by_key.values_mut().filter(|later| **later > position).for_each(|later| *later -= 1);
        Some(removed.item)
    }

    fn forget_pages(&mut self) {
        self.first_page = Default::default();
        self.is_personal = OnceLock::new();
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.items.iter().position(|numbered| numbered.id == id)
    }

    /// Returns the item of a registration, enabled or not.
    pub(in crate::server) fn registered(&self, id: u64) -> Option<&Arc<T>> {
        self.position(id).map(|position| &self.items[position].item)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.iter().filter(|numbered| numbered.is_enabled).map(|numbered| &numbered.item)
    }

    /// Returns the registration id of the item with that key, enabled or not.
    pub(in crate::server) fn id(&self, key: &str) -> Option<u64> {
        self.by_key.get(key).map(|position| self.items[*position].id)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        let numbered = self.by_key.get(key).map(|position| &self.items[*position])?;
        numbered.is_enabled.then_some(&numbered.item)
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
        let start = self.items.partition_point(|item| item.number <= after);
        let rest = self.items[start..].iter().filter(|numbered| numbered.is_enabled);
        rest.map(|Numbered { number, item, .. }| ListCandidate {
            number: *number,
            key: item.key().to_owned(),
            access: item.access().clone(),
            text: item.descriptor().rendered(revision).clone(),
        })
        .collect()
    }

    fn write_page(&self, after: u64, size: usize, revision: Revision) -> ListedPage {
        let start = self.items.partition_point(|item| item.number <= after);
        let mut rest = self.items[start..].iter().filter(|numbered| numbered.is_enabled);
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
