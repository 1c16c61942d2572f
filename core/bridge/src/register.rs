//! What a host registers: servers, what they offer, and hooks.

use super::{
    BridgeError, Lane,
    config::{self, ServerConfig, millis},
    entries::{Entry, HostHandler, HostTarget},
    port::PortInner,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use trunkline::server::{
    CacheHints, CacheScope, Category, CompletionEntry, CompletionTarget, MiddlewareEntry, PromptEntry, ProviderEntry,
    RegisterError, Registration, ResourceEntry, ResourceTemplateEntry, Server, SkillEntry, SkillFile, ToolEntry,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolConfig {
    tool: Value,
    #[serde(default)]
    wrap_output: bool,
    requires: Option<Value>,
    #[serde(default)]
    defer_task: bool,
    #[serde(default)]
    scopes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceConfig {
    resource: Value,
    ttl_ms: Option<u64>,
    #[serde(default)]
    cache_scope: CacheScope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceTemplateConfig {
    resource_template: Value,
    ttl_ms: Option<u64>,
    #[serde(default)]
    cache_scope: CacheScope,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptConfig {
    prompt: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SkillConfig {
    root: Option<String>,
    folder: Option<String>,
    #[serde(default)]
    files: Vec<SkillFileConfig>,
    ttl_ms: Option<u64>,
    #[serde(default)]
    cache_scope: CacheScope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SkillFileConfig {
    path: String,
    text: Option<String>,
    blob: Option<String>,
    mime_type: Option<String>,
}

impl SkillFileConfig {
    fn file(self) -> Result<SkillFile, BridgeError> {
        let wrong = |problem: &str| BridgeError::invalid(format!("skill: {}: {problem}", self.path));
        let bytes = match (self.text, self.blob) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| wrong("blob must be Base64"))?,
            _ => return Err(wrong("needs either text or blob")),
        };
        let file = SkillFile::new(self.path, bytes);
        Ok(match self.mime_type {
            Some(mime_type) => file.mime_type(mime_type),
            None => file,
        })
    }
}

impl SkillConfig {
    fn entry(self) -> Result<SkillEntry, BridgeError> {
        let entry = match &self.folder {
            Some(folder) if self.files.is_empty() => {
                SkillEntry::from_folder(folder).map_err(|error| BridgeError::invalid(format!("skill: {error}")))?
            }
            Some(_) => return Err(BridgeError::invalid("skill: needs either folder or files")),
            None => SkillEntry::new(self.files.into_iter().map(SkillFileConfig::file).collect::<Result<Vec<_>, _>>()?),
        };
        let entry = entry.cache(hints(self.ttl_ms, self.cache_scope));
        Ok(match self.root {
            Some(root) => entry.root(root),
            None => entry,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletionConfig {
    #[serde(rename = "ref")]
    reference: Value,
    argument: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderConfig {
    of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MiddlewareConfig {
    methods: Option<Vec<String>>,
}

fn hints(ttl_ms: Option<u64>, scope: CacheScope) -> CacheHints {
    CacheHints { ttl: millis(ttl_ms, Duration::ZERO), scope }
}

/// The text that names a thing in its descriptor.
fn key(descriptor: &Value, member: &str) -> String {
    descriptor[member].as_str().unwrap_or_default().to_owned()
}

/// Puts something into a server's catalog; what gives its registration is known then at the latest.
type Addition = Box<dyn FnOnce(&Server, HostHandler) -> Result<Registration, RegisterError>>;

fn addition(kind: &str, rest: Value) -> Result<Addition, BridgeError> {
    fn read<T: DeserializeOwned>(kind: &str, rest: Value) -> Result<T, BridgeError> {
        config::read_value(kind, rest)
    }
    Ok(match kind {
        "tool" => {
            let given: ToolConfig = read(kind, rest)?;
            Box::new(move |server, handler| {
                let registration = Registration::Item(Category::Tools, key(&given.tool, "name"));
                let mut entry = ToolEntry::new(given.tool, handler)
                    .wrap_output(given.wrap_output)
                    .defer_task(given.defer_task)
                    .scopes(given.scopes);
                if let Some(requires) = given.requires {
                    entry = entry.requires(requires);
                }
                server.add_tool(entry).map(|()| registration)
            })
        }
        "resource" => {
            let given: ResourceConfig = read(kind, rest)?;
            Box::new(move |server, handler| {
                let registration = Registration::Item(Category::Resources, key(&given.resource, "uri"));
                let hints = hints(given.ttl_ms, given.cache_scope);
                server.add_resource(ResourceEntry::new(given.resource, handler).cache(hints)).map(|()| registration)
            })
        }
        "resourceTemplate" => {
            let given: ResourceTemplateConfig = read(kind, rest)?;
            Box::new(move |server, handler| {
                let template = given.resource_template;
                let registration = Registration::Item(Category::ResourceTemplates, key(&template, "uriTemplate"));
                let hints = hints(given.ttl_ms, given.cache_scope);
                let entry = ResourceTemplateEntry::new(template, handler).cache(hints);
                server.add_resource_template(entry).map(|()| registration)
            })
        }
        "prompt" => {
            let given: PromptConfig = read(kind, rest)?;
            Box::new(move |server, handler| {
                let registration = Registration::Item(Category::Prompts, key(&given.prompt, "name"));
                server.add_prompt(PromptEntry::new(given.prompt, handler)).map(|()| registration)
            })
        }
        "completion" => {
            let given: CompletionConfig = read(kind, rest)?;
            let target = CompletionTarget::read(&given.reference)
                .map_err(|problem| BridgeError::invalid(format!("completion: {problem}")))?;
            Box::new(move |server, handler| {
                let registration = Registration::Completion(target.clone(), given.argument.clone());
                server.add_completion(CompletionEntry::new(target, given.argument, handler)).map(|()| registration)
            })
        }
        "skill" => {
            let given: SkillConfig = read(kind, rest)?;
            let entry = given.entry()?;
            Box::new(move |server, _| server.add_skill(entry))
        }
        "provider" => {
            let given: ProviderConfig = read(kind, rest)?;
            let category = config::category(&given.of)?;
            Box::new(move |server, handler| server.add_provider(ProviderEntry::new(category, handler)))
        }
        "middleware" => {
            let given: MiddlewareConfig = read(kind, rest)?;
            Box::new(move |server, handler| {
                let entry = MiddlewareEntry::new(handler);
                server.add_middleware(match given.methods {
                    Some(methods) => entry.methods(methods),
                    None => entry,
                })
            })
        }
        other => {
            return Err(BridgeError::invalid(format!(
                "register: {other:?} is no kind; there are server, tool, resource, resourceTemplate, prompt, completion, skill, provider, middleware and verifier"
            )));
        }
    })
}

impl PortInner {
    pub(super) fn register_server(&self, json: &[u8]) -> Result<u64, BridgeError> {
        let given: ServerConfig = config::read("server", json)?;
        let options = given.options()?;
        options.check().map_err(|error| BridgeError::invalid(format!("server: {error}")))?;
        self.insert(Entry::Server(Server::new(given.info, given.instructions, options)))
    }

    pub(super) fn register(self: &Arc<Self>, kind: &str, json: &[u8]) -> Result<u64, BridgeError> {
        let mut members: Map<String, Value> = config::read(kind, json)?;
        let server = match members.shift_remove("server").as_ref().and_then(Value::as_u64) {
            Some(handle) => self.server(handle)?,
            None => return Err(BridgeError::invalid(format!("{kind}: server must be the handle of a server"))),
        };
        let lane: Lane = match members.shift_remove("lane") {
            Some(lane) => config::read_value(&format!("{kind}: lane"), lane)?,
            None => Lane::default(),
        };
        if kind == "verifier" {
            return self.register_verifier(server, lane, &members);
        }
        let add = addition(kind, Value::Object(members))?;
        let host = Arc::new(HostTarget { port: Arc::downgrade(self), handle: OnceLock::new(), lane });
        // The number first: a call may arrive as soon as the thing is there.
        let handle = self.insert(Entry::Registered { server: server.clone(), registration: None })?;
        let _ = host.handle.set(handle);
        match add(&server, HostHandler(host)) {
            Ok(added) => {
                self.with_entry(handle, |entry| {
                    if let Entry::Registered { registration, .. } = entry {
                        *registration = Some(added);
                    }
                });
                Ok(handle)
            }
            Err(error) => {
                self.remove(handle);
                Err(BridgeError::invalid(error.to_string()))
            }
        }
    }
}
