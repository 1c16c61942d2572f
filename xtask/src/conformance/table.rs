//! Formats the results: a table of languages and suites, and the failures.

use std::collections::BTreeMap;

use crate::conformance::role::Role;
use crate::conformance::suite::Suite;
use crate::conformance::verdict::Verdict;
use crate::language::Language;
use crate::table::Table;

pub(super) fn draw(role: Role, languages: &[Language], suites: &[Suite], verdicts: &[Verdict<'_>]) -> String {
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
    let cell = |language: &Language, suite: &Suite, scored: bool| {
        let is_in = |one: &&Verdict<'_>| {
            one.language == *language && std::ptr::eq(one.suite, suite) && one.scenario.scored == scored
        };
        let found = || verdicts.iter().filter(is_in);
        format!("{}/{}", found().filter(|one| one.is_green()).count(), found().count())
    };
    let rows = languages.iter().map(|language| {
        let cells = columns.iter().map(|(suite, scored, _)| cell(language, suite, *scored));
        (language.name.to_owned(), cells.collect())
    });
    let rows = rows.collect();
    let columns = columns.iter().map(|(.., title)| title.clone()).collect();
    let table = Table { title: role.word(), columns, rows };
    format!("\n{}\n{}\n{}", table.title, table.to_console(), red(verdicts).join("\n"))
}

/// Each failed scenario once, with the languages in which it failed for the same reasons.
fn red(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let mut alike: BTreeMap<(&str, &str, &str, String), Vec<&str>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_green()) {
        let faults: String =
            verdict.faults.iter().map(|fault| format!("\n    {}", fault.replace('\n', "\n      "))).collect();
        let (suite, scenario) = (verdict.suite, verdict.scenario.name.as_str());
        let key = (suite.part(), scenario, suite.runner.version(), faults);
        alike.entry(key).or_default().push(verdict.language.name);
    }
    let line = |((part, scenario, runner, faults), mut languages): ((&str, &str, &str, String), Vec<&str>)| {
        languages.sort_unstable();
        format!("✗ {scenario} ({runner}, {part}), {}:{faults}", languages.join(", "))
    };
    alike.into_iter().map(line).collect()
}
