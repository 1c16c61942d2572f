//! The requirements of the specification (tests/requirements/README.md) and the tests that name
//! them: `docs/requirements.md`, and the full list on the site.

mod ids;
mod list;
mod page;
mod scan;
mod sides;

use anyhow::Result;

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
    write_if_changed(&workspace.path(PAGE), page::summary(workspace, &list, &mentions)?.as_bytes())?;
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
    let is_current = workspace.text(PAGE)? == page::summary(workspace, &list, &mentions)?;
    count.add((!is_current).then(|| format!("{PAGE} is not up to date: run `cargo xtask requirements`")));
    Ok(count)
}

/// The name and text of the site's page that lists every requirement.
pub(crate) fn list_page(workspace: &Workspace) -> Result<(&'static str, String)> {
    let (list, mentions) = read(workspace)?;
    Ok((page::LIST, page::list(workspace, &list, &mentions)?))
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
    let mut count = Count::default();
    count.add([list.unknown(mentions), list.crossing(mentions), list.other_side(mentions)].concat());
    let unnamed: Vec<_> = list.all().filter(|one| !mentions.has(&one.id)).collect();
    let open: Vec<_> = unnamed.iter().filter(|one| one.reason.is_none()).map(|one| one.id.as_str()).collect();
    let (all, explained) = (list.all().count(), unnamed.len() - open.len());
    let (named, unexplained) = (all - unnamed.len(), open.len());
    count.note = format!("{named} of {all} named by a test, {explained} explained, {unexplained} open");
    count.add((!open.is_empty()).then(|| format!("open: {}", open.join(" "))));
    count
}
