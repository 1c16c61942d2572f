//! What a server offers, as snapshots: one request sees one snapshot, and changing the catalog makes the next.

mod app;
mod completion;
mod hook;
mod list;
mod prompt;
mod resource;
mod tool;

pub use completion::{CompletionEntry, CompletionTarget};
pub use hook::{MiddlewareEntry, ProviderEntry};
pub use prompt::PromptEntry;
pub use resource::{ResourceEntry, ResourceTemplateEntry};
pub use tool::{TaskSupport, ToolEntry};

pub(crate) use hook::{RegisteredMiddleware, RegisteredProvider};
pub(crate) use list::{Descriptor, List, Listed, list_members};
pub(crate) use prompt::RegisteredPrompt;
pub(super) use resource::ReadFacts;
pub(crate) use resource::{RegisteredResource, RegisteredTemplate};
pub(super) use tool::Output;
pub(crate) use tool::RegisteredTool;

use super::{
    handler::Handler,
    skills::{RegisteredSkill, StoredFile},
};
use std::{collections::HashMap, sync::Arc};

/// Why something cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegisterError(pub(crate) String);

/// The lists that a server may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Resource templates.
    ResourceTemplates,
    /// Prompts.
    Prompts,
}

impl Category {
    /// The category that a list's result member names, such as `resourceTemplates`.
    pub fn parse(member: &str) -> Option<Self> {
        [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts]
            .into_iter()
            .find(|c| c.member() == member)
    }

    /// The member of the list's result.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => RegisteredTool::MEMBER,
            Self::Resources => RegisteredResource::MEMBER,
            Self::ResourceTemplates => RegisteredTemplate::MEMBER,
            Self::Prompts => RegisteredPrompt::MEMBER,
        }
    }

    /// The set of changes that a change of this list belongs to: templates are told with the resources.
    pub(crate) fn change(self) -> Changes {
        match self {
            Self::Tools => Changes::TOOLS,
            Self::Resources | Self::ResourceTemplates => Changes::RESOURCES,
            Self::Prompts => Changes::PROMPTS,
        }
    }
}

/// A set of lists that changed, or that are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes(u8);

impl Changes {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TOOLS: Self = Self(1);
    pub(crate) const RESOURCES: Self = Self(2);
    pub(crate) const PROMPTS: Self = Self(4);
    pub(crate) const ALL: [Self; 3] = [Self::TOOLS, Self::RESOURCES, Self::PROMPTS];

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What is offered at one moment.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<List<RegisteredTool>>,
    pub(super) resources: Arc<List<RegisteredResource>>,
    pub(super) templates: Arc<List<RegisteredTemplate>>,
    pub(super) prompts: Arc<List<RegisteredPrompt>>,
    pub(super) skills: Arc<List<RegisteredSkill>>,
    completions: Arc<HashMap<(CompletionTarget, String), Arc<dyn Handler>>>,
    providers: Arc<Vec<(Category, Arc<RegisteredProvider>)>>,
    pub(super) middlewares: Arc<Vec<Arc<RegisteredMiddleware>>>,
    /// The lists that have or had something to show; what was declared once stays declared.
    pub(super) offered: Changes,
    /// Whether completions were ever registered.
    pub(super) completes: bool,
    /// Whether skills were ever registered.
    pub(super) has_skills: bool,
    /// Whether tools that may run as tasks were ever registered.
    pub(super) has_tasks: bool,
}

/// One thing to put into the catalog.
pub(super) enum Addition {
    Tool(RegisteredTool),
    Resource(RegisteredResource),
    Template(RegisteredTemplate),
    Prompt(RegisteredPrompt),
    Skill(RegisteredSkill),
    Completion(CompletionEntry),
    Provider(ProviderEntry, u64),
    Middleware(RegisteredMiddleware),
}

/// Names one thing in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// The thing of that category with that name, URI or URI template.
    Item(Category, String),
    /// The skill with that URI of its `SKILL.md`.
    Skill(String),
    /// The completion of an argument.
    Completion(CompletionTarget, String),
    /// A provider or middleware, by the number that its registration gave.
    Hook(u64),
}

