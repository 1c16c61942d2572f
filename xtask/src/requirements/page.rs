//! Writes `docs/requirements.md`.

use crate::requirements::list::{Group, List, Requirement};
use crate::requirements::scan::Mentions;

const HEAD: &str = "\
# Requirements

<!-- Written by `cargo xtask requirements` out of tests/requirements/requirements.json and what the tests name. -->

What the five revisions of the specification and its extensions demand of a client or a server, each with the tests that name it, or the reason why no
test of this library can. The texts are ours; the named page of the specification decides. A test names a requirement in its own name
(`http_07_…`) or in a comment in or above it (`HTTP-07`), a wire vector in its field `requirements`: that it also proves it is for its reader to judge.
The column \"under test\" says whether the named tests have a server or a client under test, or both: messages without a conversation, or both ends of one.
";

pub(super) fn write(list: &List, mentions: &Mentions) -> String {
    let mut page = HEAD.to_owned();
    let sums = |groups: &[Group]| {
        let all = || groups.iter().flat_map(|group| &group.requirements);
        let named = all().filter(|one| mentions.has(&one.id)).count();
        let explained = all().filter(|one| !mentions.has(&one.id) && one.reason.is_some()).count();
        format!("{} | {named} | {explained} | {}", all().count(), all().count() - named - explained)
    };
    page.push_str(
        "\n| group | | requirements | named | explained | open |\n| --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for group in &list.groups {
        let line = format!(
            "| [{}](#{}) | {} | {} |\n",
            group.prefix,
            anchor(&group.title),
            group.title,
            sums(std::slice::from_ref(group))
        );
        page.push_str(&line);
    }
    page.push_str(&format!("| | all | {} |\n", sums(&list.groups)));
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

/// As code hosts make it out of a heading.
fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|one| one.is_alphanumeric() || " -_".contains(*one))
        .map(|one| if one == ' ' { '-' } else { one })
        .collect()
}
