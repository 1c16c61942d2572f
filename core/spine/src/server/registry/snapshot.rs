//! The features of a server. Each request sees one snapshot of them, and what in it can serve a
//! resource.

use super::{
    category::{Category, ListSet},
    completers::unknown_argument,
    completion::{CompletionDefinition, CompletionTarget},
    hook::{ProviderDefinition, RegisteredMiddleware, RegisteredProvider},
    list::{List, Listed},
    listed_tools::ListedSchema,
    mount::{Offers, RegisteredMount},
    prompt::RegisteredPrompt,
    register_error::{OnDuplicate, RegisterError},
    request_handler::RegisteredRequestHandler,
    resource::{ReadInfo, RegisteredResource, RegisteredTemplate},
    skill::{RegisteredSkill, StoredFile},
    tool::RegisteredTool,
};
use crate::{
    protocol::model::TaskSupport,
    server::{handlers::Handler, server_hooks::ServerHooks},
};
use std::{
    any::Any,
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
    completions: Arc<Completions>,
    pub(super) providers: Arc<Vec<(Category, Arc<RegisteredProvider>)>>,
    pub(in crate::server) middlewares: Arc<Vec<Arc<RegisteredMiddleware>>>,
    /// The handlers of custom requests, by method.
    request_handlers: Arc<BTreeMap<&'static str, (u64, Arc<RegisteredRequestHandler>)>>,
    pub(in crate::server) mounts: Arc<Vec<Arc<RegisteredMount>>>,
    /// The past and present offers of the server itself: those once declared stay declared.
    pub(super) own: Offers,
    /// True if a tool with parameters that are mirrored in HTTP headers was registered.
    mirrors: bool,
    /// Shared by all snapshots of a server.
    pub(in crate::server) hooks: ServerHooks,
}

/// The handlers of completions that were registered separately, with their ids.
type Completions = HashMap<(CompletionTarget, String), (u64, Arc<dyn Handler>)>;

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

/// A change of the registry.
#[derive(Default)]
pub(in crate::server) struct Change {
    /// The lists that have changed.
    pub(in crate::server) lists: ListSet,
    /// The entry that was removed or replaced. Dropping it may notify its owner, so it is dropped
    /// without locks.
    pub(in crate::server) removed: Option<Arc<dyn Any + Send + Sync>>,
    /// The mount that was removed, whose lists have changed too.
    pub(in crate::server) unmounted: Option<Arc<RegisteredMount>>,
}

impl Addition {
    /// The lists that the feature is in.
    pub(in crate::server) fn lists(&self) -> ListSet {
        match self {
            Self::Tool(_) => ListSet::TOOLS,
            Self::Resource(_) | Self::Template(_) | Self::Skill(_) => ListSet::RESOURCES,
            Self::Prompt(_) => ListSet::PROMPTS,
            Self::Provider(entry) => entry.category.change(),
            Self::Mount(mount) => mount.offers().lists,
            Self::Completion(_) | Self::Middleware(_) | Self::RequestHandler(_) => ListSet::NONE,
        }
    }
}

impl Snapshot {
    /// Creates the registry of a server without features.
    pub(in crate::server) fn new(hooks: ServerHooks) -> Self {
        Self { hooks, ..Self::default() }
    }

    /// The lists to declare. A server without features declares tools, which may be added later.
    pub(in crate::server) fn offered(&self) -> ListSet {
        let offered = self.offers().lists;
        if offered == ListSet::NONE { ListSet::TOOLS } else { offered }
    }

