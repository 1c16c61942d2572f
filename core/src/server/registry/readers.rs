//! What can serve the reads of a resource.

use super::{
    access_options::AccessOptions,
    category::Category,
    list::Listed,
    resource::{RegisteredResource, RegisteredTemplate},
    snapshot::Snapshot,
};
use std::sync::Arc;

/// What can serve the reads of one resource.
#[derive(Default)]
pub(in crate::server) struct Readers {
    /// The resource itself, or else the matching templates. The first one that the caller can see
    /// serves it.
    pub(in crate::server) features: Vec<Reader>,
    /// Whether a provider or a remote server serves it if the caller sees none of these. They only
    /// know whether they have it when it is read.
    pub(in crate::server) or_elsewhere: bool,
}

/// A registered resource or resource template.
#[derive(Clone)]
pub(in crate::server) enum Reader {
    Resource(Arc<RegisteredResource>),
    Template(Arc<RegisteredTemplate>),
}

impl Reader {
    /// Its URI or URI template.
    pub(in crate::server) fn key(&self) -> &str {
        match self {
            Self::Resource(resource) => resource.key(),
            Self::Template(template) => template.key(),
        }
    }

    pub(in crate::server) fn access(&self) -> &AccessOptions {
        match self {
            Self::Resource(resource) => &resource.read.options.access,
            Self::Template(template) => &template.read.options.access,
        }
    }

    /// A number that no other registered feature has at the same time.
    pub(in crate::server) fn identity(&self) -> usize {
        match self {
            Self::Resource(resource) => Arc::as_ptr(resource).addr(),
            Self::Template(template) => Arc::as_ptr(template).addr(),
        }
    }
}

impl Snapshot {
    /// Finds what can serve a resource, here or on a mounted server in this process.
    pub(in crate::server) fn readers(&self, uri: &str) -> Readers {
        if let Some(resource) = self.resources.get(uri) {
            return Readers { features: vec![Reader::Resource(Arc::clone(resource))], or_elsewhere: false };
        }
        let templates = self.templates.iter().filter(|template| template.matches(uri).is_some());
        let mut features: Vec<_> = templates.map(|template| Reader::Template(Arc::clone(template))).collect();
        let Some((mount, own)) = self.mount_of_uri(uri) else {
            let or_elsewhere = self.providers(Category::Resources).next().is_some();
            return Readers { features, or_elsewhere };
        };
        let Some(snapshot) = mount.snapshot() else { return Readers { features, or_elsewhere: true } };
        let mounted = snapshot.readers(&own);
        features.extend(mounted.features);
        Readers { features, or_elsewhere: mounted.or_elsewhere }
    }
}
