//! The last members of every result: its type and its server.

use super::{
    as_written::{as_written, may_be_rounded},
    cache_hints::CacheHints,
    unknown_members::UnknownMembers,
};
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, Revision, RevisionFeature, meta, project},
};
use arc_swap::{ArcSwap, Guard};
use serde_json::{Value, json};
use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

/// Finishes results according to the options of a server.
pub(in crate::server) struct ResultWriter {
    own: Named,
    /// The remote server that clients see instead. It may be replaced by another one.
    shown: OnceLock<ArcSwap<Named>>,
    /// The caching hints of lists and of discovery.
    pub(in crate::server) cache: CacheHints,
    /// True if clients see the details of internal errors.
    pub(super) debug: bool,
    pub(super) unknown: UnknownMembers,
}

/// The server that results name.
struct Named {
    /// Its Implementation object.
    info: Value,
    /// The last members of each result of the modern era: its type and its server (DISC-09).
    tail: String,
}

/// The server that clients see.
enum ShownServer<'a> {
    Own(&'a Named),
    Remote(Guard<Arc<Named>>),
}

impl Deref for ShownServer<'_> {
    type Target = Named;

    fn deref(&self) -> &Named {
        match self {
            Self::Own(named) => named,
            Self::Remote(named) => named,
        }
    }
}

impl Named {
    fn new(info: Value) -> Self {
        let mut named = info.clone();
        project::project_implementation(&mut named, Revision::LATEST);
        let tail = format!(r#""resultType":"complete","_meta":{{"{}":{named}}}"#, meta::SERVER_INFO);
        Self { info, tail }
    }
}

impl ResultWriter {
    pub(in crate::server) fn new(info: Value, cache: CacheHints, debug: bool) -> Self {
        let (own, unknown) = (Named::new(info), UnknownMembers::default());
        Self { own, shown: OnceLock::new(), cache, debug, unknown }
    }

    /// Names this remote server in results from now on.
    pub(in crate::server) fn show_as(&self, info: &Value) {
        let named = Arc::new(Named::new(info.clone()));
        self.shown.get_or_init(|| ArcSwap::from(Arc::clone(&named))).store(named);
    }

    /// The server that clients see.
    fn named(&self) -> ShownServer<'_> {
        self.shown.get().map_or(ShownServer::Own(&self.own), |shown| ShownServer::Remote(shown.load()))
    }

    /// The server's Implementation object, projected to a revision.
    pub(in crate::server) fn implementation(&self, revision: Revision) -> Value {
        let mut info = self.named().info.clone();
        project::project_implementation(&mut info, revision);
        info
    }

    /// The server's own name.
    pub(in crate::server) fn server_name(&self) -> &str {
        self.own.info["name"].as_str().unwrap_or_default()
    }

    /// Closes `object`, which lacks its closing brace, as a result of `revision`.
    pub(in crate::server) fn seal(&self, mut object: Vec<u8>, revision: Revision) -> RawJson {
        if revision.supports(RevisionFeature::ResultType) {
            if object.len() > 1 {
                object.push(b',');
            }
            object.extend_from_slice(self.named().tail.as_bytes());
        }
        object.push(b'}');
        RawJson::trusted(object.into())
    }

    /// Like [`Self::seal`], for an object that may have its own `_meta`, which is kept.
    pub(in crate::server) fn seal_object(&self, mut result: Value, revision: Revision) -> RawJson {
        if revision.supports(RevisionFeature::ResultType)
            && let Some(members) = result.as_object_mut()
        {
            members.entry("resultType").or_insert_with(|| "complete".into());
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(meta::SERVER_INFO.into(), self.implementation(revision));
            }
        }
        RawJson::object(&result)
    }

    /// Like [`Self::seal_object`], for a result made of what a handler has written.
    pub(super) fn seal_result(&self, result: Value, written: Option<&RawJson>, revision: Revision) -> RawJson {
        let written = written.filter(|_| may_be_rounded(&result));
        let exact = written.and_then(|written| {
            let given = written.parse().ok()?;
            let exact = as_written(written.parse().ok()?, &given, &result);
            // JSON has line breaks only between tokens. On a pipe, a line is a message.
            serde_json::from_str::<ObjectMembers>(&exact.get().replace(['\n', '\r'], " ")).ok()
        });
        match exact {
            Some(members) => self.seal_members(members, revision),
            None => self.seal_object(result, revision),
        }
    }

    /// Like [`Self::seal_object`], for members that are kept as written: a `Value` rounds long
    /// integers, or cannot hold them.
    pub(in crate::server) fn seal_members(&self, mut result: ObjectMembers, revision: Revision) -> RawJson {
        if revision.supports(RevisionFeature::ResultType) {
            if !result.contains_key("resultType") {
                rewriting::set(&mut result, "resultType", &"complete");
            }
            if !result.contains_key("_meta") {
                rewriting::set(&mut result, "_meta", &RawJson::empty_object());
            }
            rewriting::in_member(&mut result, "_meta", |meta: &mut ObjectMembers| {
                rewriting::set(meta, meta::SERVER_INFO, &self.implementation(revision));
                Some(())
            });
        }
        RawJson::object(&result)
    }
}
