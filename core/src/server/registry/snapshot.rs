//! Immutable snapshots of the registry: each request sees one snapshot, and each change creates a
//! new one.

use super::{
    category::{Category, ListSet},
    completers::unknown_argument,
    completion::{CompletionDefinition, CompletionTarget, RegisteredCompletion},
    duplicate::OnDuplicate,
    hook::{ProviderDefinition, RegisteredMiddleware, RegisteredProvider},
    list::{List, Listed},
    mount::RegisteredMount,
    prompt::RegisteredPrompt,
    register_error::RegisterError,
    request_handler::RegisteredRequestHandler,
    resource::{RegisteredResource, RegisteredTemplate},
    skill::{RegisteredSkill, StoredFile},
    tool::{RegisteredTool, TaskSupport},
};
use crate::server::{handlers::Handler, server_hooks::ServerHooks};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The features of a server at one point in time.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub(in crate::server) tools: Arc<List<RegisteredTool>>,
    pub(in crate::server) resources: Arc<List<RegisteredResource>>,
    pub(in crate::server) templates: Arc<List<RegisteredTemplate>>,
    pub(in crate::server) prompts: Arc<List<RegisteredPrompt>>,
    pub(in crate::server) skills: Arc<List<RegisteredSkill>>,
    completions: Arc<HashMap<(CompletionTarget, String), RegisteredCompletion>>,
    pub(super) providers: Arc<Vec<(Category, Arc<RegisteredProvider>)>>,
    pub(in crate::server) middlewares: Arc<Vec<Arc<RegisteredMiddleware>>>,
    /// The handlers of custom requests, by method.
    request_handlers: Arc<BTreeMap<&'static str, (u64, Arc<RegisteredRequestHandler>)>>,
    pub(in crate::server) mounts: Arc<Vec<Arc<RegisteredMount>>>,
    /// The lists that have or had items. A capability stays declared once it was.
    pub(super) offered: ListSet,
    /// `true` if a completion was ever registered.
    pub(super) completes: bool,
    /// `true` if a skill was ever registered.
    pub(super) has_skills: bool,
    /// `true` if a tool that can run as a task was ever registered.
    pub(super) has_tasks: bool,
    /// Shared by all snapshots of a server.
    pub(in crate::server) hooks: ServerHooks,
}

/// A feature to add to the registry.
pub(in crate::server) enum Addition {
    Tool(Arc<RegisteredTool>),
    Resource(Arc<RegisteredResource>),
    Template(Arc<RegisteredTemplate>),
    Prompt(Arc<RegisteredPrompt>),
    Skill(Arc<RegisteredSkill>),
    Completion(CompletionDefinition),
    Provider(ProviderDefinition),
    Middleware(RegisteredMiddleware),
    RequestHandler(RegisteredRequestHandler),
    Mount(RegisteredMount),
}

/// The registry after a change, and the lists that have changed.
pub(in crate::server) type Edited = (Snapshot, ListSet);

impl Snapshot {
    /// Creates the registry of a server without features.
    pub(in crate::server) fn new(hooks: ServerHooks) -> Self {
        Self { hooks, ..Self::default() }
    }

    /// The lists to declare. A server without features declares tools, which may be added later.
    pub(in crate::server) fn offered(&self) -> ListSet {
        let offered = if self.mounts.is_empty() { self.offered } else { self.offers().lists };
        if offered == ListSet::NONE { ListSet::TOOLS } else { offered }
    }

