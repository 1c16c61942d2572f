//! Checks that the bindings are divided into the same modules, a convention of this project that no
//! linter knows. `docs/bindings.md` lists each module with its file or directory in every language;
//! each must exist and have the module's name.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::language::Language;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/bindings.md";

/// The columns of the table after the module's name, with the directory that their paths are
/// relative to.
fn packages() -> impl Iterator<Item = (&'static str, &'static str)> {
    Language::ALL.into_iter().filter_map(|language| Some((language.title, language.modules?)))
}

/// The directory of the Python package, and its only subdirectory; anything else there could be
/// imported by users.
const SHELL: (&str, &str) = ("bindings-python/python/trunkline", "_internal");

/// Files that make a directory a package.
const ROOT_FILES: [&str; 6] = ["__init__.py", "__main__.py", "py.typed", "index.ts", "index.mts", "lib.rs"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let modules = modules(&workspace.text(PAGE)?);
    let mut count = Count::default();
    count.add(modules.is_empty().then(|| format!("{PAGE} has no table of modules")));
    let (shell, folder) = SHELL;
    let others = outside(&[folder], &entries(workspace, shell)?);
    count.add(others.iter().map(|entry| format!("{shell}/{entry} can be imported by users: move it to {folder}")));
    for (column, (language, package)) in packages().enumerate() {
        let outside = outside(&places(&modules, column), &entries(workspace, package)?);
        let fault =
            |entry: &String| format!("{package}/{entry} is in no module: give it a row of {language} in {PAGE}");
        count.add(outside.iter().map(fault));
    }
    for (line, module) in modules {
        let faults = faults(&module, |package, path| workspace.path(package).join(path).exists());
        count.add(faults.iter().map(|fault| format!("{PAGE}:{line}: {fault}")));
    }
    Ok(count)
}

struct Module {
    name: String,
    /// Paths in backticks, or the reason why the language has no such module.
    places: Vec<String>,
}

/// The names of the files and directories in a directory.
fn entries(workspace: &Workspace, folder: &str) -> Result<BTreeSet<String>> {
    let files = workspace.files(&[folder])?;
    let inside = files.iter().filter_map(|file| file.strip_prefix(folder)?.strip_prefix('/')?.split('/').next());
    Ok(inside.map(str::to_owned).collect())
}

/// The rows of the table whose first cell is a module's name in backticks, with their line numbers.
fn modules(page: &str) -> Vec<(usize, Module)> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(|cell| cell.trim().to_owned());
        let name = in_backticks(&cells.next()?)?.to_owned();
        Some(Module { name, places: cells.skip(1).collect() })
    };
    page.lines().enumerate().filter_map(|(index, line)| Some((index + 1, row(line)?))).collect()
}

fn faults(module: &Module, exists: impl Fn(&str, &str) -> bool) -> Vec<String> {
    if module.places.len() != packages().count() {
        return vec![format!(
            "`{}` needs a cell for each of {}",
            module.name,
            packages().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
        )];
    }
    let fault = |(place, (language, package)): (&String, (&str, &str))| match in_backticks(place) {
        None if place.starts_with("none: ") => None,
        None => Some(format!("`{}` of {language}: a path in backticks, or `none:` and the reason", module.name)),
        Some(path) if stem(path) != module.name => {
            Some(format!("`{path}` of {language} should bear the module's name, `{}`", module.name))
        }
        Some(path) => (!exists(package, path)).then(|| format!("{package}/{path} does not exist")),
    };
    module.places.iter().zip(packages()).filter_map(fault).collect()
}

/// The paths of all modules in one language.
fn places(modules: &[(usize, Module)], column: usize) -> Vec<&str> {
    modules.iter().filter_map(|(_, module)| in_backticks(module.places.get(column)?)).collect()
}

/// The entries of a directory that hold none of these paths. A module may be in a directory of
/// another.
fn outside(places: &[&str], entries: &BTreeSet<String>) -> Vec<String> {
    let is_held = |entry: &str| places.iter().any(|place| place.split('/').next() == Some(entry));
    entries.iter().filter(|entry| !ROOT_FILES.contains(&entry.as_str()) && !is_held(entry)).cloned().collect()
}

fn in_backticks(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// `port.rs`, `port/`, `_port.py` and `http-mount.ts` are the modules `port`, `port`, `port` and
/// `http_mount`.
fn stem(path: &str) -> String {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    let name = last.split('.').next().unwrap_or(last);
    name.trim_start_matches('_').replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(row: &str, exists: bool) -> Vec<String> {
        let (_, module) = modules(row).pop().unwrap();
        faults(&module, |_, _| exists)
    }

    #[test]
    fn a_module_has_a_place_of_its_name_in_every_language() {
        let row = "| `http_mount` | Requests of a framework. | `server/http_mount.py` | `http-mount.ts` | `http_mount/` | `http_mount.rb` |";
        assert!(faults_of(row, true).is_empty());
        assert_eq!(faults_of(row, false).len(), 4);
    }

    #[test]
    fn another_name_and_an_empty_cell_are_faults() {
        let row = "| `port` | The loop. | `runtime.py` | - | none: C has one thread | `port.rb` |";
        let faults = faults_of(row, true);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("should bear") && faults[1].contains("the reason"));
    }

    #[test]
    fn a_file_outside_of_the_modules_is_found() {
        let page = "| `port` | The loop. | `port/` | `port.ts` | none: C has one thread |\n\
                    | `log` | Records. | `port/log.py` | `log.ts` | none: C has none |";
        let entries = ["__init__.py", "port", "tricks.py"].map(str::to_owned);
        assert_eq!(outside(&places(&modules(page), 0), &BTreeSet::from(entries)), ["tricks.py"]);
    }

    #[test]
    fn a_module_beside_the_internal_ones_is_found() {
        let entries = ["__init__.py", "_internal", "calls.py", "port"].map(str::to_owned);
        assert_eq!(outside(&["_internal"], &BTreeSet::from(entries)), ["calls.py", "port"]);
    }

    #[test]
    fn only_rows_of_modules_count() {
        assert_eq!(modules("| module | meaning |\n| --- | --- |\ntext").len(), 0);
        assert_eq!(faults_of("| `port` | The loop. | `port.py` |", true).len(), 1);
    }
}
