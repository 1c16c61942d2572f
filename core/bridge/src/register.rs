//! Registration: servers, their features, and hooks.

use crate::{
    BridgeError, Lane, PortState,
    calls::handlers::HostHandler,
    host::{custom_store::HostedStore, lifespan},
    host_json,
    message::{EXPLAIN, RegisterProxy, RegisterServer, RegisterTool, Registration, SharedConnection},
    open::ports,
    state::{
        entries::{HostTarget, Registered},
        tables::{HandleKind, full},
    },
};
use serde_json::Value;
use std::sync::Arc;
use trunkline::{
    protocol::{fault, model::Implementation},
    server::{
        CompletionDefinition, CompletionTarget, DirectoryDefinition, Handler, MiddlewareDefinition, PromptDefinition,
        ProviderDefinition, RequestHandlerDefinition, ResourceDefinition, ResourceTemplateDefinition, Server,
        ToolDefinition,
    },
    store::StoreChoice,
};

pub(crate) fn register(state: &Arc<PortState>, given: Registration) -> Result<u64, BridgeError> {
    let (server, lane) = given.destination();
    match given {
        Registration::Server(given) => register_server(state, given),
        Registration::Verifier(_) | Registration::Visibility(_) | Registration::Completer(_) => {
            let target = HostTarget::new(&state.queue, lane);
            enter(state, state.server(server)?, given.kind(), &target, true)
        }
        Registration::Lifespan(_) => lifespan::register(state, state.server(server)?, lane),
        given => register_feature(state, &state.server(server)?, lane, given),
    }
}

fn register_server(state: &Arc<PortState>, given: RegisterServer) -> Result<u64, BridgeError> {
    for member in ["name", "version"] {
        match given.info.get(member).and_then(Value::as_str) {
            None => return Err(BridgeError::invalid(format!("server: info.{member} must be a string"))),
            Some("") => return Err(BridgeError::invalid(format!("server: info.{member} must not be empty"))),
            Some(_) => {}
        }
    }
    // Reject an object that clients could not read.
    fault::read::<Implementation>(&given.info)
        .map_err(|fault| BridgeError::invalid(format!("server: {}", fault.below("info"))))?;
    given.options.check().map_err(|error| BridgeError::invalid(format!("server: {error}")))?;
    let store = given.store.map(|functions| HostedStore::new(state, &functions)).transpose()?;
    let options = match &store {
        Some(_) if given.options.store.is_some() => {
            return Err(BridgeError::invalid("server: a custom store cannot be combined with options.store"));
        }
        Some(store) => given.options.with_store(StoreChoice::custom(Arc::new(store.clone()))),
        None => given.options,
    };
    let server = Server::new(given.info, given.instructions, state.telemetry.of_server(options));
    let handle = state.tables.lock().servers.insert(server).ok_or_else(full)?;
    if let Some(store) = store {
        store.set_server(handle);
    }
    Ok(handle)
}

/// Assigns the handle of a registration, after which calls may arrive.
pub(crate) fn enter(
    state: &PortState,
    server: Server,
    kind: &'static str,
    target: &Arc<HostTarget>,
    keep_target: bool,
) -> Result<u64, BridgeError> {
    let target_kept = keep_target.then(|| Arc::clone(target));
    let registered = Registered { server, kind, id: None, target: target_kept };
    let handle = state.tables.lock().features.insert(registered).ok_or_else(full)?;
    target.set_handle(handle);
    Ok(handle)
}

fn register_feature(
    state: &Arc<PortState>,
    server: &Server,
    lane: Lane,
    given: Registration,
) -> Result<u64, BridgeError> {
    let replaces = given.replaces();
    let replaced = replaces.map(|handle| registered_id(state, server, handle)).transpose()?;
    let target = HostTarget::new(&state.queue, lane);
    // The registry has no handler for features that the core serves itself. Keep their target,
    // because they must not be freed before they are removed.
    let keep_target = given.is_answered_by_the_core();
    let handle = enter(state, server.clone(), given.kind(), &target, keep_target)?;
    let added = add(state, server, given, HostHandler::new(state, target), replaced);
    let mut tables = state.tables.lock();
    if let (Ok(id), Some(feature)) = (&added, tables.features.get_mut(handle)) {
        feature.id = Some(*id);
    }
    let unused = if added.is_ok() { replaces } else { Some(handle) };
    let _unused = unused.and_then(|handle| tables.features.remove(handle));
    drop(tables);
    added.map(|_| handle)
}

/// Adds a definition or replaces another. Returns its id in the registry.
macro_rules! put {
    ($server:ident, $replaced:ident, $definition:ty, $add:ident, $entry:expr) => {
        match $replaced {
            Some(id) => $server.feature::<$definition>(id).replace($entry).map(|()| id),
            None => $server.$add($entry).map(|added| added.id()),
        }
    };
}

