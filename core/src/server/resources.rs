//! `resources/read` and subscriptions to single resources, up to the handler.

use super::{
    Server,
    cache::CacheHints,
    catalog::{Category, Changes, ReadFacts},
    handler::Handler,
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
        let target = Reading { uri: uri.to_string(), facts: Arc::clone(facts), provided: false };
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
    match snapshot.providers(Category::Resources).next() {
        Some(provider) => {
            let params: Value = raw.parse().map_err(|_| RpcError::internal())?;
            let input = RawJson::from_value(&json!({"get": params})).map_err(|_| RpcError::internal())?;
            let facts =
                ReadFacts { mime_type: None, cache: CacheHints::default(), handler: Arc::clone(&provider.handler) };
            let target = Reading { uri: uri.to_string(), facts: Arc::new(facts), provided: true };
            Ok(Prepared::Run(Arc::new(target), input))
        }
        None => Err(RpcError::resource_not_found(&uri, serving.scope.revision)),
    }
}

/// `resources/subscribe` (RES-04).
pub(super) fn subscribe(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
    let (_, uri) = uri_of(serving, params)?;
    if !exists(serving, &uri) {
        return Err(RpcError::resource_not_found(&uri, serving.scope.revision));
    }
    serving.connection.watch_resource(&uri)?;
    Ok(Prepared::Answer(RawJson::empty_object()))
}

/// `resources/unsubscribe`; of something that was not subscribed, there is nothing to do.
pub(super) fn unsubscribe(serving: &Serving, params: Option<&RawJson>) -> Result<Prepared, RpcError> {
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
    let params: UriParams<'_> = raw.parse().map_err(|error| RpcError::invalid_params(format!("{method}: {error}")))?;
    Ok((raw, params.uri))
}

/// A resource that is being read.
struct Reading {
    uri: String,
    facts: Arc<ReadFacts>,
    /// By a provider, which may not know it.
    provided: bool,
}

impl Target for Reading {
    fn name(&self) -> &str {
        &self.uri
    }

    fn handler(&self) -> &Arc<dyn Handler> {
        &self.facts.handler
    }

    fn render(&self, server: &Server, scope: &Scope, outcome: Outcome) -> Result<RawJson, RpcError> {
        if self.provided && outcome.is_null() {
            return Err(RpcError::resource_not_found(&self.uri, scope.revision));
        }
        let facts =
            outcome::ReadOf { uri: &self.uri, mime_type: self.facts.mime_type.as_deref(), cache: &self.facts.cache };
        outcome::render_read(server, &facts, scope.revision, outcome)
    }
}
