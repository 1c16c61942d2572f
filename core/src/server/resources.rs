//! `resources/read` and subscriptions to single resources, up to the handler.

use super::{
    Server,
    cache::CacheHints,
    catalog::{Category, Changes, ReadFacts, Snapshot},
    handler::Handler,
    lists,
    outcome::{self, Outcome},
    serving::{Prepared, Serving, Target},
};
use crate::{
    engine::Scope,
    protocol::{RawJson, RpcError, uri},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};

/// `resources/read`: a registered resource, else the first template that matches, else what a provider knows.
pub(super) fn read(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let (raw, uri) = uri_of(serving, params)?;
    // RES-12: a path that climbs is refused before anyone opens it.
    uri::check_traversal(&uri).map_err(|problem| RpcError::invalid_params(format!("resources/read: {problem}")))?;
    let snapshot = &serving.snapshot;
    let run = |facts: &Arc<ReadFacts>, input: &Value| {
        let target = Reading { uri: uri.to_string(), facts: Arc::clone(facts), provider: None };
        RawJson::from_value(input).map(|input| Prepared::Run(Arc::new(target), input)).map_err(|_| RpcError::internal())
    };
    if let Some(resource) = snapshot.resources.get(&uri) {
        return run(&resource.facts, &json!({"uri": uri}));
    }
    if let Some(file) = snapshot.skill_file(&uri) {
        let facts = outcome::ReadOf { uri: &uri, mime_type: None, cache: file.cache() };
        let contents = RawJson::from_value(file.contents()).map_err(|_| RpcError::internal())?;
        let rendered =
            outcome::render_read(serving.server(), &facts, serving.scope.revision, Outcome::Content(contents));
        return rendered.map(Prepared::Answer);
    }
    for template in snapshot.templates.iter() {
        if let Some(variables) = template.template.matches(&uri) {
            return run(&template.facts, &json!({"uri": uri, "variables": variables}));
        }
    }
    let target = Reading::provided(0, &uri, snapshot)
        .ok_or_else(|| RpcError::resource_not_found(&uri, serving.scope.revision))?;
    Ok(Prepared::Run(Arc::new(target), lists::get_body(raw)?))
}

/// `resources/subscribe` (RES-04).
pub(super) fn subscribe(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    serving.check_session()?;
    let (_, uri) = uri_of(serving, params)?;
    if !exists(serving, &uri) {
        return Err(RpcError::resource_not_found(&uri, serving.scope.revision));
    }
    serving.connection.watch_resource(&uri)?;
    Ok(Prepared::Answer(RawJson::empty_object()))
}

/// `resources/unsubscribe`; of something that was not subscribed, there is nothing to do.
pub(super) fn unsubscribe(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    serving.check_session()?;
    let (_, uri) = uri_of(serving, params)?;
    serving.connection.unwatch_resource(&uri);
    Ok(Prepared::Answer(RawJson::empty_object()))
}

/// Whether a URI can be one of this server; what a provider knows is only known when it is read.
fn exists(serving: &Serving, uri: &str) -> bool {
    let snapshot = &serving.snapshot;
    snapshot.resources.get(uri).is_some()
        || snapshot.templates.iter().any(|template| template.template.matches(uri).is_some())
        || snapshot.providers(Category::Resources).next().is_some()
}

fn uri_of<'a>(serving: &Serving, params: Option<&'a RawJson>) -> Result<(&'a RawJson, Cow<'a, str>), RpcError> {
    #[derive(Deserialize)]
    struct UriParams<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
    }
    let method = serving.method;
    if !serving.snapshot.offered().has(Changes::RESOURCES) {
        return Err(RpcError::method_not_found(method));
    }
    let raw = params.ok_or_else(|| RpcError::invalid_params(format!("{method} needs the parameter uri")))?;
    let params: UriParams<'_> =
        raw.read().map_err(|problem| RpcError::invalid_params(format!("{method}: {problem}")))?;
    Ok((raw, params.uri))
}

/// A resource that is being read.
struct Reading {
    uri: String,
    facts: Arc<ReadFacts>,
    /// Which of the providers is asked, if it is one of theirs: it may not know it.
    provider: Option<usize>,
}

impl Reading {
    fn provided(index: usize, uri: &str, snapshot: &Snapshot) -> Option<Self> {
        let provider = snapshot.providers(Category::Resources).nth(index)?;
        let facts = ReadFacts { mime_type: None, cache: CacheHints::default(), handler: Arc::clone(&provider.handler) };
        Some(Self { uri: uri.to_owned(), facts: Arc::new(facts), provider: Some(index) })
    }
}

impl Target for Reading {
    fn name(&self) -> &str {
        &self.uri
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.facts.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        if self.provider.is_some() && outcome.is_null() {
            return Err(RpcError::resource_not_found(&self.uri, scope.revision));
        }
        let facts =
            outcome::ReadOf { uri: &self.uri, mime_type: self.facts.mime_type.as_deref(), cache: &self.facts.cache };
        outcome::render_read(server, &facts, scope.revision, outcome)
    }

    fn otherwise(&self, snapshot: &Snapshot) -> Option<Arc<dyn Target>> {
        Some(Arc::new(Self::provided(self.provider? + 1, &self.uri, snapshot)?))
    }
}
