//! `cargo xtask release --dry-run`: packs every package of this platform, looks into it, and runs a
//! program with it in a bare folder. The workflow `packages` does the same with the same programs
//! (`tests/packages`), with optimized libraries for all platforms, and `release` publishes them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::build::rust::WRAPPER;
use crate::build::{self, jvm, python};
use crate::console;
use crate::go_modules;
use crate::language::{Language, swift};
use crate::options::Options;
use crate::process::{must, run as run_command};
use crate::test::{Count, Selection, suites};
use crate::workspace::Workspace;

const PROGRAM: &str = "tests/packages/release.py";
/// The virtual environment with the installers that users have, such as uv.
const INSTALLERS: &str = "packages";
const REQUIREMENTS: &str = "tests/packages/requirements.txt";
/// Some packages are compiled.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// A kind of package, as the program calls it.
struct Package {
    language: &'static str,
    kind: &'static str,
    /// Arguments of the program for packing it.
    input: fn(&Workspace) -> Vec<PathBuf>,
    /// Set if the step of the tests has it. Another step has the npm package, and to compile the
    /// wheel and the packed crates takes minutes.
    is_step: bool,
}

const PACKAGES: [Package; 8] = [
    Package {
        language: "rust",
        kind: "crates",
        // A dry run is for uncommitted changes, too, and the program compiles the crates.
        input: |_| vec!["--no-verify".into(), "--allow-dirty".into()],
        is_step: false,
    },
    Package { language: "rust", kind: "program", input: |tree| vec![tree.built("trunkline")], is_step: true },
    Package { language: "python", kind: "sdist", input: |_| Vec::new(), is_step: true },
    Package { language: "python", kind: "wheel", input: |_| Vec::new(), is_step: false },
    Package { language: "node", kind: "npm", input: |tree| vec![tree.built_library("trunkline_node")], is_step: false },
    Package { language: "c", kind: "c", input: |tree| vec![tree.built("trunkline-c-install")], is_step: true },
    Package {
        language: "java",
        kind: "maven",
        input: |tree| vec![jvm::native(tree), "-Dmaven.test.skip=true".into()],
        is_step: true,
    },
    Package {
        language: "ruby",
        kind: "gem",
        input: |tree| vec![tree.built_library("trunkline_uniffi")],
        is_step: true,
    },
];

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> Result<bool> {
    let languages = Options::parse(options, &["--lang"])?.languages;
    build::languages(workspace, &languages)?;
    for language in &languages {
        (language.install_tools)(workspace)?;
    }
    let mut count = packages(workspace, &languages, |_| true)?;
    let is_selected = |name: &str| languages.iter().any(|language| language.name == name);
    if is_selected("go") {
        count = count.and(go_modules::check(workspace)?);
    }
    if is_selected("swift") {
        count = count.and(swift::package(workspace)?);
    }
    console::line(&format!("{}{} passed, {} failed", count.said, count.passed, count.failed));
    Ok(count.failed == 0)
}

/// The step of the tests. Other steps have the Go modules and the npm package.
pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    packages(workspace, &selection.languages, |package| package.is_step)
}

fn packages(workspace: &Workspace, languages: &[Language], is_wanted: fn(&Package) -> bool) -> Result<Count> {
    python::install_tools(workspace)?;
    python::make_venv(workspace, INSTALLERS, Some(&workspace.path(REQUIREMENTS)))?;
    let mut count = suites::of_lines(&run_command(program(workspace, &["version"])?, TIMEOUT)?);
    let folder = workspace.target.join("packages");
    for package in PACKAGES.iter().filter(|package| is_wanted(package)) {
        if languages.iter().any(|language| language.name == package.language) {
            let outcome = package.check(workspace, &folder.join(package.kind));
            count = count.and(outcome.unwrap_or_else(|error| Count {
                failed: 1,
                said: format!("{}: {error:#}", package.kind),
                ..Count::default()
            }));
        }
    }
    Ok(count)
}

impl Package {
    fn check(&self, workspace: &Workspace, folder: &Path) -> Result<Count> {
        let _task = console::begin(self.kind);
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        let mut pack = program(workspace, &["pack", self.kind])?;
        pack.arg(folder).args((self.input)(workspace));
        let packed = must(pack, TIMEOUT)?.stdout;
        let mut check = program(workspace, &["check"])?;
        check.args(packed.lines());
        Ok(suites::of_lines(&run_command(check, TIMEOUT)?))
    }
}

/// With the Python that has maturin, and the compiler of all builds, so that crates are shared.
fn program(workspace: &Workspace, words: &[&str]) -> Result<Command> {
    let installers = workspace.venv_program(INSTALLERS, "uv");
    let folder = installers.parent().unwrap_or(&installers);
    let mut python = workspace.command_with(folder, workspace.venv_program(python::VENV, "python"))?;
    python.arg(PROGRAM).args(words).env(WRAPPER.0, WRAPPER.1);
    Ok(python)
}
