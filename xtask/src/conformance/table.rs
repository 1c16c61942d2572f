//! Formats the results: a table of languages and suites, and the failures.

use std::collections::BTreeMap;

use crate::conformance::role::Role;
use crate::conformance::suite::Suite;
use crate::conformance::verdict::Verdict;
use crate::language::Language;

const WIDTH: usize = 18;

pub(super) fn draw(role: Role, languages: &[Language], suites: &[Suite], verdicts: &[Verdict]) -> String {
    let columns = columns(suites);
    let mut lines = vec![String::new()];
    let heading = |text: fn(&Column) -> String| -> String {
        columns.iter().map(|column| format!("{:>WIDTH$}", text(column))).collect()
    };
    lines.push(format!("{:<8}{}", "", heading(|column| column.runner.to_owned())));
    lines.push(format!("{:<8}{}", role.word(), heading(|column| column.title.clone())));
    for language in languages {
        let mut row = format!("{:<8}", language.name);
        for column in &columns {
            let found = || verdicts.iter().filter(|one| one.language == *language && column.holds(one));
            let green = found().filter(|one| one.is_green()).count();
            row.push_str(&format!("{:>WIDTH$}", format!("{green}/{}", found().count())));
        }
        lines.push(row);
    }
    lines.extend(red(verdicts));
    lines.join("\n")
}

struct Column {
    runner: &'static str,
    part: &'static str,
    scored: bool,
    title: String,
}

impl Column {
    fn holds(&self, verdict: &Verdict) -> bool {
        (verdict.runner, verdict.part, verdict.scored) == (self.runner, self.part, self.scored)
    }
}

fn columns(suites: &[Suite]) -> Vec<Column> {
    let mut columns = Vec::new();
    for suite in suites {
        for scored in [true, false] {
            if suite.scenarios.iter().any(|scenario| scenario.scored == scored) {
                let extra = if suite.is_scored() && !scored { " extra" } else { "" };
                let title = format!("{}{extra}", suite.part());
                columns.push(Column { runner: suite.runner.version(), part: suite.part(), scored, title });
            }
        }
    }
    columns
}

/// Each failed scenario once, with the languages in which it failed for the same reasons.
fn red(verdicts: &[Verdict]) -> Vec<String> {
    let mut alike: BTreeMap<(&str, &str, &str, String), Vec<&str>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_green()) {
        let faults: String =
            verdict.faults.iter().map(|fault| format!("\n    {}", fault.0.replace('\n', "\n      "))).collect();
        let key = (verdict.part, verdict.scenario.as_str(), verdict.runner, faults);
        alike.entry(key).or_default().push(verdict.language.name);
    }
    let line = |((part, scenario, runner, faults), mut languages): ((&str, &str, &str, String), Vec<&str>)| {
        languages.sort_unstable();
        format!("✗ {scenario} ({runner}, {part}), {}:{faults}", languages.join(", "))
    };
    std::iter::once(String::new()).chain(alike.into_iter().map(line)).collect()
}
