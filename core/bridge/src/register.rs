//! Registration: servers, their features, and hooks.

use super::{
    calls::HostHandler,
    config,
    entries::{HostTarget, RegisteredFeature},
    error::{BridgeError, ErrorKind},
    event::Lane,
    message::{self, RegisterServer, RegisterSkill, Registration, hints},
    state::{PortState, full},
    table::HandleKind,
    verifications,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use trunkline::protocol::model::Implementation;
use trunkline::server::{
    Category, CompletionDefinition, CompletionTarget, MiddlewareDefinition, PromptDefinition, ProviderDefinition,
    RegisterError, RegistryKey as Registered, ResourceDefinition, ResourceTemplateDefinition, Server, SkillDefinition,
    SkillFile, ToolDefinition,
};

fn skill_file(given: message::SkillFile) -> Result<SkillFile, BridgeError> {
    let wrong = |problem: &str| BridgeError::invalid(format!("skill: {}: {problem}", given.path));
    let bytes = match (given.text, given.blob) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| wrong("blob must be Base64"))?,
        _ => return Err(wrong("needs either text or blob")),
    };
    let file = SkillFile::new(given.path, bytes);
    Ok(match given.mime_type {
        Some(mime_type) => file.mime_type(mime_type),
        None => file,
    })
}

fn skill_entry(given: RegisterSkill) -> Result<SkillDefinition, BridgeError> {
    let entry = match &given.folder {
        Some(folder) if given.files.is_empty() => {
            SkillDefinition::from_folder(folder).map_err(|error| BridgeError::invalid(format!("skill: {error}")))?
        }
        Some(_) => return Err(BridgeError::invalid("skill: needs either folder or files")),
        None => SkillDefinition::new(given.files.into_iter().map(skill_file).collect::<Result<Vec<_>, _>>()?),
    };
    let entry = entry.cache(hints(given.ttl, given.cache_scope));
    Ok(match given.root {
        Some(root) => entry.root(root),
        None => entry,
    })
}

/// The text that names a feature in its descriptor.
fn key(descriptor: &Value, member: &str) -> String {
    descriptor[member].as_str().unwrap_or_default().to_owned()
}

/// Adds a feature or hook to the registry of a server, which gives its registration.
type PendingAddition = Box<dyn FnOnce(&Server, HostHandler) -> Result<Registered, RegisterError>>;

fn addition(given: Registration) -> Result<PendingAddition, BridgeError> {
    Ok(match given {
        Registration::Tool(given) => Box::new(move |server, handler| {
            let registration = Registered::Item(Category::Tools, key(&given.tool, "name"));
            let mut entry = ToolDefinition::new(given.tool, handler)
                .wrap_output(given.wrap_output)
                .defer_task(given.defer_task)
                .scopes(given.scopes);
            if let Some(requires) = given.requires {
                entry = entry.requires(requires);
            }
            server.add_tool(entry).map(|()| registration)
        }),
        Registration::Resource(given) => Box::new(move |server, handler| {
            let registration = Registered::Item(Category::Resources, key(&given.resource, "uri"));
            let hints = hints(given.ttl, given.cache_scope);
            server.add_resource(ResourceDefinition::new(given.resource, handler).cache(hints)).map(|()| registration)
        }),
        Registration::ResourceTemplate(given) => Box::new(move |server, handler| {
            let template = given.resource_template;
            let registration = Registered::Item(Category::ResourceTemplates, key(&template, "uriTemplate"));
            let entry = ResourceTemplateDefinition::new(template, handler).cache(hints(given.ttl, given.cache_scope));
            server.add_resource_template(entry).map(|()| registration)
        }),
        Registration::Prompt(given) => Box::new(move |server, handler| {
            let registration = Registered::Item(Category::Prompts, key(&given.prompt, "name"));
            server.add_prompt(PromptDefinition::new(given.prompt, handler)).map(|()| registration)
        }),
        Registration::Completion(given) => {
            let target = CompletionTarget::read(&given.reference)
                .map_err(|problem| BridgeError::invalid(format!("completion: {problem}")))?;
            Box::new(move |server, handler| {
                let registration = Registered::Completion(target.clone(), given.argument.clone());
                server.add_completion(CompletionDefinition::new(target, given.argument, handler)).map(|()| registration)
            })
        }
        Registration::Skill(given) => {
            let entry = skill_entry(given)?;
            Box::new(move |server, _| server.add_skill(entry))
        }
        Registration::Provider(given) => {
            let category = config::category(&given.of)?;
            Box::new(move |server, handler| server.add_provider(ProviderDefinition::new(category, handler)))
        }
        Registration::Middleware(given) => Box::new(move |server, handler| {
            let entry = MiddlewareDefinition::new(handler);
            server.add_middleware(match given.methods {
                Some(methods) => entry.methods(methods),
                None => entry,
            })
        }),
        Registration::Server(_) | Registration::Verifier(_) => {
            return Err(BridgeError::new(
                ErrorKind::Internal,
                "neither a server nor a verifier joins a server's lists",
            ));
        }
    })
}