/// Adds a feature or middleware to the registry of a server. Returns its id there. `replaced` is
/// the id of the feature that it replaces.
fn add(
    state: &Arc<PortState>,
    server: &Server,
    given: Registration,
    handler: HostHandler,
    replaced: Option<u64>,
) -> Result<u64, BridgeError> {
    let hook = |kind, handle| hook(state, handle, kind, Some(server)).map(|target| HostHandler::new(state, target));
    let visible = |handle: Option<u64>| {
        handle.map(|handle| hook("visibility", handle).map(|hook| Arc::new(hook) as Arc<dyn Handler>)).transpose()
    };
    let added = match given {
        Registration::Tool(mut given) => {
            given.options.access.visible = visible(given.visible)?;
            put!(server, replaced, ToolDefinition, add_tool, tool(given, handler))
        }
        Registration::Resource(mut given) => {
            given.options.access.visible = visible(given.visible)?;
            let entry = ResourceDefinition::new(given.resource, handler).options(given.options);
            put!(server, replaced, ResourceDefinition, add_resource, entry)
        }
        Registration::ResourceTemplate(mut given) => {
            given.options.resource.access.visible = visible(given.visible)?;
            let mut entry = ResourceTemplateDefinition::new(given.resource_template, handler).options(given.options);
            for (variable, completer) in given.complete {
                entry = entry.complete(variable, hook("completer", completer)?);
            }
            put!(server, replaced, ResourceTemplateDefinition, add_resource_template, entry)
        }
        Registration::Prompt(mut given) => {
            given.options.access.visible = visible(given.visible)?;
            let mut entry = PromptDefinition::new(given.prompt, handler).options(given.options);
            for (argument, completer) in given.complete {
                entry = entry.complete(argument, hook("completer", completer)?);
            }
            put!(server, replaced, PromptDefinition, add_prompt, entry)
        }
        other => return add_unlisted(state, server, other, handler),
    };
    Ok(added?)
}

fn tool(given: RegisterTool, handler: HostHandler) -> ToolDefinition {
    let explainer = given.explains.then(|| handler.named(EXPLAIN));
    let entry = ToolDefinition::new(given.tool, handler).wrap_output(given.wrap_output).options(given.options);
    match explainer {
        Some(explainer) => entry.explained_by(explainer),
        None => entry,
    }
}

/// Adds a registration without a descriptor, which clients cannot list, so it cannot be hidden or
/// replaced.
fn add_unlisted(
    state: &Arc<PortState>,
    server: &Server,
    given: Registration,
    handler: HostHandler,
) -> Result<u64, BridgeError> {
    Ok(match given {
        Registration::Completion(given) => {
            let target = CompletionTarget::read(&given.reference)
                .map_err(|problem| BridgeError::invalid(format!("completion: {problem}")))?;
            server.add_completion(CompletionDefinition::new(target, given.argument, handler))?.id()
        }
        #[cfg(feature = "skills")]
        Registration::Skill(given) => crate::requests::skills::work::add(server, given)?,
        #[cfg(not(feature = "skills"))]
        Registration::Skill(_) => return Err(BridgeError::without("skills")),
        Registration::Directory(given) => {
            server.add_directory(DirectoryDefinition::new(given.uri, given.path).options(given.options))?.id()
        }
        Registration::Provider(given) => {
            server.add_provider(ProviderDefinition::new(host_json::category(&given.of)?, handler))?.id()
        }
        Registration::Middleware(given) => {
            let entry = MiddlewareDefinition::new(handler);
            let entry = match given.methods {
                Some(methods) => entry.methods(methods),
                None => entry,
            };
            server.add_middleware(entry)?.id()
        }
        Registration::RequestHandler(given) => {
            let entry = RequestHandlerDefinition::new(given.method, handler).options(given.options);
            server.add_request_handler(entry)?.id()
        }
        Registration::Mount(given) => {
            server.mount(&given.prefix, &ports::server_of(state, given.mounted, given.port)?)?.id()
        }
        Registration::Proxy(RegisterProxy { connection, port, options, .. }) => {
            server.proxy(ports::proxy_of(state, &SharedConnection { connection, port })?.options(options))?.id()
        }
        other => return Err(BridgeError::invalid(format!("{} is in no list of a server", other.kind()))),
    })
}

/// The host's end of a hook, which must belong to `server` if that is given.
pub(crate) fn hook(
    state: &PortState,
    handle: u64,
    kind: &str,
    server: Option<&Server>,
) -> Result<Arc<HostTarget>, BridgeError> {
    let tables = state.tables.lock();
    let is_meant = |it: &&Registered| it.kind == kind && server.is_none_or(|server| it.server.is(server));
    let target = tables.features.get(handle).filter(is_meant).and_then(|hook| hook.target.clone());
    let of_server = if server.is_some() { " of this server" } else { "" };
    target.ok_or_else(|| BridgeError::stale(&format!("a {kind}{of_server}"), handle))
}

/// The id of a feature of that server in its registry.
fn registered_id(state: &PortState, server: &Server, handle: u64) -> Result<u64, BridgeError> {
    let tables = state.tables.lock();
    let feature = tables.features.get(handle).filter(|feature| feature.server.is(server));
    let removed = || BridgeError::invalid("the feature was removed from its server: register it again");
    feature.and_then(|feature| feature.id).ok_or_else(removed)
}

/// Removes a registered feature.
pub(crate) fn unregister(state: &PortState, handle: u64) -> Result<(), BridgeError> {
    let stale = || BridgeError::stale("something registered", handle);
    if HandleKind::of(handle) == Some(HandleKind::Server) {
        return unregister_server(state, handle).ok_or_else(stale);
    }
    let registered = state.tables.lock().features.remove(handle).ok_or_else(stale)?;
    if let Some(id) = registered.id {
        registered.server.feature::<()>(id).remove();
    }
    Ok(())
}

/// Removes a server. Its features remain while a listener or connection serves it, but lose their
/// handles.
fn unregister_server(state: &PortState, handle: u64) -> Option<()> {
    let mut tables = state.tables.lock();
    let server = tables.servers.remove(handle)?;
    let of_it = tables.features.iter().filter(|(_, it)| it.server.is(&server)).map(|(handle, _)| handle);
    let of_it: Vec<_> = of_it.collect();
    let removed: Vec<_> = of_it.into_iter().filter_map(|handle| tables.features.remove(handle)).collect();
    // Dropping them queues events, which must happen without the lock.
    drop(tables);
    drop(removed);
    Some(())
}