    /// Adds a feature that is in these lists, or replaces the feature of the same name. An error
    /// changes nothing.
    pub(in crate::server) fn add(
        &mut self,
        id: u64,
        addition: Addition,
        lists: ListSet,
        on_duplicate: OnDuplicate,
    ) -> Result<Change, RegisterError> {
        let declared = self.declared_with(&addition, lists);
        let removed = match addition {
            Addition::Tool(tool) => erased(Arc::make_mut(&mut self.tools).add(id, tool, on_duplicate)?),
            Addition::Resource(item) => erased(Arc::make_mut(&mut self.resources).add(id, item, on_duplicate)?),
            Addition::Template(item) => erased(Arc::make_mut(&mut self.templates).add(id, item, on_duplicate)?),
            Addition::Prompt(prompt) => erased(Arc::make_mut(&mut self.prompts).add(id, prompt, on_duplicate)?),
            Addition::Skill(skill) => {
                let others = || self.skills.iter().filter(|other| other.key() != skill.key());
                others().try_for_each(|other| skill.check_nesting(other))?;
                others().for_each(|other| skill.warn_of_same_name(other));
                let mut skills = (*self.skills).clone();
                let replaced = skills.add(id, Arc::clone(&skill), on_duplicate)?;
                let resources = Arc::make_mut(&mut self.resources);
                let file = resources.add(id, Arc::clone(&skill.resource), on_duplicate)?;
                self.skills = Arc::new(skills);
                erased(Some(Arc::new((replaced, file))))
            }
            Addition::Completion(entry) => {
                self.check_completion(&entry)?;
                let is_taken = self.completion(&entry.reference, &entry.argument).is_some();
                if is_taken && on_duplicate == OnDuplicate::Error {
                    return Err(entry.taken());
                }
                let CompletionDefinition { reference, argument, handler } = entry;
                let completions = Arc::make_mut(&mut self.completions);
                erased(completions.insert((reference, argument), (id, handler)).map(Arc::new))
            }
            Addition::Provider(entry) => {
                self.check_provider()?;
                let provider = Arc::new(RegisteredProvider::new(id, entry.handler));
                Arc::make_mut(&mut self.providers).push((entry.category, provider));
                None
            }
            Addition::Middleware(middleware) => {
                let middleware = Arc::new(RegisteredMiddleware { number: id, ..middleware });
                Arc::make_mut(&mut self.middlewares).push(middleware);
                None
            }
            Addition::RequestHandler(entry) => {
                let method = entry.method.name;
                if self.request_handlers.contains_key(method) && on_duplicate == OnDuplicate::Error {
                    return Err(RegisterError(format!("A handler of {method} is already registered")));
                }
                let handlers = Arc::make_mut(&mut self.request_handlers);
                erased(handlers.insert(method, (id, Arc::new(entry))).map(|(_, replaced)| replaced))
            }
            Addition::Mount(mount) => {
                self.check_mount(&mount.prefix)?;
                Arc::make_mut(&mut self.mounts).push(Arc::new(RegisteredMount { number: id, ..mount }));
                None
            }
        };
        (self.own, self.mirrors) = declared;
        Ok(Change { lists, removed, unmounted: None })
    }

    /// Returns whether a tool may have parameters that are mirrored in HTTP headers.
    pub(in crate::server) fn may_mirror(&self) -> bool {
        self.mirrors || !self.mounts.is_empty() || self.providers(Category::Tools).next().is_some()
    }

    /// Returns the schema of a tool that a provider has listed to a principal.
    pub(in crate::server) fn listed_tool(&self, principal: &str, name: &str) -> Option<Arc<ListedSchema>> {
        self.providers(Category::Tools).find_map(|provider| provider.listed.schema(principal, name))
    }

    /// The server's own offers and whether a tool mirrors parameters, with one more feature.
    fn declared_with(&self, addition: &Addition, lists: ListSet) -> (Offers, bool) {
        let (mut own, mut mirrors) = (self.own, self.mirrors);
        // A transparent proxy declares what its server does, and that only while it is there.
        let is_transparent = matches!(addition, Addition::Mount(mount) if mount.is_transparent());
        own.lists = own.lists.with(if is_transparent { ListSet::NONE } else { lists });
        match addition {
            Addition::Tool(tool) => {
                own.tasks |= tool.task_support != TaskSupport::Forbidden;
                mirrors |= !tool.mirrored.is_empty();
            }
            Addition::Template(template) => own.completions |= !template.completers.is_empty(),
            Addition::Prompt(prompt) => own.completions |= !prompt.completers.is_empty(),
            Addition::Completion(_) => own.completions = true,
            Addition::Skill(_) => own.skills = true,
            _ => {}
        }
        (own, mirrors)
    }