    /// Returns the registry with one more feature, or with the feature of the same name replaced.
    pub(in crate::server) fn with(
        &self,
        id: u64,
        addition: Addition,
        on_duplicate: OnDuplicate,
    ) -> Result<Edited, RegisterError> {
        let mut next = self.clone();
        let changed = next.declare(&addition);
        match addition {
            Addition::Tool(tool) => set(&mut next.tools, |list| list.with(id, tool, on_duplicate))?,
            Addition::Resource(resource) => set(&mut next.resources, |list| list.with(id, resource, on_duplicate))?,
            Addition::Template(template) => set(&mut next.templates, |list| list.with(id, template, on_duplicate))?,
            Addition::Prompt(prompt) => set(&mut next.prompts, |list| list.with(id, prompt, on_duplicate))?,
            Addition::Skill(skill) => {
                let others = || self.skills.iter().filter(|other| other.key() != skill.key());
                others().try_for_each(|other| skill.check_nesting(other))?;
                others().for_each(|other| skill.warn_of_same_name(other));
                let file = Arc::clone(&skill.resource);
                set(&mut next.resources, |list| list.with(id, file, on_duplicate))?;
                set(&mut next.skills, |list| list.with(id, skill, on_duplicate))?;
            }
            Addition::Completion(entry) => {
                self.check_completion(&entry)?;
                let is_taken = self.completion(&entry.reference, &entry.argument).is_some();
                if is_taken && on_duplicate == OnDuplicate::Error {
                    return Err(entry.taken());
                }
                let completion = RegisteredCompletion { id, handler: Arc::clone(&entry.handler) };
                Arc::make_mut(&mut next.completions).insert(entry.key(), completion);
            }
            Addition::Provider(entry) => {
                self.check_provider()?;
                let provider = Arc::new(RegisteredProvider::new(id, entry.handler));
                Arc::make_mut(&mut next.providers).push((entry.category, provider));
            }
            Addition::Middleware(middleware) => Arc::make_mut(&mut next.middlewares).push(Arc::new(middleware)),
            Addition::RequestHandler(entry) => {
                let method = entry.method.name;
                if self.request_handlers.contains_key(method) && on_duplicate == OnDuplicate::Error {
                    return Err(RegisterError(format!("A handler of {method} is already registered")));
                }
                Arc::make_mut(&mut next.request_handlers).insert(method, (id, Arc::new(entry)));
            }
            Addition::Mount(mount) => {
                self.check_mount(&mount.prefix)?;
                Arc::make_mut(&mut next.mounts).push(Arc::new(mount));
            }
        }
        next.offered = self.offered.with(changed);
        Ok((next, changed))
    }

    /// Declares the capabilities that a feature needs. Returns the lists that it changes.
    fn declare(&mut self, addition: &Addition) -> ListSet {
        match addition {
            Addition::Tool(tool) => self.has_tasks |= tool.task_support != TaskSupport::Forbidden,
            Addition::Template(template) => self.completes |= !template.completers.is_empty(),
            Addition::Prompt(prompt) => self.completes |= !prompt.completers.is_empty(),
            Addition::Completion(_) => self.completes = true,
            Addition::Skill(_) => self.has_skills = true,
            _ => {}
        }
        match addition {
            Addition::Tool(_) => ListSet::TOOLS,
            Addition::Resource(_) | Addition::Template(_) | Addition::Skill(_) => ListSet::RESOURCES,
            Addition::Prompt(_) => ListSet::PROMPTS,
            Addition::Provider(entry) => entry.category.change(),
            Addition::Mount(mount) => mount.offers().lists,
            Addition::Completion(_) | Addition::Middleware(_) | Addition::RequestHandler(_) => ListSet::NONE,
        }
    }

    /// CMP-03: refuses a completion for an argument that cannot exist.
    fn check_completion(&self, entry: &CompletionDefinition) -> Result<(), RegisterError> {
        let (noun, key) = (entry.reference.noun(), entry.reference.key());
        let (arguments, category) = match &entry.reference {
            CompletionTarget::Prompt(name) => {
                let prompt = self.prompts.id(name).and_then(|id| self.prompts.registered(id));
                (prompt.map(|prompt| prompt.argument_names()), Category::Prompts)
            }
            CompletionTarget::Resource(uri) => {
                let template = self.templates.id(uri).and_then(|id| self.templates.registered(id));
                (template.map(|template| template.template.variables()), Category::ResourceTemplates)
            }
        };
        let Some(arguments) = arguments else {
            // A provider may have it.
            if self.providers(category).next().is_some() {
                return Ok(());
            }
            return Err(RegisterError(format!(
                "Completion: there is no {noun} {key}; register it before the completions of its arguments"
            )));
        };
        if arguments.contains(&entry.argument.as_str()) {
            return Ok(());
        }
        let problem = unknown_argument(&entry.argument, &arguments);
        Err(RegisterError(format!("Completion of the {noun} {key}: {problem}")))
    }

