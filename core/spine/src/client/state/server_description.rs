//! A server's description of itself.

use crate::{
    client::reading::odd_results::mended,
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        Era, RawJson, Revision,
        describe::{Described, FieldDescription, ObjectDescription, Type},
        extension, meta,
        method::{self, MessageKind, Method, Sender},
        model::{Implementation, ServerCapabilities, SubscriptionFilter},
        well_typed::is_well_typed,
    },
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// The server's description of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerDescription {
    /// The negotiated revision.
    pub revision: Revision,
    /// The server's Implementation object, if sent.
    pub info: Option<RawJson>,
    /// Its capabilities object; `{}` while unknown.
    pub capabilities: RawJson,
    /// Instructions for the model.
    pub instructions: Option<String>,
}

/// The description of a server in the results of `initialize` and `server/discover`.
static OPENED: ObjectDescription = ObjectDescription {
    name: "InitializeResult",
    doc: &[],
    tag: None,
    fields: &[
        FieldDescription { json: "serverInfo", ty: Implementation::TYPE, ..FieldDescription::EMPTY },
        FieldDescription { json: CAPABILITIES, ty: ServerCapabilities::TYPE, ..FieldDescription::EMPTY },
        FieldDescription { json: "instructions", ty: Type::String, ..FieldDescription::EMPTY },
        FieldDescription { json: "_meta", ty: Type::Model(&META), ..FieldDescription::EMPTY },
    ],
    open: true,
};

static META: ObjectDescription = ObjectDescription {
    name: "Meta",
    doc: &[],
    tag: None,
    fields: &[FieldDescription { json: meta::SERVER_INFO, ty: Implementation::TYPE, ..FieldDescription::EMPTY }],
    open: true,
};

const CAPABILITIES: &str = "capabilities";

impl ServerDescription {
    pub(in crate::client) fn pinned(revision: Revision) -> Self {
        Self { revision, info: None, capabilities: RawJson::empty_object(), instructions: None }
    }

    /// The capabilities; `None` if they have not been requested.
    #[doc(hidden)]
    pub fn declared(&self) -> Option<ServerCapabilities> {
        let is_known = self.info.is_some() || self.capabilities.as_bytes() != b"{}";
        is_known.then(|| self.capabilities.parse().unwrap_or_default())
    }

    /// The lists whose changes it announces.
    #[doc(hidden)]
    pub fn announced_lists(&self) -> SubscriptionFilter {
        self.announced(SubscriptionFilter::default().with_tools(true).with_prompts(true).with_resource_list(true))
    }

    /// The part of a filter that the server announces (PRM-07). Before it is known what it
    /// announces, that is all of it: a server honors what it supports.
    pub(in crate::client) fn announced(&self, filter: SubscriptionFilter) -> SubscriptionFilter {
        let Some(declared) = self.declared() else { return filter };
        let (tools, prompts) = (declared.tools.unwrap_or_default(), declared.prompts.unwrap_or_default());
        let resources = declared.resources.unwrap_or_default();
        let tasks = if self.revision.era() == Era::Legacy {
            let sends = Method::find(method::TASKS_STATUS, MessageKind::Notification, Sender::Server, self.revision);
            sends.is_some() && declared.tasks.is_some()
        } else {
            declared.extensions.is_some_and(|extensions| extensions.contains_key(extension::TASKS.id))
        };
        SubscriptionFilter {
            resources: filter.resources.filter(|_| resources.subscribe),
            tools: filter.tools && tools.list_changed,
            prompts: filter.prompts && prompts.list_changed,
            resource_list: filter.resource_list && resources.list_changed,
            tasks: filter.tasks.filter(|_| tasks),
            extra: filter.extra,
        }
    }

    /// Parses the result of `initialize` or `server/discover`. `server` is the name for the log.
    pub(in crate::client) fn read(server: Option<&str>, revision: Revision, result: &RawJson) -> Self {
        #[derive(Deserialize)]
        struct Opened<'a> {
            #[serde(borrow, default, rename = "serverInfo")]
            info: Option<&'a RawValue>,
            #[serde(borrow, default)]
            capabilities: Option<&'a RawValue>,
            #[serde(default)]
            instructions: Option<String>,
            #[serde(borrow, default, rename = "_meta")]
            meta: Option<BTreeMap<String, &'a RawValue>>,
        }
        let method = if revision.era() == Era::Modern { method::DISCOVER } else { method::INITIALIZE };
        let mended = usable(server, method, result);
        let result = mended.as_ref().unwrap_or(result);
        let Ok(opened) = result.parse::<Opened<'_>>() else { return Self::pinned(revision) };
        let info = opened.info.or_else(|| opened.meta.as_ref().and_then(|meta| meta.get(meta::SERVER_INFO).copied()));
        let slice = |raw| RawJson::slice_of(result.buffer(), raw);
        let capabilities = opened.capabilities.map_or_else(RawJson::empty_object, slice);
        Self { revision, info: info.map(slice), capabilities, instructions: opened.instructions }
    }
}

/// The result without its oddities; `None` if it has none.
fn usable(server: Option<&str>, method: &str, result: &RawJson) -> Option<RawJson> {
    if is_well_typed(Type::Model(&OPENED), None, result.as_bytes()) {
        return None;
    }
    let mut members: ObjectMembers = result.parse().ok()?;
    // Some servers write `true` for a capability without details.
    let _ = rewriting::in_member(&mut members, CAPABILITIES, |capabilities: &mut ObjectMembers| {
        let is_true = |(name, value): &(&String, &mut Box<RawValue>)| value.get() == "true" && is_object(name);
        for (name, value) in capabilities.iter_mut().filter(is_true) {
            tracing::warn!(target: "trunkline::client::connection", server, capability = &**name, "a capability is true: the library assumes {{}}");
            *value = to_raw_value(&ObjectMembers::new()).unwrap_or_default();
        }
        Some(())
    });
    mended(server, method, &OPENED, members).ok()
}

/// Returns whether a capability is an object.
fn is_object(capability: &str) -> bool {
    let Type::Model(known) = ServerCapabilities::TYPE else { return false };
    known.fields.iter().any(|field| field.json == capability && !matches!(field.ty, Type::Json))
}
