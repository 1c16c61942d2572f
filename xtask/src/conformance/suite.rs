//! Scenarios of one runner and role that are run together.

use anyhow::{Result, bail};

use super::role::Role;
use super::runner::Runner;
use crate::workspace::Workspace;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// True if it counts towards conformance with its revision. All others must pass, too.
    pub(super) scored: bool,
    /// Why it says nothing about a fixture behind a bridge.
    pub(super) unbridged: Option<&'static str>,
}

pub(super) struct Suite {
    pub(super) runner: Runner,
    /// The revision to use, unless the scenarios choose it themselves.
    pub(super) revision: Option<&'static str>,
    pub(super) scenarios: Vec<Scenario>,
    pub(super) taken: Taken,
}

/// How the scenarios are selected, as arguments of the runner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The requirement set of the revision.
    AsRequirements,
    /// All scenarios of the revision.
    Whole,
    OneByOne,
}

/// The revision to which a bridge lifts older servers.
pub(super) const MODERN: &str = "2026-07-28";
/// The requirement sets, frozen with their revision, and the number of server and client scenarios
/// that count in each.
const REQUIREMENT_SETS: [(&str, usize, usize); 2] = [("2025-11-25", 30, 18), (MODERN, 37, 32)];
/// The older revisions that the newest runner supports; nothing counts in them.
const OLDER_REVISIONS: [&str; 2] = ["2025-03-26", "2025-06-18"];
/// A client scenario of the stable runner whose server names an issuer that differs from the
/// location of its metadata. Clients must reject that (RFC 8414, section 3.3), as other scenarios
/// require. The newest runner has fixed the scenario and runs it.
const BROKEN_IN_STABLE: &str = "auth/2025-03-26-oauth-metadata-backcompat";

/// Scenarios about what no proxy passes on, with the reason.
const UNBRIDGED: &[(&str, &str)] = &[(
    "server-sse-polling",
    "the tool closes the stream of its own response, which a server behind a bridge does not have",
)];

impl Suite {
    /// All scenarios of a role in both runners, each at least once.
    pub(super) fn all(workspace: &Workspace, role: Role) -> Result<Vec<Self>> {
        let list = |runner: Runner, options: &[&str]| runner.list(workspace, role, options);
        let mut suites = Vec::new();
        for (revision, of_servers, of_clients) in REQUIREMENT_SETS {
            let (counted, reported) = list(Runner::Newest, &["--requirements", revision])?;
            let scored = if role == Role::Server { of_servers } else { of_clients };
            if counted.len() != scored {
                let (found, role) = (counted.len(), role.word());
                bail!("the requirement set {revision} scores {found} {role} scenarios, not {scored}");
            }
            let scenarios = scenarios(counted, true).chain(scenarios(reported, false)).collect();
            let (revision, taken) = (Some(revision), Taken::AsRequirements);
            suites.push(Self { runner: Runner::Newest, revision, scenarios, taken });
        }
        let extra = |runner, revision, names, taken| Self {
            runner,
            revision,
            scenarios: scenarios(names, false).collect(),
            taken,
        };
        for revision in OLDER_REVISIONS {
            let (names, _) = list(Runner::Newest, &["--spec-version", revision])?;
            suites.push(extra(Runner::Newest, Some(revision), names, Taken::Whole));
        }
        let (known, _) = list(Runner::Newest, &[])?;
        let rest = known.into_iter().filter(|name| !suites.iter().any(|suite: &Self| suite.has(name))).collect();
        suites.push(extra(Runner::Newest, None, rest, Taken::OneByOne));
        let (mut stable, _) = list(Runner::Stable, &[])?;
        stable.retain(|name| name != BROKEN_IN_STABLE);
        suites.push(extra(Runner::Stable, None, stable, Taken::Whole));
        Ok(suites)
    }

    fn has(&self, name: &str) -> bool {
        self.scenarios.iter().any(|scenario| scenario.name == name)
    }

    /// Keeps scenarios with one of these strings in their name; `None` if there are none.
    pub(super) fn narrowed(mut self, words: &[String]) -> Option<Self> {
        if !words.is_empty() {
            self.scenarios.retain(|scenario| words.iter().any(|word| scenario.name.contains(word.as_str())));
            self.taken = Taken::OneByOne;
        }
        (!self.scenarios.is_empty()).then_some(self)
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.runner.version(), self.part())
    }

    pub(super) fn part(&self) -> &'static str {
        match (self.revision, self.runner) {
            (Some(revision), _) => revision,
            (None, Runner::Stable) => "all",
            (None, Runner::Newest) => "other extensions",
        }
    }
}

fn scenarios(names: Vec<String>, scored: bool) -> impl Iterator<Item = Scenario> {
    let unbridged = |name: &str| UNBRIDGED.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    names.into_iter().map(move |name| Scenario { unbridged: unbridged(&name), name, scored })
}