    /// Returns the registry with a registered feature replaced by another of the same kind.
    pub(in crate::server) fn changed(&self, id: u64, by: Addition) -> Result<Edited, RegisterError> {
        let mut next = self.clone();
        let changed = next.declare(&by);
        match by {
            Addition::Tool(tool) => set(&mut next.tools, |list| list.changed(id, tool))?,
            Addition::Resource(resource) => set(&mut next.resources, |list| list.changed(id, resource))?,
            Addition::Template(template) => set(&mut next.templates, |list| list.changed(id, template))?,
            Addition::Prompt(prompt) => set(&mut next.prompts, |list| list.changed(id, prompt))?,
            Addition::Skill(_)
            | Addition::Completion(_)
            | Addition::Provider(_)
            | Addition::Middleware(_)
            | Addition::RequestHandler(_)
            | Addition::Mount(_) => return Err(RegisterError::removed()),
        }
        Ok((next, changed))
    }

    /// Returns the registry with a feature enabled or disabled. Returns `None` if it does not
    /// exist.
    pub(in crate::server) fn enabled(&self, id: u64, is_enabled: bool) -> Option<Edited> {
        let mut next = self.clone();
        let changed = put(&mut next.tools, self.tools.enabled(id, is_enabled), ListSet::TOOLS)
            .or_else(|| put(&mut next.resources, self.resources.enabled(id, is_enabled), ListSet::RESOURCES))
            .or_else(|| put(&mut next.templates, self.templates.enabled(id, is_enabled), ListSet::RESOURCES))
            .or_else(|| put(&mut next.prompts, self.prompts.enabled(id, is_enabled), ListSet::PROMPTS))?;
        Some((next, changed))
    }

    /// Returns the registry without the feature with that id. Returns `None` if it does not exist.
    pub(in crate::server) fn without(&self, id: u64) -> Option<Edited> {
        let mut next = self.clone();
        let of_skill = put(&mut next.skills, self.skills.without(id), ListSet::RESOURCES);
        let changed = put(&mut next.resources, self.resources.without(id), ListSet::RESOURCES)
            .or(of_skill)
            .or_else(|| put(&mut next.tools, self.tools.without(id), ListSet::TOOLS))
            .or_else(|| put(&mut next.templates, self.templates.without(id), ListSet::RESOURCES))
            .or_else(|| put(&mut next.prompts, self.prompts.without(id), ListSet::PROMPTS))
            .or_else(|| next.forget(id))?;
        Some((next, changed))
    }

    /// Removes what is in no list: a completion, a request handler, a provider, a middleware or a
    /// mount.
    fn forget(&mut self, id: u64) -> Option<ListSet> {
        if let Some((key, _)) = self.completions.iter().find(|(_, completion)| completion.id == id) {
            let key = key.clone();
            Arc::make_mut(&mut self.completions).remove(&key);
        } else if let Some((method, _)) = self.request_handlers.iter().find(|(_, (number, _))| *number == id) {
            let method = *method;
            Arc::make_mut(&mut self.request_handlers).remove(method);
        } else if let Some((category, _)) = take(&mut self.providers, |(_, provider)| provider.number == id) {
            return Some(category.change());
        } else if take(&mut self.middlewares, |middleware| middleware.number == id).is_none() {
            return take(&mut self.mounts, |mount| mount.number == id).map(|mount| mount.offers().lists);
        }
        Some(ListSet::NONE)
    }

    /// Returns the names or URIs of a category in list order.
    pub(in crate::server) fn names(&self, category: Category) -> Vec<String> {
        fn keys<T: Listed>(list: &List<T>) -> Vec<String> {
            list.iter().map(|item| item.key().to_owned()).collect()
        }
        match category {
            Category::Tools => keys(&self.tools),
            Category::Resources => keys(&self.resources),
            Category::ResourceTemplates => keys(&self.templates),
            Category::Prompts => keys(&self.prompts),
        }
    }

