//! The requirements of the specification (tests/requirements/README.md) and the tests that name
//! them: `docs/requirements.md`, and the full list on the site.

mod ids;
mod list;
mod page;
mod scan;
mod sides;

use anyhow::{Context, Result};

use crate::console;
use crate::stamp::write_if_changed;
use crate::test::Count;
use crate::workspace::Workspace;

use list::List;
use scan::Mentions;
pub(crate) use scan::TestSyntax;

const PAGE: &str = "docs/requirements.md";

/// `cargo xtask requirements`: writes the page.
pub(crate) fn run(workspace: &Workspace) -> Result<bool> {
    let (list, mentions) = read(workspace)?;
    write_if_changed(&workspace.path(PAGE), page::summary(&list, &mentions).as_bytes())?;
    let count = judge(&list, &mentions);
    for line in [count.said, count.note].iter().filter(|text| !text.is_empty()) {
        console::line(line);
    }
    Ok(count.failed == 0)
}

/// Checks that the page is up to date, that every id named by a test exists, and that every
/// requirement is tested or explained.
pub(crate) fn check(workspace: &Workspace) -> Result<Count> {
    let (list, mentions) = read(workspace)?;
    let mut count = judge(&list, &mentions);
    let page = std::fs::read_to_string(workspace.path(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let is_current = page.replace("\r\n", "\n") == page::summary(&list, &mentions);
    count.add((!is_current).then(|| format!("{PAGE} is not up to date: run `cargo xtask requirements`")));
    Ok(count)
}

/// The name and text of the site's page that lists every requirement.
pub(crate) fn list_page(workspace: &Workspace) -> Result<(&'static str, String)> {
    let (list, mentions) = read(workspace)?;
    Ok((page::LIST, page::list(&list, &mentions)))
}

/// Returns a function that finds requirement ids in a text.
pub(crate) fn finder(workspace: &Workspace) -> Result<impl Fn(&str) -> Vec<String>> {
    let prefixes = List::read(workspace)?.prefixes();
    Ok(move |text: &str| ids::in_text(text, &prefixes).concat())
}

fn read(workspace: &Workspace) -> Result<(List, Mentions)> {
    let list = List::read(workspace)?;
    let mentions = scan::tree(workspace, &list.prefixes())?;
    Ok((list, mentions))
}

fn judge(list: &List, mentions: &Mentions) -> Count {
    let unknown: Vec<String> = mentions
        .named()
        .filter(|(id, _)| !list.has(id))
        .map(|(id, place)| format!("{place} names {id}, which is not a requirement"))
        .collect();
    let open = list.open(mentions);
    let wrong = [unknown, list.crossing(mentions), list.other_side(mentions)].concat();
    let mut count = Count::default();
    count.add(wrong);
    let (named, explained) = (list.named(mentions), list.explained(mentions));
    count.note = format!("{named} of {} named by a test, {explained} explained, {} open", list.len(), open.len());
    count.add((!open.is_empty()).then(|| format!("open: {}", open.join(" "))));
    count
}
