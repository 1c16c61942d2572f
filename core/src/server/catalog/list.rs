//! One list of a server: in the order of registration, by key, and page by page.

use super::RegisterError;
use crate::protocol::{Feature, RawJson, Revision};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

/// Something that a list shows.
pub(crate) trait Listed {
    /// The member of the list's result, such as `tools`.
    const MEMBER: &'static str;
    /// What it is, with its article, for errors.
    const NOUN: &'static str;

    /// What names it: unique in its list.
    fn key(&self) -> &str;
    /// Counts up with each registration.
    fn number(&self) -> u64;
    /// What the list shows of it.
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
    items: Vec<Arc<T>>,
    by_key: HashMap<String, usize>,
    /// The first page for each revision: what nearly every list request asks for.
    first_page: [OnceLock<Page>; Revision::ALL.len()],
}

/// The items of one page, joined by commas, and where the next begins.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) items: Vec<u8>,
    pub(crate) next: Option<u64>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), by_key: HashMap::new(), first_page: Default::default() }
    }
}

impl<T: Listed> List<T> {
    pub(super) fn with(&self, item: T) -> Result<Self, RegisterError> {
        self.with_shared(&Arc::new(item))
    }

    pub(super) fn with_shared(&self, item: &Arc<T>) -> Result<Self, RegisterError> {
        if self.by_key.contains_key(item.key()) {
            return Err(RegisterError(format!("{} named {:?} is already registered", T::NOUN, item.key())));
        }
        let mut items = self.items.clone();
        items.push(Arc::clone(item));
        Ok(Self::of(items))
    }

    pub(super) fn without(&self, key: &str) -> Option<Self> {
        let position = *self.by_key.get(key)?;
        let mut items = self.items.clone();
        items.remove(position);
        Some(Self::of(items))
    }

    fn of(items: Vec<Arc<T>>) -> Self {
        let by_key = items.iter().enumerate().map(|(position, item)| (item.key().to_owned(), position)).collect();
        Self { items, by_key, first_page: Default::default() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.items.iter()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key).map(|position| &self.items[*position])
    }

    /// The page that follows the item with the number `after` (0: the first page).
    pub(crate) fn page(&self, after: u64, size: usize, revision: Revision) -> Page {
        match after {
            0 => self.first_page[revision as usize].get_or_init(|| self.write_page(0, size, revision)).clone(),
            after => self.write_page(after, size, revision),
        }
    }

    fn write_page(&self, after: u64, size: usize, revision: Revision) -> Page {
        let start = self.items.partition_point(|item| item.number() <= after);
        let end = start.saturating_add(size.max(1)).min(self.items.len());
        let page = &self.items[start..end];
        let texts: Vec<_> = page.iter().map(|item| item.descriptor().rendered(revision).as_bytes()).collect();
        let next = page.last().filter(|_| end < self.items.len()).map(|last| last.number());
        Page { items: texts.join(&b","[..]), next }
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
    if revision.supports(Feature::CacheHints) {
        members.push(b',');
        members.extend_from_slice(hints.as_bytes());
    }
    members
}
