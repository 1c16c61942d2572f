//! Checks that the code in the README and on the pages is code that runs, since no tool knows which
//! file a block shows: every block must name its file and have its contents, and the files are run
//! (examples.rs, programs.rs).

use std::collections::BTreeSet;

use anyhow::Result;

use crate::language::Language;
use crate::pages::{self, Block, blocks};
use crate::stamp::files_under;
use crate::test::programs::{FOLDER, MANIFESTS};
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

/// Prefix of programs that use a framework, which exists in one language only.
const IN_A_FRAMEWORK: &str = "in_";

/// Pages about the bridge and the core's internals, with code that is not a complete program.
const INTERNALS: [&str; 2] = ["docs/decisions/no-attribute-macro.md", "docs/transports.md"];

/// Blocks begin with ```` ```python examples/python/server.py ````. The READMEs of the bindings are
/// checked by the bindings' own tests.
pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let mut shown = BTreeSet::new();
    let endings: Vec<_> = Language::known().map(|language| language.snippet_ending).collect();
    for page in pages::all(workspace)? {
        let text = workspace.text(&page)?;
        let blocks = blocks(&text);
        count.add(links_fault(workspace, &page, &text).map(|fault| format!("{page}: {fault}")));
        for block in &blocks {
            let faults = [fault(workspace, &page, block), missing_languages(workspace, &page, block)];
            let fault = faults.into_iter().flatten().next();
            count.add(fault.map(|fault| format!("{page}:{}: {fault}", block.first + 1)));
        }
        let linked = |block: &Block| pages::programs(workspace, &page, block).into_iter().map(|program| program.file);
        shown.extend(blocks.iter().flat_map(linked));
        shown.extend(blocks.into_iter().filter_map(|block| block.file));
    }
    for file in files_under(&workspace.path(FOLDER))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
        let exists = |ending: &&str| workspace.path(&format!("{FOLDER}/{stem}.{ending}")).exists();
        // The output of a program in one language need not be shown below it.
        let is_page = !MANIFESTS.contains(&name.as_str())
            && (endings.contains(&ending) || ending == "txt" && endings.iter().all(exists));
        if is_page {
            let is_shown = shown.contains(&format!("{FOLDER}/{name}"));
            count.add((!is_shown).then(|| format!("{FOLDER}/{name} is shown on no page")));
        }
    }
    Ok(count)
}

fn fault(workspace: &Workspace, page: &str, block: &Block) -> Option<String> {
    let Some(file) = &block.file else {
        let is_code =
            Language::known().any(|one| one.fences.contains(&block.language.as_str())) && !INTERNALS.contains(&page);
        return is_code
            .then(|| "a block of code without its file: begin it with ```language path/of/the/file".to_owned());
    };
    match workspace.text(file) {
        Err(error) => Some(format!("{error:#}")),
        Ok(content) if content != block.text => {
            Some(format!("the block is not what stands in {file}: run `cargo xtask site`"))
        }
        Ok(_) => None,
    }
}

/// Below a program are links to it in the other languages, and nothing interrupts them.
fn links_fault(workspace: &Workspace, page: &str, text: &str) -> Option<String> {
    match pages::linked(workspace, page, text) {
        Err(error) => Some(format!("{error:#}")),
        Ok(linked) if linked != text => {
            Some("the links of its programs to other languages are not current: run `cargo xtask site`".to_owned())
        }
        Ok(_) => None,
    }
}

/// A snippet must exist in every language.
fn missing_languages(workspace: &Workspace, page: &str, block: &Block) -> Option<String> {
    let (stem, _) = block.file.as_deref()?.strip_prefix(FOLDER)?.strip_prefix('/')?.rsplit_once('.')?;
    let is_missing = |ending: &&str| !workspace.path(&format!("{FOLDER}/{stem}.{ending}")).exists();
    let missing: Vec<_> = Language::known().map(|language| language.snippet_ending).filter(is_missing).collect();
    let may_lack = stem.starts_with(IN_A_FRAMEWORK) || Language::of_page(page).is_some();
    (!may_lack && !missing.is_empty()).then(|| format!("{FOLDER}/{stem} lacks {}", missing.join(", ")))
}