    /// CMP-03: refuses a completion for an argument that cannot exist.
    fn check_completion(&self, entry: &CompletionDefinition) -> Result<(), RegisterError> {
        let (noun, key) = entry.reference.noun_and_key();
        let (arguments, category) = match &entry.reference {
            CompletionTarget::Prompt(name) => {
                (self.prompts.known(name).map(|prompt| prompt.argument_names()), Category::Prompts)
            }
            CompletionTarget::Resource(uri) => {
                let template = self.templates.known(uri);
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

    /// Replaces a registered feature with another of the same kind.
    pub(in crate::server) fn change(&mut self, id: u64, by: Addition) -> Result<Change, RegisterError> {
        let lists = by.lists();
        let declared = self.declared_with(&by, lists);
        let removed: Arc<dyn Any + Send + Sync> = match by {
            Addition::Tool(tool) => Arc::make_mut(&mut self.tools).change(id, tool)?,
            Addition::Resource(resource) => Arc::make_mut(&mut self.resources).change(id, resource)?,
            Addition::Template(template) => Arc::make_mut(&mut self.templates).change(id, template)?,
            Addition::Prompt(prompt) => Arc::make_mut(&mut self.prompts).change(id, prompt)?,
            Addition::Skill(_)
            | Addition::Completion(_)
            | Addition::Provider(_)
            | Addition::Middleware(_)
            | Addition::RequestHandler(_)
            | Addition::Mount(_) => return Err(RegisterError::removed()),
        };
        (self.own, self.mirrors) = declared;
        Ok(Change { lists, removed: Some(removed), unmounted: None })
    }

    /// Enables or disables a feature. Returns `None` if it does not exist.
    pub(in crate::server) fn enable(&mut self, id: u64, is_enabled: bool) -> Option<Change> {
        fn list<T: Listed>(list: &mut Arc<List<T>>, id: u64, is_enabled: bool, lists: ListSet) -> Option<Change> {
            list.registered(id)?;
            let is_change = Arc::make_mut(list).enable(id, is_enabled)?;
            Some(if is_change { Change { lists, ..Change::default() } } else { Change::default() })
        }
        list(&mut self.tools, id, is_enabled, ListSet::TOOLS)
            .or_else(|| list(&mut self.resources, id, is_enabled, ListSet::RESOURCES))
            .or_else(|| list(&mut self.templates, id, is_enabled, ListSet::RESOURCES))
            .or_else(|| list(&mut self.prompts, id, is_enabled, ListSet::PROMPTS))
    }

    /// Removes the feature with that id. Returns `None` if it does not exist.
    pub(in crate::server) fn remove(&mut self, id: u64) -> Option<Change> {
        fn list<T: Listed + Send + Sync + 'static>(list: &mut Arc<List<T>>, id: u64, lists: ListSet) -> Option<Change> {
            list.registered(id)?;
            let removed = erased(Arc::make_mut(list).remove(id));
            Some(Change { lists, removed, unmounted: None })
        }
        let skill = list(&mut self.skills, id, ListSet::RESOURCES);
        let resource = list(&mut self.resources, id, ListSet::RESOURCES);
        if let Some(skill) = skill {
            let removed = erased(Some(Arc::new((skill.removed, resource.and_then(|change| change.removed)))));
            return Some(Change { removed, ..skill });
        }
        resource
            .or_else(|| list(&mut self.tools, id, ListSet::TOOLS))
            .or_else(|| list(&mut self.templates, id, ListSet::RESOURCES))
            .or_else(|| list(&mut self.prompts, id, ListSet::PROMPTS))
            .or_else(|| self.remove_unlisted(id))
    }

    /// Removes what is in no list: a completion, a request handler, a provider, a middleware or a
    /// mount.
    fn remove_unlisted(&mut self, id: u64) -> Option<Change> {
        let mut change = Change::default();
        if let Some((key, _)) = self.completions.iter().find(|(_, (number, _))| *number == id) {
            let key = key.clone();
            change.removed = erased(Arc::make_mut(&mut self.completions).remove(&key).map(Arc::new));
        } else if let Some((method, _)) = self.request_handlers.iter().find(|(_, (number, _))| *number == id) {
            let method = *method;
            change.removed =
                erased(Arc::make_mut(&mut self.request_handlers).remove(method).map(|(_, removed)| removed));
        } else if let Some((category, provider)) = take(&mut self.providers, |(_, provider)| provider.number == id) {
            (change.lists, change.removed) = (category.change(), erased(Some(provider)));
        } else if let Some(middleware) = take(&mut self.middlewares, |middleware| middleware.number == id) {
            change.removed = erased(Some(middleware));
        } else {
            change.unmounted = Some(take(&mut self.mounts, |mount| mount.number == id)?);
        }
        Some(change)
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
        registered.map(|(_, handler)| handler).or_else(|| match reference {
            CompletionTarget::Prompt(name) => self.prompts.known(name)?.completers.get(argument),
            CompletionTarget::Resource(uri) => self.templates.known(uri)?.completers.get(argument),
        })
    }
}

/// Removes the item that fits.
fn take<T: Clone>(items: &mut Arc<Vec<T>>, fits: impl Fn(&T) -> bool) -> Option<T> {
    let position = items.iter().position(fits)?;
    Some(Arc::make_mut(items).remove(position))
}

fn erased<T: Send + Sync + 'static>(removed: Option<Arc<T>>) -> Option<Arc<dyn Any + Send + Sync>> {
    removed.map(|removed| removed as _)
}

/// The sources that can serve the reads of one resource.
#[derive(Default)]
pub(in crate::server) struct Readers {
    /// The resource itself, or else the matching templates. The first one that the caller can see
    /// serves it.
    pub(in crate::server) features: Vec<Reader>,
    /// True if a provider or a remote server serves it when the caller sees none of these. They
    /// only know whether they have it when it is read.
    pub(in crate::server) or_elsewhere: bool,
}

/// A registered resource or resource template.
pub(in crate::server) type Reader = Arc<ReadInfo>;

impl Snapshot {
    /// Finds what can serve a resource, here or on a mounted server in this process.
    pub(in crate::server) fn readers(&self, uri: &str) -> Readers {
        if let Some(resource) = self.resources.get(uri) {
            return Readers { features: vec![Arc::clone(&resource.read)], or_elsewhere: false };
        }
        let templates = self.templates.iter().filter(|template| template.matches(uri).is_some());
        let mut features: Vec<_> = templates.map(|template| Arc::clone(&template.read)).collect();
        let Some((mount, own)) = self.mount_of_uri(uri) else {
            let or_elsewhere = self.providers(Category::Resources).next().is_some();
            return Readers { features, or_elsewhere };
        };
        let Some(snapshot) = mount.snapshot() else { return Readers { features, or_elsewhere: true } };
        let mounted = snapshot.readers(&own);
        features.extend(mounted.features);
        Readers { features, or_elsewhere: mounted.or_elsewhere }
    }
}
