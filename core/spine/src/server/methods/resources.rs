//! Routes `resources/read` to a handler, and serves subscriptions to single resources.

use super::{access, mount_routes, provided::ProvidedFeature};
use crate::{
    protocol::{RawJson, RpcError, uri},
    runtime::BoxedTask,
    server::{
        handlers::Outcome,
        registry::{Category, ListSet, Listed, ReadInfo, Readers, RegisteredTemplate},
        request::{ActiveRequest, ResultMapper, Routed, Target},
        result::{ReadOf, render_read},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};

/// `resources/read`: tries the registered resource, then the first matching template, then the
/// mounted servers and providers.
pub(super) fn read(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    let (raw, uri) = uri_of(context, params)?;
    // RES-12: path traversal is refused before any handler runs.
    uri::check_traversal(&uri).map_err(|problem| RpcError::invalid_params(format!("resources/read: {problem}")))?;
    let snapshot = &context.snapshot;
    if let Some(resource) = snapshot.resources.get(&uri) {
        let (read, uri) = (Arc::clone(&resource.read), uri.into_owned());
        return access::decide(context, &resource.read.options.access, resource.key(), move |context, is_visible| {
            match is_visible {
                true => run(context, &read, &uri, &json!({"uri": uri})),
                false => Err(RpcError::resource_not_found(&uri, context.info.revision)),
            }
        });
    }
    if let Some(file) = snapshot.skill_file(&uri) {
        let read = ReadOf { uri: &uri, mime_type: None, cache: &file.cache };
        let contents = RawJson::from_value(&file.contents).map_err(|_| RpcError::internal())?;
        let rendered = render_read(context.results(), &read, context.info.revision, Outcome::Content(contents));
        return rendered.map(Routed::Answer);
    }
    read_by_template(context, raw, &uri, 0)
}

/// Reads through the first template, starting at position `from`, that matches and that the caller
/// can see, or else through a mounted server or a provider.
fn read_by_template(context: &ActiveRequest, raw: &RawJson, uri: &str, from: usize) -> Result<Routed, RpcError> {
    let matching = |(position, template): (usize, &Arc<RegisteredTemplate>)| {
        Some((position, Arc::clone(template), template.matches(uri)?))
    };
    let found = context.snapshot.templates.iter().enumerate().skip(from).find_map(matching);
    let Some((position, template, variables)) = found else {
        if let Some(routed) = mount_routes::by_uri(&context.snapshot, uri, raw) {
            return routed;
        }
        return ProvidedFeature::route(context, Category::Resources, uri, raw);
    };
    let (matched, raw, uri) = (Arc::clone(&template), raw.clone(), uri.to_owned());
    access::decide(
        context,
        &template.read.options.access,
        template.key(),
        move |context, is_visible| match is_visible {
            true => {
                let wrong = |problem| RpcError::invalid_params(format!("Resource {uri}: {problem}"));
                run(context, &matched.read, &uri, &matched.input(&uri, &variables).map_err(wrong)?)
            }
            false => read_by_template(context, &raw, &uri, position + 1),
        },
    )
}

fn run(context: &ActiveRequest, read: &Arc<ReadInfo>, uri: &str, input: &Value) -> Result<Routed, RpcError> {
    access::check_scopes(context, "resource", uri, &read.options.access.scopes)?;
    let mapper = ResourceRead { uri: uri.to_owned(), read: Arc::clone(read) };
    RawJson::from_value(input).map(|input| Routed::Run(Arc::new(mapper), input)).map_err(|_| RpcError::internal())
}

/// `resources/subscribe` (RES-04).
pub(super) fn subscribe(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_session()?;
    let (_, uri) = uri_of(context, params)?;
    subscribe_by(context, context.snapshot.readers(&uri), uri.into_owned(), 0)
}

/// Subscribes as [`read`] would read: by the first feature, starting at position `from`, that the
/// caller can see.
fn subscribe_by(context: &ActiveRequest, readers: Readers, uri: String, from: usize) -> Result<Routed, RpcError> {
    let Some(reader) = readers.features.get(from).cloned() else {
        return match readers.or_elsewhere {
            true => subscribed(context, context.snapshot.watch(&uri, context.client()), uri),
            false => Err(RpcError::resource_not_found(&uri, context.info.revision)),
        };
    };
    let decided = Arc::clone(&reader);
    access::decide(context, &reader.options.access, &reader.key, move |context, is_visible| match is_visible {
        true => {
            access::check_scopes(context, "resource", &uri, &decided.options.access.scopes)?;
            subscribed(context, None, uri)
        }
        false => subscribe_by(context, readers, uri, from + 1),
    })
}

/// `watching` subscribes at the remote server that the resource belongs to, if any.
fn subscribed(
    context: &ActiveRequest,
    watching: Option<BoxedTask<Result<(), RpcError>>>,
    uri: String,
) -> Result<Routed, RpcError> {
    let Some(watching) = watching else {
        context.connection.subscribe_to_resource(&uri, context.client())?;
        return Ok(Routed::Answer(RawJson::empty_object()));
    };
    Ok(Routed::Deferred(Box::new(move |context, responder| {
        let context = Arc::clone(context);
        let runtime = Arc::clone(context.connection.runtime());
        runtime.spawn(Box::pin(async move {
            // Subscribe first, so that no change is missed.
            let subscribed = context.connection.subscribe_to_resource(&uri, context.client());
            let watched = match subscribed {
                Ok(()) => watching.await.inspect_err(|_| context.connection.unsubscribe_from_resource(&uri)),
                Err(error) => Err(error),
            };
            context.deliver(responder, watched.map(|()| RawJson::empty_object()));
        }));
    })))
}

/// `resources/unsubscribe`. Does nothing if there is no such subscription.
pub(super) fn unsubscribe(context: &ActiveRequest, params: Option<&RawJson>) -> Result<Routed, RpcError> {
    context.check_session()?;
    let (_, uri) = uri_of(context, params)?;
    context.connection.unsubscribe_from_resource(&uri);
    Ok(Routed::Answer(RawJson::empty_object()))
}

fn uri_of<'a>(context: &ActiveRequest, params: Option<&'a RawJson>) -> Result<(&'a RawJson, Cow<'a, str>), RpcError> {
    #[derive(Deserialize)]
    struct UriParams<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
    }
    let method = context.method;
    context.check_offered(context.snapshot.offered().has(ListSet::RESOURCES))?;
    let raw = params.ok_or_else(|| RpcError::invalid_params(format!("{method} needs the parameter uri")))?;
    let params: UriParams<'_> =
        raw.read().map_err(|problem| RpcError::invalid_params(format!("{method}: {problem}")))?;
    Ok((raw, params.uri))
}

/// A read of a resource.
struct ResourceRead {
    uri: String,
    read: Arc<ReadInfo>,
}

impl ResultMapper for ResourceRead {
    fn target(&self) -> Target<'_> {
        let (handler, timeout) = (&self.read.handler, self.read.options.access.timeout);
        Target { handler, name: Some(&self.uri), timeout }
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let cache = self.read.hints();
        let read = ReadOf { uri: &self.uri, mime_type: self.read.mime_type.as_deref(), cache: &cache };
        render_read(context.results(), &read, context.info.revision, outcome)
    }
}
