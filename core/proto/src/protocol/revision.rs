//! Protocol revisions and the features of each.

use std::fmt;

/// A revision of the Model Context Protocol.
///
/// ```
/// # use trunkline_proto as trunkline;
/// use trunkline::protocol::Revision;
///
/// assert_eq!(Revision::parse("2025-11-25"), Some(Revision::V2025_11_25));
/// assert!(Revision::V2025_11_25 < Revision::LATEST);
/// assert_eq!(Revision::V2024_11_05.as_str(), "2024-11-05");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// The form of a conversation: a session after a handshake, or individual requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: a session opened by `initialize`.
    Legacy,
    /// From 2026-07-28: no session; every request carries its version and capabilities.
    Modern,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];
    /// The newest revision.
    pub const LATEST: Revision = Revision::V2026_07_28;
    /// The newest revision that `initialize` can open.
    pub const LATEST_LEGACY: Revision = Revision::V2025_11_25;
    /// The revision of a legacy HTTP request without other evidence.
    pub const HEADERLESS: Revision = Revision::V2025_03_26;

    /// The name in the protocol, such as `2025-06-18`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with that name, if this library supports it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// The era that this revision belongs to.
    pub fn era(self) -> Era {
        if self < Self::V2026_07_28 { Era::Legacy } else { Era::Modern }
    }

    /// Returns whether this revision has a feature.
    pub fn supports(self, feature: RevisionFeature) -> bool {
        let (since, until) = feature.span();
        since <= self && self <= until
    }

    /// Every revision of an era, oldest first.
    pub fn of(era: Era) -> impl DoubleEndedIterator<Item = Revision> {
        Self::ALL.into_iter().filter(move |revision| revision.era() == era)
    }
}

impl Era {
    /// The era of a version, known or not: dates after the last legacy revision belong to the newer
    /// era.
    pub fn named(version: &str) -> Self {
        let pattern = "dddd-dd-dd".bytes();
        let is_date = version.len() == pattern.len()
            && pattern
                .zip(version.bytes())
                .all(|(part, byte)| if part == b'd' { byte.is_ascii_digit() } else { byte == part });
        if is_date && version > Revision::LATEST_LEGACY.as_str() { Self::Modern } else { Self::Legacy }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares the features, each with the first and the last revision that has it.
macro_rules! features {
    ($($(#[doc = $doc:literal])* $name:ident: $since:ident..=$until:ident,)*) => {
        /// A feature that not every revision has (see the specification's changelogs), unless a row
        /// of the method table or a member of the model covers it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum RevisionFeature {
            $($(#[doc = $doc])* $name,)*
        }

        impl RevisionFeature {
            fn span(self) -> (Revision, Revision) {
                match self {
                    $(Self::$name => (Revision::$since, Revision::$until),)*
                }
            }
        }
    };
}

features! {
    /// Cursors are opaque: an empty one is followed as well.
    OpaqueCursors: V2026_07_28..=LATEST,
    /// Schemas name their dialect, and one that is not supported is an error.
    SchemaDialects: V2025_11_25..=LATEST,
    /// Schemas with references that leave them are not to be used.
    SchemaReferences: V2026_07_28..=LATEST,
    /// JSON-RPC batch arrays.
    Batches: V2025_03_26..=V2025_03_26,
    /// Audio content blocks.
    AudioContent: V2025_03_26..=LATEST,
    /// `resource_link` content blocks.
    ResourceLink: V2025_06_18..=LATEST,
    /// `outputSchema` and `structuredContent`, limited to objects.
    StructuredContent: V2025_06_18..=LATEST,
    /// `structuredContent` of any JSON type.
    AnyStructuredContent: V2026_07_28..=LATEST,
    /// `message` in progress notifications.
    ProgressMessage: V2025_03_26..=LATEST,
    /// Arguments that fail their schema produce results with `isError` instead of JSON-RPC errors.
    InputErrorsAsResults: V2025_11_25..=LATEST,
    /// `resultType` on every result.
    ResultType: V2026_07_28..=LATEST,
    /// `ttlMs` and `cacheScope` on cacheable results.
    CacheHints: V2026_07_28..=LATEST,
    /// The MCP-Protocol-Version header after initialization.
    VersionHeader: V2025_06_18..=LATEST,
    /// Any 4xx in response to `initialize` makes a client try HTTP+SSE; in later revisions only
    /// 400, 404 and 405.
    HttpSseAfterAny4xx: V2024_11_05..=V2025_06_18,
    /// An SSE stream begins with a priming event.
    Priming: V2025_11_25..=V2025_11_25,
    /// Responses that request input (MRTR).
    InputRequired: V2026_07_28..=LATEST,
    /// The log level is in the `_meta` of each request.
    LogLevelPerRequest: V2026_07_28..=LATEST,
    /// Elicitation, at least through forms.
    Elicitation: V2025_06_18..=LATEST,
    /// `mode` of elicitations: forms and URLs.
    ElicitationModes: V2025_11_25..=LATEST,
    /// Form fields with titled choices, multiple choices, and defaults of any type.
    ElicitationChoices: V2025_11_25..=LATEST,
    /// `elicitationId` of URL elicitations, the notification of their completion, and error -32042.
    ElicitationIds: V2025_11_25..=V2025_11_25,
    /// Tools in sampling, and messages with several blocks.
    SamplingTools: V2025_11_25..=LATEST,
    /// Tasks in the core protocol.
    CoreTasks: V2025_11_25..=V2025_11_25,
    /// Tasks as an extension.
    TasksExtension: V2026_07_28..=LATEST,
    /// Agent skills as an extension.
    SkillsExtension: V2026_07_28..=LATEST,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_order_is_by_date() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert!(Revision::ALL.is_sorted());
        assert_eq!(Revision::parse("2025-06-19"), None);
        assert_eq!(Revision::of(Era::Legacy).next_back(), Some(Revision::LATEST_LEGACY));
    }

    #[test]
    fn future_versions_are_modern_and_invalid_dates_are_not() {
        for revision in Revision::ALL {
            assert_eq!(Era::named(revision.as_str()), revision.era());
        }
        assert_eq!((Era::named("2099-01-01"), Era::named("2025-12-01")), (Era::Modern, Era::Modern));
        for other in ["draft", "", "2026-07-28, 2026-07-28", "2026/07/28", "1999-01-01"] {
            assert_eq!(Era::named(other), Era::Legacy, "{other}");
        }
    }

    #[test]
    fn features_follow_the_changelogs() {
        assert!(Revision::V2025_03_26.supports(RevisionFeature::Batches));
        assert!(!Revision::V2025_06_18.supports(RevisionFeature::Batches));
        assert!(Revision::V2026_07_28.supports(RevisionFeature::ResultType));
        assert!(!Revision::LATEST_LEGACY.supports(RevisionFeature::ResultType));
    }
}
