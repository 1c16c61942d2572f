//! One list of a server: in the order of registration, by key, and page by page.

use super::error::RegisterError;
use crate::protocol::{RawJson, Revision, RevisionFeature};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// Something that a list shows.
pub(crate) trait Listed {
    /// The member of the list's result, such as `tools`.
    const MEMBER: &'static str;
    /// The noun with its article, for errors.
    const NOUN: &'static str;

    /// The name or URI, unique in its list.
    fn key(&self) -> &str;
    /// The descriptor for lists.
    fn descriptor(&self) -> &Descriptor;
}

/// A descriptor as it was given, and its JSON for each revision, made when first listed.
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
            RawJson::from_value(&value).unwrap_or_else(|_| RawJson::empty_object())
        })
    }
}

/// A list at one moment (TOOL-04: its order is stable).
pub(crate) struct List<T> {
    items: Vec<Numbered<T>>,
    by_key: HashMap<Arc<str>, usize>,
    /// The number of the last registration.
    last: u64,
    /// The first page for each revision: what nearly every list request asks for.
    first_page: [OnceLock<ListedPage>; Revision::ALL.len()],
}

/// An item and the number of its registration: they count up in this list alone, so that cursors
/// say the same to every instance of a server, whatever else it does (PAG-05).
struct Numbered<T> {
    number: u64,
    item: Arc<T>,
}

impl<T> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        Self { number: self.number, item: Arc::clone(&self.item) }
    }
}

/// The items of one page, joined by commas, and where the next begins.
#[derive(Clone)]
pub(crate) struct ListedPage {
    pub(crate) items: Vec<u8>,
    /// The number of the items.
    pub(crate) number: usize,
    pub(crate) next: Option<u64>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), by_key: HashMap::new(), last: 0, first_page: Default::default() }
    }
}

impl<T: Listed> List<T> {
    pub(in crate::server) fn with(&self, item: T) -> Result<Self, RegisterError> {
        self.with_shared(&Arc::new(item))
    }

    pub(in crate::server) fn with_shared(&self, item: &Arc<T>) -> Result<Self, RegisterError> {
        if self.by_key.contains_key(item.key()) {
            return Err(RegisterError(format!("{} named {:?} is already registered", T::NOUN, item.key())));
        }
        let last = self.last + 1;
        let (mut items, mut by_key) = (self.items.clone(), self.by_key.clone());
        by_key.insert(item.key().into(), items.len());
        items.push(Numbered { number: last, item: Arc::clone(item) });
        Ok(Self { items, by_key, last, first_page: Default::default() })
    }

    pub(in crate::server) fn without(&self, key: &str) -> Option<Self> {
        let (mut items, mut by_key) = (self.items.clone(), self.by_key.clone());
        let position = by_key.remove(key)?;
        items.remove(position);
        by_key.values_mut().filter(|later| **later > position).for_each(|later| *later -= 1);
        Some(Self { items, by_key, last: self.last, first_page: Default::default() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.iter().map(|numbered| &numbered.item)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key).map(|position| &self.items[*position].item)
    }

    /// The page that follows the item with the number `after` (0: the first page).
    pub(crate) fn page(&self, after: u64, size: usize, revision: Revision) -> ListedPage {
        match after {
            0 => self.first_page[revision as usize].get_or_init(|| self.write_page(0, size, revision)).clone(),
            after => self.write_page(after, size, revision),
        }
    }

    fn write_page(&self, after: u64, size: usize, revision: Revision) -> ListedPage {
        let start = self.items.partition_point(|item| item.number <= after);
        let end = start.saturating_add(size.max(1)).min(self.items.len());
        let page = &self.items[start..end];
        let texts: Vec<_> =
            page.iter().map(|numbered| numbered.item.descriptor().rendered(revision).as_bytes()).collect();
        let next = page.last().filter(|_| end < self.items.len()).map(|last| last.number);
        ListedPage { items: texts.join(&b","[..]), number: page.len(), next }
    }
}

/// The members of a list's result.
pub(crate) fn list_members(member: &str, items: &[u8], next: Option<&str>, hints: &str, revision: Revision) -> Vec<u8> {
    let mut members = format!(r#""{member}":["#).into_bytes();
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
