//! The pages about the requirements: `docs/requirements.md`, which is a summary, and the full list,
//! which is only on the site.

use std::collections::BTreeMap;

use crate::pages::SITE;
use crate::requirements::list::{Group, List, Requirement};
use crate::requirements::scan::Mentions;

/// The full list, among the pages of the site.
pub(super) const LIST: &str = "requirements-list.md";

const HEAD: &str = "\
# Requirements

<!-- Written by `cargo xtask requirements` from tests/requirements/requirements.json and the tests. -->

The five revisions of the specification and its extensions place these requirements on clients and
servers. Each is named by a test, or the reason why no test of a library can prove it stands below.
";

const LIST_HEAD: &str = "\
# Requirements, one by one

Every requirement with the tests that name it. The wording is ours; the named page of the specification decides. A test names a requirement in its own
name (`http_07_…`) or in a comment in or above it (`HTTP-07`), a wire vector in its field `requirements`. \"Under test\" is the side that those tests
exercise: a server, a client, or both.
";

/// `docs/requirements.md`: the numbers per area, and the requirements that are explained instead of
/// tested.
pub(super) fn summary(list: &List, mentions: &Mentions) -> String {
    let mut page = HEAD.to_owned();
    let sums = |groups: &[Group]| {
        let all = || groups.iter().flat_map(|group| &group.requirements);
        let named = all().filter(|one| mentions.has(&one.id)).count();
        let explained = all().filter(|one| !mentions.has(&one.id) && one.reason.is_some()).count();
        format!("{} | {named} | {explained} | {}", all().count(), all().count() - named - explained)
    };
    page.push_str(
        "\n| area | | requirements | tested | explained | open |\n| --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for group in &list.groups {
        let Group { prefix, title, .. } = group;
        let sums = sums(std::slice::from_ref(group));
        page.push_str(&format!("| [{prefix}]({SITE}requirements-list/#{}) | {title} | {sums} |\n", anchor(title)));
    }
    page.push_str(&format!("| | all | {} |\n", sums(&list.groups)));
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in list.groups.iter().flat_map(|group| &group.requirements).filter(|one| !mentions.has(&one.id)) {
        reasons.entry(one.reason.as_deref().unwrap_or("open")).or_default().push(&one.id);
    }
    page.push_str("\n## Explained\n\n| reason | requirements |\n| --- | --- |\n");
    for (reason, ids) in reasons {
        page.push_str(&format!("| {} | {} |\n", cell(reason), ids.join(", ")));
    }
    page
}

/// Every requirement with its tests.
pub(super) fn list(list: &List, mentions: &Mentions) -> String {
    let mut page = LIST_HEAD.to_owned();
    for group in &list.groups {
        page.push_str(&format!(
            "\n## {}\n\n| id | | requirement | under test | named by |\n| --- | --- | --- | --- | --- |\n",
            group.title
        ));
        for one in &group.requirements {
            page.push_str(&row(one, mentions));
        }
    }
    page
}

fn row(one: &Requirement, mentions: &Mentions) -> String {
    let Requirement { id, side, level, versions, text, source, reason } = one;
    let tests: Vec<String> = mentions
        .of(id)
        .into_iter()
        .map(|(file, tests)| {
            let tests: Vec<String> = tests.iter().map(|test| format!("`{}`", cell(test))).collect();
            if tests.is_empty() { format!("`{file}`") } else { format!("`{file}`: {}", tests.join(", ")) }
        })
        .collect();
    let by = match reason {
        _ if !tests.is_empty() => tests.join("<br>"),
        Some(reason) => cell(reason),
        None => "open".to_owned(),
    };
    let tested: Vec<String> = mentions.sides(id).iter().map(ToString::to_string).collect();
    let tested = tested.join(", ");
    format!("| {id} | {side}, {level}, {versions} | {} ({}) | {tested} | {by} |\n", cell(text), cell(source))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The anchor of a heading on the site.
fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|one| one.is_alphanumeric() || " -_".contains(*one))
        .map(|one| if one == ' ' { '-' } else { one })
        .collect()
}
