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
        let changed = match addition {
            Addition::Tool(tool) => {
                next.has_tasks |= tool.task_support != TaskSupport::Forbidden;
                next.tools = Arc::new(self.tools.with(id, tool, on_duplicate)?);
                ListSet::TOOLS
            }
            Addition::Resource(resource) => {
                next.resources = Arc::new(self.resources.with(id, resource, on_duplicate)?);
                ListSet::RESOURCES
            }
            Addition::Template(template) => {
                next.completes |= !template.completers.is_empty();
                next.templates = Arc::new(self.templates.with(id, template, on_duplicate)?);
                ListSet::RESOURCES
            }
            Addition::Prompt(prompt) => {
                next.completes |= !prompt.completers.is_empty();
                next.prompts = Arc::new(self.prompts.with(id, prompt, on_duplicate)?);
                ListSet::PROMPTS
            }
            Addition::Skill(skill) => {
                let others = || self.skills.iter().filter(|other| other.key() != skill.key());
                others().try_for_each(|other| skill.check_nesting(other))?;
                others().for_each(|other| skill.warn_of_same_name(other));
                next.resources = Arc::new(self.resources.with(id, Arc::clone(&skill.resource), on_duplicate)?);
                next.skills = Arc::new(self.skills.with(id, skill, on_duplicate)?);
                next.has_skills = true;
                ListSet::RESOURCES
            }
            Addition::Completion(entry) => {
                self.check_completion(&entry)?;
                let key = entry.key();
                let is_taken = self.completion(&entry.reference, &entry.argument).is_some();
                if is_taken && on_duplicate == OnDuplicate::Error {
                    return Err(entry.taken());
                }
                let mut completions = (*self.completions).clone();
                completions.insert(key, RegisteredCompletion { id, handler: entry.handler });
                next.completions = Arc::new(completions);
                next.completes = true;
                ListSet::NONE
            }
            Addition::Provider(entry) => {
                self.check_provider()?;
                let mut providers = (*self.providers).clone();
                providers.push((entry.category, Arc::new(RegisteredProvider::new(id, entry.handler))));
                next.providers = Arc::new(providers);
                entry.category.change()
            }
            Addition::Middleware(middleware) => {
                let mut middlewares = (*self.middlewares).clone();
                middlewares.push(Arc::new(middleware));
                next.middlewares = Arc::new(middlewares);
                ListSet::NONE
            }
            Addition::RequestHandler(entry) => {
                let method = entry.method.name;
                if self.request_handlers.contains_key(method) && on_duplicate == OnDuplicate::Error {
                    return Err(RegisterError(format!("A handler of {method} is already registered")));
                }
                let mut handlers = (*self.request_handlers).clone();
                handlers.insert(method, (id, Arc::new(entry)));
                next.request_handlers = Arc::new(handlers);
                ListSet::NONE
            }
            Addition::Mount(mount) => {
                self.check_mount(&mount.prefix)?;
                let changed = mount.offers().lists;
                next.mounts = Arc::new(self.mounts.iter().cloned().chain([Arc::new(mount)]).collect());
                changed
            }
        };
        next.offered = self.offered.with(changed);
        Ok((next, changed))
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

    /// Returns the registry with a registered feature replaced by another of the same kind. Returns
    /// `None` if it does not exist.
    pub(in crate::server) fn changed(&self, id: u64, by: Addition) -> Option<Result<Edited, RegisterError>> {
        fn set<T>(list: &mut Arc<List<T>>, edited: Result<List<T>, RegisterError>) -> Result<(), RegisterError> {
            *list = Arc::new(edited?);
            Ok(())
        }
        let mut next = self.clone();
        let (set, changed) = match by {
            Addition::Tool(tool) => {
                next.has_tasks |= tool.task_support != TaskSupport::Forbidden;
                (set(&mut next.tools, self.tools.changed(id, tool)?), ListSet::TOOLS)
            }
            Addition::Resource(resource) => {
                (set(&mut next.resources, self.resources.changed(id, resource)?), ListSet::RESOURCES)
            }
            Addition::Template(template) => {
                next.completes |= !template.completers.is_empty();
                (set(&mut next.templates, self.templates.changed(id, template)?), ListSet::RESOURCES)
            }
            Addition::Prompt(prompt) => {
                next.completes |= !prompt.completers.is_empty();
                (set(&mut next.prompts, self.prompts.changed(id, prompt)?), ListSet::PROMPTS)
            }
            Addition::Skill(_)
            | Addition::Completion(_)
            | Addition::Provider(_)
            | Addition::Middleware(_)
            | Addition::RequestHandler(_)
            | Addition::Mount(_) => return None,
        };
        Some(set.map(|()| (next, changed)))
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
            .or_else(|| next.forget_completion(id))
            .or_else(|| next.forget_request_handler(id))
            .or_else(|| next.forget_hook(id))?;
        Some((next, changed))
    }

    fn forget_completion(&mut self, id: u64) -> Option<ListSet> {
        let (key, _) = self.completions.iter().find(|(_, completion)| completion.id == id)?;
        let (key, mut completions) = (key.clone(), (*self.completions).clone());
        completions.remove(&key);
        self.completions = Arc::new(completions);
        Some(ListSet::NONE)
    }

    fn forget_request_handler(&mut self, id: u64) -> Option<ListSet> {
        let (method, _) = self.request_handlers.iter().find(|(_, (number, _))| *number == id)?;
        let (method, mut handlers) = (*method, (*self.request_handlers).clone());
        handlers.remove(method);
        self.request_handlers = Arc::new(handlers);
        Some(ListSet::NONE)
    }

    /// Removes a provider, a middleware or a mount.
    fn forget_hook(&mut self, id: u64) -> Option<ListSet> {
        if let Some(position) = self.providers.iter().position(|(_, provider)| provider.number == id) {
            let mut providers = (*self.providers).clone();
            let (category, _) = providers.remove(position);
            self.providers = Arc::new(providers);
            return Some(category.change());
        }
        if let Some(position) = self.middlewares.iter().position(|middleware| middleware.number == id) {
            let mut middlewares = (*self.middlewares).clone();
            middlewares.remove(position);
            self.middlewares = Arc::new(middlewares);
            return Some(ListSet::NONE);
        }
        let position = self.mounts.iter().position(|mount| mount.number == id)?;
        let mut mounts = (*self.mounts).clone();
        let removed = mounts.remove(position);
        self.mounts = Arc::new(mounts);
        Some(removed.offers().lists)
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

/// Replaces a list with its edited version.
fn put<T>(list: &mut Arc<List<T>>, edited: Option<List<T>>, of: ListSet) -> Option<ListSet> {
    *list = Arc::new(edited?);
    Some(of)
}
