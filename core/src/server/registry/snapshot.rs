//! The registry as snapshots: one request sees one snapshot, and changing the registry makes the
//! next.

use super::{
    category::{Category, ListSet},
    completion::{CompletionDefinition, CompletionTarget},
    error::RegisterError,
    hook::{ProviderDefinition, RegisteredMiddleware, RegisteredProvider},
    list::{List, Listed},
    mount::RegisteredMount,
    prompt::RegisteredPrompt,
    resource::{RegisteredResource, RegisteredTemplate},
    skill::{RegisteredSkill, StoredFile},
    tool::{RegisteredTool, TaskSupport},
};
use crate::server::handlers::Handler;
use std::{collections::HashMap, sync::Arc};

/// The features of a server at one moment.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub(in crate::server) tools: Arc<List<RegisteredTool>>,
    pub(in crate::server) resources: Arc<List<RegisteredResource>>,
    pub(in crate::server) templates: Arc<List<RegisteredTemplate>>,
    pub(in crate::server) prompts: Arc<List<RegisteredPrompt>>,
    pub(in crate::server) skills: Arc<List<RegisteredSkill>>,
    completions: Arc<HashMap<(CompletionTarget, String), Arc<dyn Handler>>>,
    pub(super) providers: Arc<Vec<(Category, Arc<RegisteredProvider>)>>,
    pub(in crate::server) middlewares: Arc<Vec<Arc<RegisteredMiddleware>>>,
    pub(in crate::server) mounts: Arc<Vec<Arc<RegisteredMount>>>,
    /// The lists that have or had something to show; what was declared once stays declared.
    pub(super) offered: ListSet,
    /// `true` if completions were ever registered.
    pub(super) completes: bool,
    /// `true` if skills were ever registered.
    pub(super) has_skills: bool,
    /// `true` if tools that may run as tasks were ever registered.
    pub(super) has_tasks: bool,
}

/// One feature to put into the registry.
pub(in crate::server) enum Addition {
    Tool(RegisteredTool),
    Resource(RegisteredResource),
    Template(RegisteredTemplate),
    Prompt(RegisteredPrompt),
    Skill(RegisteredSkill),
    Completion(CompletionDefinition),
    Provider(ProviderDefinition, u64),
    Middleware(RegisteredMiddleware),
    Mount(RegisteredMount),
}

/// Names one feature in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryKey {
    /// The feature of that category with that name, URI or URI template.
    Item(Category, String),
    /// The skill with that URI of its `SKILL.md`.
    Skill(String),
    /// The completion of an argument.
    Completion(CompletionTarget, String),
    /// A provider, middleware or mount, by the number that its registration gave.
    Hook(u64),
}

impl Snapshot {
    /// The lists to declare. A server without features yet is one of tools that come later.
    pub(in crate::server) fn offered(&self) -> ListSet {
        let offered = if self.mounts.is_empty() { self.offered } else { self.offers().lists };
        if offered == ListSet::NONE { ListSet::TOOLS } else { offered }
    }

