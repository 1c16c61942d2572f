//! Checks that promises in the security policy and on the deployment page have tests that try to
//! break them, since no tool ties prose to tests. `tests/promises.json` names both; if you reword a
//! promise or rename a test, change it there, too.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const TABLE: &str = "tests/promises.json";

#[derive(Deserialize)]
struct Row {
    /// Words on the page.
    promise: String,
    /// Each is a file, `::`, and the name of a test or of a row of the scars in it.
    tests: Vec<String>,
}

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let table: BTreeMap<String, Vec<Row>> = workspace.json(TABLE)?;
    let mut count = Count::default();
    for (page, rows) in table {
        let text = on_one_line(&workspace.text(&page)?);
        for Row { promise, tests } in rows {
            let stands = text.contains(&on_one_line(&promise));
            let mut faults: Vec<_> = tests
                .iter()
                .filter(|test| !exists(workspace, test))
                .map(|test| format!("there is no test {test}"))
                .collect();
            faults.extend((!stands).then(|| format!("the promise does not stand in {page}")));
            faults.extend(tests.is_empty().then(|| "it has no test".to_owned()));
            count.add(faults.iter().map(|fault| format!("{TABLE}: {promise:?}: {fault}")));
        }
    }
    Ok(count)
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn exists(workspace: &Workspace, test: &str) -> bool {
    test.split_once("::").is_some_and(|(file, name)| workspace.text(file).is_ok_and(|text| text.contains(name)))
}
