//! Registration: servers, their features, and hooks.

use crate::{
    calls::{HostHandler, verifications},
    config,
    error::{BridgeError, ErrorKind},
    events::Lane,
    host::store::HostedStore,
    message::{EXPLAIN, RegisterProxy, RegisterServer, Registration, SharedConnection},
    open::ports,
    requests::skills,
    state::{
        PortState,
        entries::{HostTarget, RegisteredFeature},
        full,
        table::HandleKind,
    },
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use trunkline::protocol::model::Implementation;
use trunkline::server::{
    CompletionDefinition, CompletionTarget, DirectoryDefinition, Handler, MiddlewareDefinition, PromptDefinition,
    ProviderDefinition, RegisterError, RequestHandlerDefinition, ResourceDefinition, ResourceTemplateDefinition,
    Server, ToolDefinition,
};
use trunkline::store::StoreChoice;

/// The things that a registration names or brings, beside its message.
struct AdditionParts {
    handler: HostHandler,
    /// Decides who sees the feature.
    visible: Option<Arc<dyn Handler>>,
    /// Suggest values for its arguments.
    completers: Vec<(String, HostHandler)>,
    /// The id of the feature whose place the new one takes.
    replaced: Option<u64>,
}

/// Adds a feature or hook to the registry of a server. Gives the id of its registration.
type PendingAddition = Box<dyn FnOnce(&Server, AdditionParts) -> Result<u64, RegisterError>>;

/// Adds a definition, or puts it in the place of another.
macro_rules! put {
    ($server:ident, $parts:ident, $definition:ty, $add:ident, $entry:expr) => {
        match $parts.replaced {
            Some(id) => $server.feature::<$definition>(id).replace($entry).map(|()| id),
            None => $server.$add($entry).map(|added| added.id()),
        }
    };
}

fn addition(state: &Arc<PortState>, given: Registration) -> Result<PendingAddition, BridgeError> {
    Ok(match given {
        Registration::Tool(mut given) => Box::new(move |server, parts| {
            let explainer = given.explains.then(|| parts.handler.named(EXPLAIN));
            given.options.access.visible = parts.visible;
            let mut entry =
                ToolDefinition::new(given.tool, parts.handler).wrap_output(given.wrap_output).options(given.options);
            if let Some(explainer) = explainer {
                entry = entry.explained_by(explainer);
            }
            put!(server, parts, ToolDefinition, add_tool, entry)
        }),
        Registration::Resource(mut given) => Box::new(move |server, parts| {
            given.options.access.visible = parts.visible;
            let entry = ResourceDefinition::new(given.resource, parts.handler).options(given.options);
            put!(server, parts, ResourceDefinition, add_resource, entry)
        }),
        Registration::ResourceTemplate(mut given) => Box::new(move |server, parts| {
            given.options.resource.access.visible = parts.visible;
            let entry = ResourceTemplateDefinition::new(given.resource_template, parts.handler).options(given.options);
            let completed = parts.completers.into_iter();
            let entry = completed.fold(entry, |entry, (variable, completer)| entry.complete(variable, completer));
            put!(server, parts, ResourceTemplateDefinition, add_resource_template, entry)
        }),
        Registration::Prompt(mut given) => Box::new(move |server, parts| {
            given.options.access.visible = parts.visible;
            let entry = PromptDefinition::new(given.prompt, parts.handler).options(given.options);
            let completed = parts.completers.into_iter();
            let entry = completed.fold(entry, |entry, (argument, completer)| entry.complete(argument, completer));
            put!(server, parts, PromptDefinition, add_prompt, entry)
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
            let entry = DirectoryDefinition::new(given.uri, given.path).options(given.options);
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
            let entry = RequestHandlerDefinition::new(given.method, parts.handler).options(given.options);
            server.add_request_handler(entry).map(|added| added.id())
        }),
        Registration::Mount(given) => {
            let mounted = ports::server_of(state, given.mounted, given.port)?;
            Box::new(move |server, _| server.mount(&given.prefix, &mounted).map(|added| added.id()))
        }
        Registration::Proxy(given) => {
            let RegisterProxy { connection, port, options, .. } = given;
            let proxy = ports::proxy_of(state, &SharedConnection { connection, port })?.options(options);
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
            return Err(BridgeError::invalid("server: a custom store cannot be combined with options.store"));
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

pub(crate) fn register(state: &Arc<PortState>, given: Registration) -> Result<u64, BridgeError> {
    let (server, lane) = given.place();
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
    let visible = visible.transpose()?.map(|hook| Arc::new(handler(hook)) as _);
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
pub(crate) fn unregister(state: &PortState, handle: u64) -> Result<(), BridgeError> {
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
