//! Interprets a runner's result of one scenario more strictly than the runner: a scenario passes
//! only with at least one successful check of its own, and without any failure, warning or skipped
//! check.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::subject::{Subject, Through};
use super::suite::{Scenario, Suite};

/// Checks that the runners add to every scenario. That our messages are valid does not prove the
/// scenario.
const ADDED_TO_ALL: &str = "wire-schema-";
/// Checks that the runners always skip, by scenario and id or name. No server can pass the first;
/// clients of 2026-07-28 never send the messages of the others.
const LEFT_OUT_BY_THE_RUNNER: [(&str, &str); 3] = [
    ("tasks-status-notifications", "tasks-status-notifications"),
    ("http-standard-headers", "ClientMcpMethodHeader_initialize"),
    ("http-standard-headers", "ClientMcpMethodHeader_notifications_initialized"),
];

/// Checks by scenario and id, of what no server of 2025-11-25 can say, with the reason. A bridge
/// that lifts it cannot invent it.
const LOST_BY_LIFTING: [(&str, &str, &str); 5] = [
    (
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability",
        "the server refuses with its own error: up to 2025-11-25, there is none for missing capabilities",
    ),
    ("server-stateless", "sep-2575-missing-capability-http-400", "the same"),
    (
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-incomplete",
        "the runner expects the key of a question, and a request has none",
    ),
    ("input-required-result-ignore-extra-params", "sep-2322-ignore-unexpected-params", "the same"),
    (
        "tasks-required-task-error",
        "sep-2663-server-returns-missing-capability-when-required",
        "the bridge waits for the task, for a client that has none",
    ),
];

/// Recorded traffic, which the runners store among the checks.
const TRAFFIC: [&str; 4] = ["outgoing-request", "incoming-response", "incoming-request", "outgoing-response"];

/// How a fixture did in a scenario of a suite.
pub(super) struct Verdict<'a> {
    pub(super) subject: Subject,
    pub(super) suite: &'a Suite,
    pub(super) scenario: &'a Scenario,
    /// Why it failed.
    pub(super) faults: Vec<String>,
}

impl Verdict<'_> {
    pub(super) fn is_green(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { subject, suite, scenario, faults } = self;
        json!({
            "fixture": subject.name(), "runner": suite.runner.version(), "part": suite.part(),
            "scenario": scenario.name, "scored": scenario.scored, "ok": self.is_green(), "faults": faults,
        })
    }
}

/// The failures in the results of a scenario.
pub(super) fn faults_in(scenario: &str, through: Through, file: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(file).context("the runner wrote no result for it")?;
    let checks: Vec<Value> = serde_json::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(faults(scenario, through, &checks))
}

fn faults(scenario: &str, through: Through, checks: &[Value]) -> Vec<String> {
    let is = |check: &Value, status: &str| check["status"] == status;
    let known = |check: &Value| {
        let mut of_scenario = LEFT_OUT_BY_THE_RUNNER.iter().filter(|(name, _)| *name == scenario);
        of_scenario.any(|(_, known)| check["id"] == *known || check["name"] == *known)
    };
    let lost = |check: &Value| {
        let mut of_scenario = LOST_BY_LIFTING.iter().filter(|(name, ..)| *name == scenario);
        through == Through::Lift && of_scenario.any(|(_, lost, _)| check["id"] == *lost)
    };
    let allowed = |check: &Value| (is(check, "SKIPPED") && known(check)) || lost(check);
    let is_fault = |check: &&Value| !is(check, "SUCCESS") && !is(check, "INFO") && !allowed(check);
    let mut faults: Vec<String> = checks.iter().filter(is_fault).map(of_check).collect();
    let own = |check: &&Value| !check["id"].as_str().is_some_and(|id| id.starts_with(ADDED_TO_ALL));
    if faults.is_empty() && !checks.iter().filter(own).any(|check| is(check, "SUCCESS") || allowed(check)) {
        faults.push("no check of its own succeeded".to_owned());
        let traffic = |check: &&Value| TRAFFIC.iter().any(|id| check["id"] == *id);
        faults.extend(checks.iter().filter(own).filter(|check| !traffic(check)).map(of_check));
    }
    faults
}

fn of_check(check: &Value) -> String {
    let word = |name: &str| check[name].as_str();
    // The reason for a skipped or informational check is among its details.
    let mut parts = vec![word("description"), word("errorMessage"), check["details"]["message"].as_str()];
    parts.dedup();
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let [status, id] = ["status", "id"].map(|name| word(name).unwrap_or("no"));
    format!("{status} {id}: {}", parts.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, status: &str) -> Value {
        json!({"id": id, "status": status, "description": "d"})
    }

    #[test]
    fn a_scenario_needs_a_successful_check_of_its_own() {
        assert!(faults("s", Through::Nothing, &[check("a", "SUCCESS"), check("b", "INFO")]).is_empty());
        assert!(
            !faults("s", Through::Nothing, &[check("wire-schema-valid", "SUCCESS"), check("b", "INFO")]).is_empty()
        );
        assert!(!faults("s", Through::Nothing, &[]).is_empty());
    }

    #[test]
    fn failures_warnings_and_checks_left_out_are_faults() {
        for status in ["FAILURE", "WARNING", "SKIPPED", "NEW"] {
            assert_eq!(
                faults("s", Through::Nothing, &[check("a", "SUCCESS"), check("b", status)]).len(),
                1,
                "{status}"
            );
        }
    }

    #[test]
    fn only_checks_that_are_always_left_out_may_be() {
        let named = |name: &str| json!({"id": "sep", "name": name, "status": "SKIPPED"});
        for (scenario, name) in LEFT_OUT_BY_THE_RUNNER {
            assert!(
                faults(scenario, Through::Nothing, &[named(name), check("a", "SUCCESS")]).is_empty(),
                "{scenario} {name}"
            );
            assert!(!faults("s", Through::Nothing, &[named(name), check("a", "SUCCESS")]).is_empty(), "{name}");
            assert!(
                !faults(scenario, Through::Nothing, &[named("other"), check("a", "SUCCESS")]).is_empty(),
                "{scenario}"
            );
        }
        let task = LEFT_OUT_BY_THE_RUNNER[0].0;
        assert!(faults(task, Through::Nothing, &[check(task, "SKIPPED")]).is_empty());
    }

    #[test]
    fn a_lifted_server_may_fail_what_its_revision_cannot_say() {
        for (scenario, id, _) in LOST_BY_LIFTING {
            let checks = [check("a", "SUCCESS"), check(id, "FAILURE")];
            assert!(faults(scenario, Through::Lift, &checks).is_empty(), "{scenario} {id}");
            assert_eq!(faults(scenario, Through::Bridge, &checks).len(), 1, "{scenario} {id}");
            assert_eq!(faults("s", Through::Lift, &checks).len(), 1, "{id}");
        }
    }
}