impl Snapshot {
    /// The catalog with one more thing, and the lists that changed by it.
    pub(super) fn with(&self, addition: Addition) -> Result<(Self, Changes), RegisterError> {
        let mut next = self.clone();
        let changed = match addition {
            Addition::Tool(tool) => {
                next.has_tasks |= tool.task_support != TaskSupport::Forbidden;
                next.tools = Arc::new(self.tools.with(tool)?);
                Changes::TOOLS
            }
            Addition::Resource(resource) => {
                next.resources = Arc::new(self.resources.with(resource)?);
                Changes::RESOURCES
            }
            Addition::Template(template) => {
                next.templates = Arc::new(self.templates.with(template)?);
                Changes::RESOURCES
            }
            Addition::Prompt(prompt) => {
                next.prompts = Arc::new(self.prompts.with(prompt)?);
                Changes::PROMPTS
            }
            Addition::Skill(skill) => {
                self.skills.iter().try_for_each(|other| skill.check_nesting(other))?;
                self.skills.iter().for_each(|other| skill.warn_of_same_name(other));
                next.resources = Arc::new(self.resources.with_shared(&skill.resource)?);
                next.skills = Arc::new(self.skills.with(skill)?);
                next.has_skills = true;
                Changes::RESOURCES
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
                Changes::NONE
            }
            Addition::Provider(entry, number) => {
                let mut providers = (*self.providers).clone();
                providers.push((entry.category, Arc::new(RegisteredProvider { number, handler: entry.handler })));
                next.providers = Arc::new(providers);
                entry.category.change()
            }
            Addition::Middleware(middleware) => {
                let mut middlewares = (*self.middlewares).clone();
                middlewares.push(Arc::new(middleware));
                next.middlewares = Arc::new(middlewares);
                Changes::NONE
            }
        };
        next.offered = self.offered.with(changed);
        Ok((next, changed))
    }

    /// The catalog without one thing, and the lists that changed by it. `None`: it is not there.
    pub(super) fn without(&self, registration: &Registration) -> Option<(Self, Changes)> {
        let mut next = self.clone();
        let changed = match registration {
            Registration::Item(category, key) => {
                match category {
                    Category::Tools => next.tools = Arc::new(self.tools.without(key)?),
                    Category::Resources => next.resources = Arc::new(self.resources.without(key)?),
                    Category::ResourceTemplates => next.templates = Arc::new(self.templates.without(key)?),
                    Category::Prompts => next.prompts = Arc::new(self.prompts.without(key)?),
                }
                category.change()
            }
            Registration::Skill(uri) => {
                next.skills = Arc::new(self.skills.without(uri)?);
                next.resources = Arc::new(self.resources.without(uri)?);
                Changes::RESOURCES
            }
            Registration::Completion(reference, argument) => {
                let mut completions = (*self.completions).clone();
                completions.remove(&(reference.clone(), argument.clone()))?;
                next.completions = Arc::new(completions);
                Changes::NONE
            }
            Registration::Hook(number) => {
                let provider = self.providers.iter().position(|(_, provider)| provider.number == *number);
                let middleware = self.middlewares.iter().position(|middleware| middleware.number == *number);
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
                        Changes::NONE
                    }
                    (None, None) => return None,
                }
            }
        };
        Some((next, changed))
    }

    /// What names the things of a category, in the order of its list.
    pub(super) fn names(&self, category: Category) -> Vec<String> {
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

    /// Tools whose user interface nobody serves (APP-11), with its URI. What providers serve is not known here.
    pub(super) fn missing_interfaces(&self) -> Vec<(&str, &str)> {
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
    pub(super) fn skill_file(&self, uri: &str) -> Option<&Arc<StoredFile>> {
        self.skills.iter().find_map(|skill| skill.files.get(uri))
    }

    /// The providers of a category, in the order of registration.
    pub(super) fn providers(&self, category: Category) -> impl Iterator<Item = &Arc<RegisteredProvider>> {
        self.providers.iter().filter(move |(of, _)| *of == category).map(|(_, provider)| provider)
    }

    pub(super) fn completion(&self, reference: &CompletionTarget, argument: &str) -> Option<&Arc<dyn Handler>> {
        self.completions.get(&(reference.clone(), argument.to_owned()))
    }
}
