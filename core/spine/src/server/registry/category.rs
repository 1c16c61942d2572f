//! The lists of a server.

use serde::{Deserialize, Serialize};

/// The lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// Parses the name of a list's result member, such as `resourceTemplates`.
    pub fn parse(member: &str) -> Option<Self> {
        [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts]
            .into_iter()
            .find(|c| c.member() == member)
    }

    /// The result member that holds the list.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The change notification for this list. Resources and templates share one.
    pub(crate) fn change(self) -> ListSet {
        match self {
            Self::Tools => ListSet::TOOLS,
            Self::Resources | Self::ResourceTemplates => ListSet::RESOURCES,
            Self::Prompts => ListSet::PROMPTS,
        }
    }
}

/// A set of lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ListSet(u8);

impl ListSet {
    /// None of the lists.
    pub const NONE: Self = Self(0);
    /// The tools.
    pub const TOOLS: Self = Self(1);
    /// The resources and resource templates.
    pub const RESOURCES: Self = Self(2);
    /// The prompts.
    pub const PROMPTS: Self = Self(4);
    pub(crate) const ALL: [Self; 3] = [Self::TOOLS, Self::RESOURCES, Self::PROMPTS];

    #[doc(hidden)]
    pub fn every() -> Self {
        Self::ALL.into_iter().fold(Self::NONE, Self::with)
    }

    #[doc(hidden)]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
