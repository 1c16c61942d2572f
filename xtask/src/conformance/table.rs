//! Formats the results: a table of fixtures and suites, and the failures.

use std::collections::BTreeMap;

use crate::conformance::role::Role;
use crate::conformance::subject::Subject;
use crate::conformance::suite::Suite;
use crate::conformance::verdict::Verdict;
use crate::table::Table;

pub(super) fn draw(role: Role, subjects: &[Subject], suites: &[Suite], verdicts: &[Verdict<'_>]) -> String {
    let mut columns = Vec::new();
    for suite in suites {
        let is_scored = suite.scenarios.iter().any(|scenario| scenario.scored);
        for scored in [true, false] {
            if suite.scenarios.iter().any(|scenario| scenario.scored == scored) {
                let extra = if is_scored && !scored { " extra" } else { "" };
                columns.push((suite, scored, format!("{}{extra}", suite.name())));
            }
        }
    }
    let cell = |subject: &Subject, suite: &Suite, scored: bool| {
        let is_in = |one: &&Verdict<'_>| {
            one.subject == *subject && std::ptr::eq(one.suite, suite) && one.scenario.scored == scored
        };
        let found = || verdicts.iter().filter(is_in);
        format!("{}/{}", found().filter(|one| one.is_green()).count(), found().count())
    };
    let rows = subjects.iter().map(|subject| {
        let cells = columns.iter().map(|(suite, scored, _)| cell(subject, suite, *scored));
        (subject.name(), cells.collect())
    });
    let rows = rows.collect();
    let columns = columns.iter().map(|(.., title)| title.clone()).collect();
    let table = Table { title: role.word(), columns, rows };
    format!("\n{}\n{}\n{}", table.title, table.to_console(), red(verdicts).join("\n"))
}

/// Each failed scenario once, with the fixtures that failed for the same reasons.
fn red(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let mut alike: BTreeMap<(&str, &str, &str, String), Vec<String>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_green()) {
        let faults: String =
            verdict.faults.iter().map(|fault| format!("\n    {}", fault.replace('\n', "\n      "))).collect();
        let (suite, scenario) = (verdict.suite, verdict.scenario.name.as_str());
        let key = (suite.part(), scenario, suite.runner.version(), faults);
        alike.entry(key).or_default().push(verdict.subject.name());
    }
    let line = |((part, scenario, runner, faults), mut subjects): ((&str, &str, &str, String), Vec<String>)| {
        subjects.sort_unstable();
        format!("✗ {scenario} ({runner}, {part}), {}:{faults}", subjects.join(", "))
    };
    alike.into_iter().map(line).collect()
}
