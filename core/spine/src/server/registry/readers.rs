//! The sources that can serve the reads of a resource.

use super::{category::Category, resource::ReadInfo, snapshot::Snapshot};
use std::sync::Arc;

/// The sources that can serve the reads of one resource.
#[derive(Default)]
pub(in crate::server) struct Readers {
    /// The resource itself, or else the matching templates. The first one that the caller can see
    /// serves it.
    pub(in crate::server) features: Vec<Reader>,
    /// True if a provider or a remote server serves it when the caller sees none of these. They
    /// only know whether they have it when it is read.
    pub(in crate::server) or_elsewhere: bool,
}

/// A registered resource or resource template.
pub(in crate::server) type Reader = Arc<ReadInfo>;

impl Snapshot {
    /// Finds what can serve a resource, here or on a mounted server in this process.
    pub(in crate::server) fn readers(&self, uri: &str) -> Readers {
        if let Some(resource) = self.resources.get(uri) {
            return Readers { features: vec![Arc::clone(&resource.read)], or_elsewhere: false };
        }
        let templates = self.templates.iter().filter(|template| template.matches(uri).is_some());
        let mut features: Vec<_> = templates.map(|template| Arc::clone(&template.read)).collect();
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