    /// Returns whether this server may have a resource. A provider or a remote server only knows
    /// when the resource is read.
    pub(in crate::server) fn may_have(&self, uri: &str) -> bool {
        let of_mount = |(mount, own): (&Arc<RegisteredMount>, String)| {
            mount.snapshot().is_none_or(|snapshot| snapshot.may_have(&own))
        };
        self.resources.get(uri).is_some()
            || self.templates.iter().any(|template| template.matches(uri).is_some())
            || self.providers(Category::Resources).next().is_some()
            || self.mount_of_uri(uri).is_some_and(of_mount)
    }

    /// Returns whether a feature with that name, URI or URI template is registered.
    pub(in crate::server) fn has(&self, category: Category, key: &str) -> bool {
        match category {
            Category::Tools => self.tools.get(key).is_some(),
            Category::Resources => self.resources.get(key).is_some(),
            Category::ResourceTemplates => self.templates.get(key).is_some(),
            Category::Prompts => self.prompts.get(key).is_some(),
        }
    }

    /// Returns whether callers may see different parts of a list, here or on a mounted server in
    /// this process.
    pub(in crate::server) fn is_personal(&self, category: Category) -> bool {
        let own = match category {
            Category::Tools => self.tools.is_personal(),
            Category::Resources => self.resources.is_personal(),
            Category::ResourceTemplates => self.templates.is_personal(),
            Category::Prompts => self.prompts.is_personal(),
        };
        let of_mount = |mount: &Arc<RegisteredMount>| mount.snapshot().is_some_and(|it| it.is_personal(category));
        own || self.mounts.iter().any(of_mount)
    }

    /// Returns the tools whose user interface no registered resource or template serves (APP-11),
    /// each with its URI. Empty if there is a provider of resources, which may serve any URI.
    pub(in crate::server) fn missing_interfaces(&self) -> Vec<(&str, &str)> {
        if self.providers(Category::Resources).next().is_some() {
            return Vec::new();
        }
        let is_served = |uri: &str| {
            self.resources.get(uri).is_some() || self.templates.iter().any(|template| template.matches(uri).is_some())
        };
        let named = self.tools.iter().filter_map(|tool| Some((tool.name.as_str(), tool.interface.as_deref()?)));
        named.filter(|(_, uri)| !is_served(uri)).collect()
    }

    /// Finds a file of a skill.
    pub(in crate::server) fn skill_file(&self, uri: &str) -> Option<&Arc<StoredFile>> {
        self.skills.iter().find_map(|skill| skill.files.get(uri))
    }

    /// The providers of a category, in registration order.
    pub(in crate::server) fn providers(&self, category: Category) -> impl Iterator<Item = &Arc<RegisteredProvider>> {
        self.providers.iter().filter(move |(of, _)| *of == category).map(|(_, provider)| provider)
    }

    /// Finds the handler of a custom request.
    pub(in crate::server) fn request_handler(&self, method: &str) -> Option<&Arc<RegisteredRequestHandler>> {
        self.request_handlers.get(method).map(|(_, handler)| handler)
    }

    /// Finds the completion of an argument: one that was registered separately, or else one
    /// declared by the feature.
    pub(in crate::server) fn completion(
        &self,
        reference: &CompletionTarget,
        argument: &str,
    ) -> Option<&Arc<dyn Handler>> {
        let registered = self.completions.get(&(reference.clone(), argument.to_owned()));
        registered.map(|completion| &completion.handler).or_else(|| match reference {
            CompletionTarget::Prompt(name) => {
                self.prompts.id(name).and_then(|id| self.prompts.registered(id))?.completers.get(argument)
            }
            CompletionTarget::Resource(uri) => {
                self.templates.id(uri).and_then(|id| self.templates.registered(id))?.completers.get(argument)
            }
        })
    }
}

/// Removes the item that fits.
fn take<T: Clone>(items: &mut Arc<Vec<T>>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let position = items.iter().position(fits)?;
    Some(Arc::make_mut(items).remove(position))
}

fn set<T>(
    list: &mut Arc<List<T>>,
    edit: impl FnOnce(&List<T>) -> Result<List<T>, RegisterError>,
) -> Result<(), RegisterError> {
    *list = Arc::new(edit(list)?);
    Ok(())
}

/// Replaces a list with its edited version.
fn put<T>(list: &mut Arc<List<T>>, edited: Option<List<T>>, of: ListSet) -> Option<ListSet> {
    *list = Arc::new(edited?);
    Some(of)
}