    /// The registry with one more feature, and the lists that changed by it.
    pub(in crate::server) fn with(&self, addition: Addition) -> Result<(Self, ListSet), RegisterError> {
        let mut next = self.clone();
        let changed = match addition {
            Addition::Tool(tool) => {
                next.has_tasks |= tool.task_support != TaskSupport::Forbidden;
                next.tools = Arc::new(self.tools.with(tool)?);
                ListSet::TOOLS
            }
            Addition::Resource(resource) => {
                next.resources = Arc::new(self.resources.with(resource)?);
                ListSet::RESOURCES
            }
            Addition::Template(template) => {
                next.templates = Arc::new(self.templates.with(template)?);
                ListSet::RESOURCES
            }
            Addition::Prompt(prompt) => {
                next.prompts = Arc::new(self.prompts.with(prompt)?);
                ListSet::PROMPTS
            }
            Addition::Skill(skill) => {
                self.skills.iter().try_for_each(|other| skill.check_nesting(other))?;
                self.skills.iter().for_each(|other| skill.warn_of_same_name(other));
                next.resources = Arc::new(self.resources.with_shared(&skill.resource)?);
                next.skills = Arc::new(self.skills.with(skill)?);
                next.has_skills = true;
                ListSet::RESOURCES
            }
            Addition::Completion(entry) => {
                let key = entry.key();
                if self.completions.contains_key(&key) {
                    return Err(entry.taken());
                }
                let mut completions = (*self.completions).clone();
                completions.insert(key, entry.handler);
                next.completions = Arc::new(completions);
                next.completes = true;
                ListSet::NONE
            }
            Addition::Provider(entry, number) => {
                self.check_provider()?;
                let mut providers = (*self.providers).clone();
                providers.push((entry.category, Arc::new(RegisteredProvider { number, handler: entry.handler })));
                next.providers = Arc::new(providers);
                entry.category.change()
            }
            Addition::Middleware(middleware) => {
                let mut middlewares = (*self.middlewares).clone();
                middlewares.push(Arc::new(middleware));
                next.middlewares = Arc::new(middlewares);
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

    /// The registry without one feature, and the lists that changed by it. `None`: it is not there.
    pub(in crate::server) fn without(&self, registration: &RegistryKey) -> Option<(Self, ListSet)> {
        let mut next = self.clone();
        let changed = match registration {
            RegistryKey::Item(category, key) => {
                match category {
                    Category::Tools => next.tools = Arc::new(self.tools.without(key)?),
                    Category::Resources => next.resources = Arc::new(self.resources.without(key)?),
                    Category::ResourceTemplates => next.templates = Arc::new(self.templates.without(key)?),
                    Category::Prompts => next.prompts = Arc::new(self.prompts.without(key)?),
                }
                category.change()
            }
            RegistryKey::Skill(uri) => {
                next.skills = Arc::new(self.skills.without(uri)?);
                next.resources = Arc::new(self.resources.without(uri)?);
                ListSet::RESOURCES
            }
            RegistryKey::Completion(reference, argument) => {
                let mut completions = (*self.completions).clone();
                completions.remove(&(reference.clone(), argument.clone()))?;
                next.completions = Arc::new(completions);
                ListSet::NONE
            }
            RegistryKey::Hook(number) => {
                let provider = self.providers.iter().position(|(_, provider)| provider.number == *number);
                let middleware = self.middlewares.iter().position(|middleware| middleware.number == *number);
                let mount = self.mounts.iter().position(|mount| mount.number == *number);
                match (provider, middleware) {
                    (Some(position), _) => {
                        let mut providers = (*self.providers).clone();
                        let (category, _) = providers.remove(position);
                        next.providers = Arc::new(providers);
                        category.change()
                    }
                    (None, Some(position)) => {
                        let mut middlewares = (*self.middlewares).clone();
                        middlewares.remove(position);
                        next.middlewares = Arc::new(middlewares);
                        ListSet::NONE
                    }
                    (None, None) => {
                        let mut mounts = (*self.mounts).clone();
                        let removed = mounts.remove(mount?);
                        next.mounts = Arc::new(mounts);
                        removed.offers().lists
                    }
                }
            }
        };
        Some((next, changed))
    }

    /// The names or URIs of a category, in the order of its list.
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

    /// Returns whether a URI can be one of this server; what a provider or a remote server knows is
    /// only known when it is read.
    pub(in crate::server) fn may_have(&self, uri: &str) -> bool {
        let of_mount = |(mount, own): (&Arc<RegisteredMount>, String)| {
            mount.snapshot().is_none_or(|snapshot| snapshot.may_have(&own))
        };
        self.resources.get(uri).is_some()
            || self.templates.iter().any(|template| template.template.matches(uri).is_some())
            || self.providers(Category::Resources).next().is_some()
            || self.mount_of_uri(uri).is_some_and(of_mount)
    }

    /// Returns whether a feature of that name, URI or URI template is registered.
    pub(in crate::server) fn has(&self, category: Category, key: &str) -> bool {
        match category {
            Category::Tools => self.tools.get(key).is_some(),
            Category::Resources => self.resources.get(key).is_some(),
            Category::ResourceTemplates => self.templates.get(key).is_some(),
            Category::Prompts => self.prompts.get(key).is_some(),
        }
    }

    /// Tools whose user interface nobody serves (APP-11), with its URI. Resources of providers are
    /// not known here.
    pub(in crate::server) fn missing_interfaces(&self) -> Vec<(&str, &str)> {
        if self.providers(Category::Resources).next().is_some() {
            return Vec::new();
        }
        let is_served = |uri: &str| {
            self.resources.get(uri).is_some()
                || self.templates.iter().any(|template| template.template.matches(uri).is_some())
        };
        let named = self.tools.iter().filter_map(|tool| Some((tool.name.as_str(), tool.interface.as_deref()?)));
        named.filter(|(_, uri)| !is_served(uri)).collect()
    }

    /// A file of a skill.
    pub(in crate::server) fn skill_file(&self, uri: &str) -> Option<&Arc<StoredFile>> {
        self.skills.iter().find_map(|skill| skill.files.get(uri))
    }

    /// The providers of a category, in the order of registration.
    pub(in crate::server) fn providers(&self, category: Category) -> impl Iterator<Item = &Arc<RegisteredProvider>> {
        self.providers.iter().filter(move |(of, _)| *of == category).map(|(_, provider)| provider)
    }

    pub(in crate::server) fn completion(
        &self,
        reference: &CompletionTarget,
        argument: &str,
    ) -> Option<&Arc<dyn Handler>> {
        self.completions.get(&(reference.clone(), argument.to_owned()))
    }
}
