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

/// Checks, by scenario and id, of what a server of 2025-11-25 cannot express, with the reason. A
/// bridge that shows it to clients of 2026-07-28 would have to invent it. Each must fail.
const LOST_BY_LIFTING: [(&str, &str, &str); 5] = [
    (
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability",
        "2025-11-25 has no error for a missing capability, so the server refuses in its own words",
    ),
    ("server-stateless", "sep-2575-missing-capability-http-400", "the status is that of the same error"),
    (
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-incomplete",
        "`elicitation/create` has no key, and the runner expects the one that the fixture uses in 2026-07-28",
    ),
    (
        "input-required-result-ignore-extra-params",
        "sep-2322-ignore-unexpected-params",
        "an answer that comes before its question matches it by its key only",
    ),
    (
        "tasks-mrtr-composition",
        "sep-2663-mrtr-synchronous-before-task-creation",
        "the client asks for the task with the call, which is answered by the task before the tool asks",
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
    let lost: Vec<&str> = match through {
        Through::Lift => LOST_BY_LIFTING.iter().filter(|(name, ..)| *name == scenario).map(|(_, id, _)| *id).collect(),
        Through::Nothing | Through::Bridge => Vec::new(),
    };
    let is_lost = |check: &Value| check["id"].as_str().is_some_and(|id| lost.contains(&id));
    let allowed = |check: &Value| (is(check, "SKIPPED") && known(check)) || is_lost(check);
    let is_fault = |check: &&Value| !is(check, "SUCCESS") && !is(check, "INFO") && !allowed(check);
    let mut faults: Vec<String> = checks.iter().filter(is_fault).map(of_check).collect();
    let fails = |id: &&str| checks.iter().any(|check| check["id"] == **id && !is(check, "SUCCESS"));
    faults.extend(
        lost.iter().filter(|id| !fails(id)).map(|id| format!("{id} no longer fails: remove it from the table")),
    );
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
    fn a_lifted_server_fails_what_its_revision_cannot_say_and_nothing_else() {
        for (scenario, id, _) in LOST_BY_LIFTING {
            let of_scenario = LOST_BY_LIFTING.iter().filter(|(name, ..)| *name == scenario);
            let checks = |status: &str| -> Vec<Value> {
                let lost = of_scenario
                    .clone()
                    .map(|(_, other, _)| check(other, if *other == id { status } else { "FAILURE" }));
                lost.chain([check("a", "SUCCESS")]).collect()
            };
            let failed = checks("FAILURE");
            assert!(faults(scenario, Through::Lift, &failed).is_empty(), "{scenario} {id}");
            assert_eq!(
                faults(scenario, Through::Bridge, &failed).len(),
                of_scenario.clone().count(),
                "{scenario} {id}"
            );
            assert_eq!(faults("s", Through::Lift, &failed).len(), of_scenario.clone().count(), "{id}");
            assert_eq!(faults(scenario, Through::Lift, &checks("SUCCESS")).len(), 1, "{scenario} {id} passes");
            assert!(!faults(scenario, Through::Lift, &[check("a", "SUCCESS")]).is_empty(), "{scenario} {id} is gone");
        }
    }
}
