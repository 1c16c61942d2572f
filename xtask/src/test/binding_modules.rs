//! Checks that the bindings are divided into the same modules, a convention of this project that no
//! linter knows. `docs/bindings.md` lists each module with its file or directory in every language;
//! each must exist and have the module's name. Each directory of the Python package must have an
//! `__init__.py`, because wheels would omit it otherwise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::language::Language;
use crate::stamp::files_under;
use crate::test::{Count, Selection};
use crate::workspace::Workspace;

const PAGE: &str = "docs/bindings.md";

/// The columns of the table after the module's name, with the directory that their paths are
/// relative to.
fn packages() -> impl Iterator<Item = (&'static str, &'static str)> {
    Language::ALL.into_iter().filter_map(|language| Some((language.title, language.modules?)))
}

/// The directory with Python modules.
const PYTHON: &str = "bindings-python/python/trunkline/_internal";

/// Directories above the modules, each with its only subdirectory; anything else there could be
/// imported by users.
const SHELLS: [(&str, &str); 1] = [("bindings-python/python/trunkline", "_internal")];

/// Files that make a directory a package.
const ROOTS: [&str; 6] = ["__init__.py", "__main__.py", "py.typed", "index.ts", "index.mts", "lib.rs"];
/// File extensions of native libraries, which the build puts next to the sources.
const BUILT: [&str; 3] = [".so", ".pyd", ".dylib"];

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let page = std::fs::read_to_string(workspace.path(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let modules = modules(&page);
    let mut count = Count::default();
    count.add(modules.is_empty().then(|| format!("{PAGE} has no table of modules")));
    for (shell, folder) in SHELLS {
        let entries = entries(workspace, shell)?;
        let others = others(&entries, folder);
        count.add(others.iter().map(|entry| format!("{shell}/{entry} can be imported by users: move it to {folder}")));
    }
    for (column, (language, package)) in packages().enumerate() {
        let entries = entries(workspace, package)?;
        let outside = outside(&modules, column, &entries);
        let fault = |entry: &&str| format!("{package}/{entry} is in no module: give it a row of {language} in {PAGE}");
        count.add(outside.iter().map(fault));
    }
    let files = files_under(&workspace.path(PYTHON))?;
    count.add(unmarked(&files).iter().map(|folder| format!("{} needs an __init__.py", folder.display())));
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

/// The sorted names of the files and directories in a directory. Directories without files, which
/// git leaves behind, are ignored.
fn entries(workspace: &Workspace, folder: &str) -> Result<Vec<String>> {
    let folder = workspace.path(folder);
    let top = |file: &PathBuf| {
        let path = file.strip_prefix(&folder).ok()?;
        path.components().next().map(|name| name.as_os_str().to_string_lossy().into_owned())
    };
    Ok(files_under(&folder)?.iter().filter_map(top).collect::<BTreeSet<_>>().into_iter().collect())
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

/// The top-level entries of a package that are in no module. A module may be in a directory of
/// another.
fn outside<'a>(modules: &[(usize, Module)], column: usize, entries: &'a [String]) -> Vec<&'a str> {
    let places: Vec<&str> = modules.iter().filter_map(|(_, module)| in_backticks(module.places.get(column)?)).collect();
    let is_held = |entry: &str| places.iter().any(|place| place.split('/').next() == Some(entry));
    entries.iter().map(String::as_str).filter(|entry| is_source(entry) && !is_held(entry)).collect()
}

/// The sources in a shell other than its only directory.
fn others<'a>(entries: &'a [String], folder: &str) -> Vec<&'a str> {
    entries.iter().map(String::as_str).filter(|entry| is_source(entry) && *entry != folder).collect()
}

/// Built and cached files do not belong to the repository.
fn is_source(entry: &str) -> bool {
    !ROOTS.contains(&entry) && entry != "__pycache__" && !BUILT.iter().any(|ending| entry.ends_with(ending))
}

/// The directories that have Python modules but no `__init__.py`.
fn unmarked(files: &[PathBuf]) -> BTreeSet<&Path> {
    let modules = files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "py"));
    let folders = modules.filter_map(|module| module.parent());
    folders.filter(|folder| !files.contains(&folder.join("__init__.py"))).collect()
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
        let entries = ["__init__.py", "_native.abi3.so", "port", "tricks.py"].map(str::to_owned);
        assert_eq!(outside(&modules(page), 0, &entries), ["tricks.py"]);
    }

    #[test]
    fn a_module_beside_the_internal_ones_is_found() {
        let entries = ["__init__.py", "_internal", "calls.py", "port"].map(str::to_owned);
        assert_eq!(others(&entries, "_internal"), ["calls.py", "port"]);
    }

    #[test]
    fn a_folder_of_modules_needs_its_mark() {
        let files = ["a/__init__.py", "a/b.py", "a/c/d.py", "a/e/f.pyi"].map(PathBuf::from);
        assert_eq!(Vec::from_iter(unmarked(&files)), [Path::new("a/c")]);
    }

    #[test]
    fn only_rows_of_modules_count() {
        assert_eq!(modules("| module | meaning |\n| --- | --- |\ntext").len(), 0);
        assert_eq!(faults_of("| `port` | The loop. | `port.py` |", true).len(), 1);
    }
}