fn register_server(state: &PortState, given: RegisterServer) -> Result<u64, BridgeError> {
    for member in ["name", "version"] {
        if given.info.get(member).and_then(Value::as_str).is_none() {
            return Err(BridgeError::invalid(format!("server: info.{member} must be a string")));
        }
    }
    // An object that clients would refuse to read is refused here.
    Implementation::deserialize(&given.info).map_err(|error| BridgeError::invalid(format!("server: info: {error}")))?;
    given.options.check().map_err(|error| BridgeError::invalid(format!("server: {error}")))?;
    let server = Server::new(given.info, given.instructions, given.options);
    state.tables.lock().servers.insert(server).ok_or_else(full)
}

pub(super) fn register(state: &Arc<PortState>, given: Registration) -> Result<u64, BridgeError> {
    let (server, lane) = match &given {
        Registration::Server(_) => (0, Lane::default()),
        Registration::Tool(given) => (given.server, given.lane),
        Registration::Resource(given) => (given.server, given.lane),
        Registration::ResourceTemplate(given) => (given.server, given.lane),
        Registration::Prompt(given) => (given.server, given.lane),
        Registration::Skill(given) => (given.server, given.lane),
        Registration::Completion(given) => (given.server, given.lane),
        Registration::Provider(given) => (given.server, given.lane),
        Registration::Middleware(given) => (given.server, given.lane),
        Registration::Verifier(given) => (given.server, given.lane),
    };
    match given {
        Registration::Server(given) => register_server(state, given),
        Registration::Verifier(_) => verifications::register(state, state.server(server)?, lane),
        given => register_feature(state, state.server(server)?, lane, given),
    }
}

fn register_feature(
    state: &Arc<PortState>,
    server: Server,
    lane: Lane,
    given: Registration,
) -> Result<u64, BridgeError> {
    let add = addition(given)?;
    let target = HostTarget::new(&state.queue, lane);
    // The number first: a call may arrive as soon as the feature is there.
    let feature = RegisteredFeature { server: server.clone(), registration: None };
    let handle = state.tables.lock().features.insert(feature).ok_or_else(full)?;
    target.set_handle(handle);
    match add(&server, HostHandler { state: Arc::downgrade(state), target }) {
        Ok(added) => {
            if let Some(feature) = state.tables.lock().features.get_mut(handle) {
                feature.registration = Some(added);
            }
            Ok(handle)
        }
        Err(error) => {
            let feature = state.tables.lock().features.remove(handle);
            drop(feature);
            Err(BridgeError::invalid(error.to_string()))
        }
    }
}

/// Takes a registered feature away.
pub(super) fn unregister(state: &PortState, handle: u64) -> Result<(), BridgeError> {
    let stale = || BridgeError::stale("something registered", handle);
    match HandleKind::of(handle) {
        Some(HandleKind::Server) => unregister_server(state, handle).ok_or_else(stale),
        Some(HandleKind::Feature) => {
            let feature = state.tables.lock().features.remove(handle).ok_or_else(stale)?;
            if let Some(registration) = feature.registration {
                feature.server.remove(&registration);
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
