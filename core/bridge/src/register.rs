//! Registration: servers, their features, and hooks.

use super::{
    calls::HostHandler,
    config,
    entries::{HostTarget, RegisteredFeature},
    error::{BridgeError, ErrorKind},
    event::Lane,
    host_store::HostedStore,
    message::{EXPLAIN, RegisterProxy, RegisterServer, Registration, SharedConnection, Time, hints},
    ports, skills,
    state::{PortState, full},
    table::HandleKind,
    verifications,
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use trunkline::protocol::model::Implementation;
use trunkline::server::{
    CompletionDefinition, CompletionTarget, DirectoryDefinition, MiddlewareDefinition, PromptDefinition,
    ProviderDefinition, RegisterError, RequestHandlerDefinition, ResourceDefinition, ResourceTemplateDefinition,
    Server, ToolDefinition,
};
use trunkline::store::StoreChoice;

/// The things that a registration names or brings, beside its message.
struct AdditionParts {
    handler: HostHandler,
    /// Decides who sees the feature.
    visible: Option<HostHandler>,
    /// Suggest values for its arguments.
    completers: Vec<(String, HostHandler)>,
    /// The id of the feature whose place the new one takes.
    replaced: Option<u64>,
}

/// Adds a feature or hook to the registry of a server. Gives the id of its registration.
type PendingAddition = Box<dyn FnOnce(&Server, AdditionParts) -> Result<u64, RegisterError>>;

/// Adds a definition, or puts it in the place of another.
macro_rules! put {
    ($server:ident, $parts:ident, $given:ident, $definition:ty, $add:ident, $entry:expr) => {{
        let mut entry: $definition = $entry;
        entry = entry.scopes($given.scopes);
        if let Some(Time(timeout)) = $given.timeout {
            entry = entry.timeout(timeout);
        }
        if let Some(visible) = $parts.visible {
            entry = entry.visible(visible);
        }
        match $parts.replaced {
            Some(id) => $server.feature::<$definition>(id).replace(entry).map(|()| id),
            None => $server.$add(entry).map(|added| added.id()),
        }
    }};
}

fn addition(state: &Arc<PortState>, given: Registration) -> Result<PendingAddition, BridgeError> {
    Ok(match given {
        Registration::Tool(given) => Box::new(move |server, parts| {
            let explainer = given.explains.then(|| parts.handler.named(EXPLAIN));
            let mut entry = ToolDefinition::new(given.tool, parts.handler)
                .wrap_output(given.wrap_output)
                .defer_task(given.defer_task)
                .restart_task(given.restart_task);
            if let Some(requires) = given.requires {
                entry = entry.requires(requires);
            }
            if let Some(explainer) = explainer {
                entry = entry.explained_by(explainer);
            }
            put!(server, parts, given, ToolDefinition, add_tool, entry)
        }),
        Registration::Resource(given) => Box::new(move |server, parts| {
            let hints = hints(given.ttl, given.cache_scope);
            let entry = ResourceDefinition::new(given.resource, parts.handler).cache(hints);
            put!(server, parts, given, ResourceDefinition, add_resource, entry)
        }),
        Registration::ResourceTemplate(given) => Box::new(move |server, parts| {
            let entry = ResourceTemplateDefinition::new(given.resource_template, parts.handler)
                .cache(hints(given.ttl, given.cache_scope))
                .unsafe_paths(given.unsafe_paths);
            let completed = parts.completers.into_iter();
            let entry = completed.fold(entry, |entry, (variable, completer)| entry.complete(variable, completer));
            put!(server, parts, given, ResourceTemplateDefinition, add_resource_template, entry)
        }),
        Registration::Prompt(given) => Box::new(move |server, parts| {
            let entry = PromptDefinition::new(given.prompt, parts.handler);
            let completed = parts.completers.into_iter();
            let entry = completed.fold(entry, |entry, (argument, completer)| entry.complete(argument, completer));
            put!(server, parts, given, PromptDefinition, add_prompt, entry)
        }),
        Registration::Completion(given) => {
            let target = CompletionTarget::read(&given.reference)
                .map_err(|problem| BridgeError::invalid(format!("completion: {problem}")))?;
            let argument = given.argument;
            Box::new(move |server, parts| {
                let entry = CompletionDefinition::new(target, argument, parts.handler);
                server.add_completion(entry).map(|added| added.id())
            })
        }
        Registration::Skill(given) => {
            let add = skills::work::addition(given)?;
            Box::new(move |server, _| add(server))
        }
        Registration::Directory(given) => {
            let mut entry = DirectoryDefinition::new(given.uri, given.path).hidden(given.hidden);
            if let Some(bytes) = given.max_file_bytes {
                entry = entry.max_file_bytes(bytes);
            }
            Box::new(move |server, _| server.add_directory(entry).map(|added| added.id()))
        }
        Registration::Provider(given) => {
            let category = config::category(&given.of)?;
            Box::new(move |server, parts| {
                server.add_provider(ProviderDefinition::new(category, parts.handler)).map(|added| added.id())
            })
        }
        Registration::Middleware(given) => Box::new(move |server, parts| {
            let entry = MiddlewareDefinition::new(parts.handler);
            let entry = match given.methods {
                Some(methods) => entry.methods(methods),
                None => entry,
            };
            server.add_middleware(entry).map(|added| added.id())
        }),
        Registration::RequestHandler(given) => Box::new(move |server, parts| {
            let mut entry = RequestHandlerDefinition::new(given.method, parts.handler).scopes(given.scopes);
            if let Some(schema) = given.params_schema {
                entry = entry.params_schema(schema);
            }
            if let Some(Time(timeout)) = given.timeout {
                entry = entry.timeout(timeout);
            }
            server.add_request_handler(entry).map(|added| added.id())
        }),
        Registration::Mount(given) => {
            let mounted = ports::server_of(state, given.mounted, given.port)?;
            Box::new(move |server, _| server.mount(&given.prefix, &mounted).map(|added| added.id()))
        }
        Registration::Proxy(given) => {
            let RegisterProxy { connection, port, prefix, max_connections, .. } = given;
            let proxy = ports::proxy_of(state, &SharedConnection { connection, port })?;
            let mut proxy = proxy.prefix(prefix.unwrap_or_default());
            if let Some(number) = max_connections {
                proxy = proxy.max_connections(usize::try_from(number).unwrap_or(usize::MAX));
            }
            Box::new(move |server, _| server.proxy(proxy).map(|added| added.id()))
        }
        Registration::Server(_)
        | Registration::Verifier(_)
        | Registration::Visibility(_)
        | Registration::Completer(_) => {
            return Err(BridgeError::new(ErrorKind::Internal, "it joins no list of a server"));
        }
    })
}

fn register_server(state: &Arc<PortState>, given: RegisterServer) -> Result<u64, BridgeError> {
    for member in ["name", "version"] {
        match given.info.get(member).and_then(Value::as_str) {
            None => return Err(BridgeError::invalid(format!("server: info.{member} must be a string"))),
            Some("") => return Err(BridgeError::invalid(format!("server: info.{member} must not be empty"))),
            Some(_) => {}
        }
    }
    // An object that clients would refuse to read is refused here.
    Implementation::deserialize(&given.info).map_err(|error| BridgeError::invalid(format!("server: info: {error}")))?;
    given.options.check().map_err(|error| BridgeError::invalid(format!("server: {error}")))?;
    let store = given.store.map(|functions| HostedStore::new(state, &functions)).transpose()?;
    let options = match &store {
        Some(_) if given.options.store.is_some() => {
            return Err(BridgeError::invalid("server: it has a store of its own, or options.store, but not both"));
        }
        Some(store) => given.options.with_store(StoreChoice::own(Arc::new(store.clone()))),
        None => given.options,
    };
    let server = Server::new(given.info, given.instructions, state.telemetry.of_server(options));
    let handle = state.tables.lock().servers.insert(server).ok_or_else(full)?;
    if let Some(store) = store {
        store.set_server(handle);
    }
    Ok(handle)
}

pub(super) fn register(state: &Arc<PortState>, given: Registration) -> Result<u64, BridgeError> {
    let (server, lane) = match &given {
        Registration::Server(_) => (0, Lane::default()),
        Registration::Tool(given) => (given.server, given.lane),
        Registration::Resource(given) => (given.server, given.lane),
        Registration::ResourceTemplate(given) => (given.server, given.lane),
        Registration::Prompt(given) => (given.server, given.lane),
        Registration::Skill(given) => (given.server, given.lane),
        Registration::Directory(given) => (given.server, Lane::default()),
        Registration::Completion(given) => (given.server, given.lane),
        Registration::Provider(given) => (given.server, given.lane),
        Registration::Middleware(given) => (given.server, given.lane),
        Registration::RequestHandler(given) => (given.server, given.lane),
        Registration::Mount(given) => (given.server, given.lane),
        Registration::Proxy(given) => (given.server, given.lane),
        Registration::Visibility(given) => (given.server, given.lane),
        Registration::Completer(given) => (given.server, given.lane),
        Registration::Verifier(given) => (given.server, given.lane),
    };
    match given {
        Registration::Server(given) => register_server(state, given),
        Registration::Verifier(_) => verifications::register(state, state.server(server)?, lane),
        Registration::Visibility(_) | Registration::Completer(_) => register_hook(state, state.server(server)?, lane),
        given => register_feature(state, state.server(server)?, lane, given),
    }
}

fn register_feature(
    state: &Arc<PortState>,
    server: Server,
    lane: Lane,
    given: Registration,
) -> Result<u64, BridgeError> {
    let (replaces, visible) = match &given {
        Registration::Tool(given) => (given.replaces, given.visible),
        Registration::Resource(given) => (given.replaces, given.visible),
        Registration::ResourceTemplate(given) => (given.replaces, given.visible),
        Registration::Prompt(given) => (given.replaces, given.visible),
        _ => (None, None),
    };
    let replaced = replaces.map(|handle| registered_id(state, &server, handle)).transpose()?;
    let handler = |target| HostHandler::new(state, target);
    let visible = visible.map(|handle| hook(state, &server, handle, "a visibility of this server"));
    let visible = visible.transpose()?.map(handler);
    let completed = match &given {
        Registration::ResourceTemplate(given) => Some(&given.complete),
        Registration::Prompt(given) => Some(&given.complete),
        _ => None,
    };
    let completers = completed.into_iter().flatten().map(|(argument, handle)| {
        let completer = hook(state, &server, *handle, "a completer of this server")?;
        Ok((argument.clone(), handler(completer)))
    });
    let completers = completers.collect::<Result<Vec<_>, BridgeError>>()?;
    let target = HostTarget::new(&state.queue, lane);
    // The registry holds no handler of what the core answers itself, which is freed only when it is
    // taken away all the same.
    let kept = given.is_answered_by_the_core().then(|| Arc::clone(&target));
    let add = addition(state, given)?;
    // The number first: a call may arrive as soon as the feature is there.
    let feature = RegisteredFeature { server: server.clone(), id: None, target: kept };
    let handle = state.tables.lock().features.insert(feature).ok_or_else(full)?;
    target.set_handle(handle);
    match add(&server, AdditionParts { handler: handler(target), visible, completers, replaced }) {
        Ok(id) => {
            let mut tables = state.tables.lock();
            if let Some(feature) = tables.features.get_mut(handle) {
                feature.id = Some(id);
            }
            let _old = replaces.and_then(|handle| tables.features.remove(handle));
            drop(tables);
            Ok(handle)
        }
        Err(error) => {
            let feature = state.tables.lock().features.remove(handle);
            drop(feature);
            Err(BridgeError::invalid(error.to_string()))
        }
    }
}

/// Registers a function that features name by its handle.
fn register_hook(state: &Arc<PortState>, server: Server, lane: Lane) -> Result<u64, BridgeError> {
    let target = HostTarget::new(&state.queue, lane);
    let feature = RegisteredFeature { server, id: None, target: Some(Arc::clone(&target)) };
    let handle = state.tables.lock().features.insert(feature).ok_or_else(full)?;
    target.set_handle(handle);
    Ok(handle)
}

/// The function of a `visibility` or a `completer` of that server; `what` names it in errors.
fn hook(state: &PortState, server: &Server, handle: u64, what: &str) -> Result<Arc<HostTarget>, BridgeError> {
    let tables = state.tables.lock();
    let hook = tables.features.get(handle).filter(|feature| feature.server.is(server) && feature.id.is_none());
    hook.and_then(|hook| hook.target.clone()).ok_or_else(|| BridgeError::stale(what, handle))
}

/// The id of a feature of that server in its registry.
fn registered_id(state: &PortState, server: &Server, handle: u64) -> Result<u64, BridgeError> {
    let tables = state.tables.lock();
    let feature = tables.features.get(handle).filter(|feature| feature.server.is(server));
    feature.and_then(|feature| feature.id).ok_or_else(|| BridgeError::stale("a feature of this server", handle))
}

/// Takes a registered feature away.
pub(super) fn unregister(state: &PortState, handle: u64) -> Result<(), BridgeError> {
    let stale = || BridgeError::stale("something registered", handle);
    match HandleKind::of(handle) {
        Some(HandleKind::Server) => unregister_server(state, handle).ok_or_else(stale),
        Some(HandleKind::Feature) => {
            let feature = state.tables.lock().features.remove(handle).ok_or_else(stale)?;
            if let Some(id) = feature.id {
                feature.server.feature::<()>(id).remove();
            }
            Ok(())
        }
        Some(HandleKind::Verifier) => {
            let verifier = state.tables.lock().verifiers.remove(handle);
            verifier.map(drop).ok_or_else(stale)
        }
        _ => Err(stale()),
    }
}

/// Removes a server. Its features stay while a listener or connection serves it, but have no
/// handles any more.
fn unregister_server(state: &PortState, handle: u64) -> Option<()> {
    let mut tables = state.tables.lock();
    let server = tables.servers.remove(handle)?;
    let of_it = |feature: &RegisteredFeature| feature.server.is(&server);
    let features: Vec<_> = tables.features.iter().filter(|(_, it)| of_it(it)).map(|(number, _)| number).collect();
    let features: Vec<_> = features.into_iter().filter_map(|number| tables.features.remove(number)).collect();
    let verifiers: Vec<_> =
        tables.verifiers.iter().filter(|(_, it)| it.server.is(&server)).map(|(number, _)| number).collect();
    let verifiers: Vec<_> = verifiers.into_iter().filter_map(|number| tables.verifiers.remove(number)).collect();
    // Their ends are events, which are sent without the lock.
    drop(tables);
    drop((features, verifiers));
    Some(())
}
