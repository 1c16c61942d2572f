//! The scenarios of one runner that are run together, for one role of ours.

use anyhow::{Result, bail};

use super::role::Role;
use super::runner::Runner;
use super::verdict::{Fault, Verdict};
use crate::language::Language;
use crate::workspace::Workspace;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// `true` if it counts towards conformance with its revision. All others have to be green too.
    pub(super) scored: bool,
}

pub(super) struct Suite {
    pub(super) runner: Runner,
    /// The revision that is spoken, if the scenarios do not choose it themselves.
    pub(super) revision: Option<&'static str>,
    pub(super) scenarios: Vec<Scenario>,
    pub(super) taken: Taken,
}

/// Selection of the runs, as arguments of the runner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// As the requirement set of its revision.
    AsRequirements,
    /// As all that there is for its revision.
    Whole,
    OneByOne,
}

/// The requirement sets, frozen with their revision, and how many scenarios of servers and of
/// clients each scores.
const SETS: [(&str, usize, usize); 2] = [("2025-11-25", 30, 18), ("2026-07-28", 37, 32)];
/// The older revisions that the newest runner speaks; nothing is scored in them.
const OLDER: [&str; 2] = ["2025-03-26", "2025-06-18"];
/// A client scenario of the stable runner whose server names an issuer that differs from the place
/// of its metadata. Clients must refuse that (RFC 8414, section 3.3), as other scenarios demand;
/// the newest runner has mended it, and judges it.
const BROKEN_IN_STABLE: &str = "auth/2025-03-26-oauth-metadata-backcompat";

impl Suite {
    /// Every scenario of a role of both runners, at least once.
    pub(super) fn all(workspace: &Workspace, role: Role) -> Result<Vec<Self>> {
        let list = |runner: Runner, options: &[&str]| runner.list(workspace, role, options);
        let mut suites = Vec::new();
        for (revision, of_servers, of_clients) in SETS {
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
        for revision in OLDER {
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

    /// Returns whether some of it is scored, and the rest is only reported.
    pub(super) fn is_scored(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.scored)
    }

    fn has(&self, name: &str) -> bool {
        self.scenarios.iter().any(|scenario| scenario.name == name)
    }

    /// Only the scenarios with one of the words in their name; `None`: there is none.
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

    pub(super) fn verdict(&self, language: Language, scenario: &Scenario, faults: Vec<Fault>) -> Verdict {
        Verdict {
            language,
            runner: self.runner.version(),
            part: self.part(),
            scenario: scenario.name.clone(),
            scored: scenario.scored,
            faults,
        }
    }
}

fn scenarios(names: Vec<String>, scored: bool) -> impl Iterator<Item = Scenario> {
    names.into_iter().map(move |name| Scenario { name, scored })
}
