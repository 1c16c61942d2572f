//! Tries the lines of the README that install the packages from a checkout: in a new project next
//! to it, with what `cargo xtask build` has built, and a program that calls a tool.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::programs::FOLDER;
use super::{Count, Selection};
use crate::build::{BUILD_TIMEOUT, node, system};
use crate::language::Language;
use crate::process::must;
use crate::workspace::Workspace;

const README: &str = "README.md";
/// The program that each trial runs, of those in `docs/snippets`.
const PROGRAM: &str = "tools";

/// Lines of a shell around the line of the README.
struct Trial {
    language: &'static str,
    /// Makes a project, and keeps what is installed inside it.
    before: &'static str,
    /// Runs the program.
    after: &'static str,
}

/// Python and Rust would compile the core again, so pip only reads the package, and cargo adds it.
/// The workflow `packages` builds the wheel and the crate.
const TRIALS: [Trial; 6] = [
    Trial {
        language: "python",
        before: "$PYTHON -m venv .venv; . .venv/bin/activate; pip() { command pip \"$@\" --dry-run; }",
        after: "",
    },
    Trial {
        language: "node",
        before: "npm init --yes; npm pkg set type=module",
        after: "cp $COMPILED/tools.js .; node tools.js",
    },
    Trial {
        language: "rust",
        before: "mkdir src; touch src/lib.rs; export CARGO_NET_OFFLINE=true; \
                 printf '[package]\\nname = \"trial\"\\n[workspace]\\n' > Cargo.toml",
        after: "",
    },
    Trial {
        language: "c",
        before: "",
        after: "export PKG_CONFIG_PATH=$PWD/trunkline-c/lib/pkgconfig LD_LIBRARY_PATH=$PWD/trunkline-c/lib; \
                cc $SNIPPETS/tools.c -o tools $(pkg-config --cflags --libs trunkline); ./tools",
    },
    Trial {
        language: "go",
        before: "cp $SNIPPETS/tools.go .; go mod init trial; export CGO_ENABLED=0",
        after: "TRUNKLINE_LIBRARY=$BUILT/$LIBRARY go run .",
    },
    Trial { language: "ruby", before: "export GEM_HOME=$PWD/gems", after: "ruby -w $SNIPPETS/tools.rb" },
];

pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let lines = install_lines(&workspace.text(README)?)?;
    for (language, _) in &lines {
        let is_tried = TRIALS.iter().any(|trial| trial.language == language.name);
        count.add((!is_tried).then(|| format!("{README}: the line for {} is not tried", language.title)));
    }
    let place = workspace.target.join("checkout-trial");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::create_dir_all(&place)?;
    // Other systems have another shell.
    #[cfg(unix)]
    std::os::unix::fs::symlink(&workspace.root, place.join("trunkline"))?;
    for trial in TRIALS.iter().filter(|_| cfg!(unix)) {
        if selection.languages.iter().any(|language| language.name == trial.language) {
            let outcome = trial.run(workspace, &place, &lines);
            count.add(outcome.err().map(|error| format!("{README}, {}: {error:#}", trial.language)));
        }
    }
    Ok(count)
}

impl Trial {
    fn run(&self, workspace: &Workspace, place: &Path, lines: &[(Language, String)]) -> Result<()> {
        let line = lines.iter().find(|(language, _)| language.name == self.language);
        let (_, line) = line.context("there is no line that installs it")?;
        // Cargo's target directory need not be in the checkout.
        let line = line.replace("../trunkline/target", &workspace.target.to_string_lossy());
        let project = place.join(self.language);
        std::fs::create_dir(&project)?;
        let mut shell = shell(workspace, self.language)?;
        shell.current_dir(&project).arg(format!("{{ {}\n{line}\n}} >&2\n{}", self.before, self.after));
        let printed = must(shell, BUILD_TIMEOUT)?.stdout;
        let expected =
            if self.after.is_empty() { String::new() } else { workspace.text(format!("{FOLDER}/{PROGRAM}.txt"))? };
        ensure!(printed == expected, "{PROGRAM} printed:\n{printed}instead of:\n{expected}");
        Ok(())
    }
}

/// A shell that ends at the first failure, with the paths that the trials name.
fn shell(workspace: &Workspace, language: &str) -> Result<Command> {
    let snippets = workspace.path(FOLDER);
    let mut shell = match language {
        "go" => workspace.command_with(system::go()?.parent().context("go lies in a folder")?, "sh")?,
        _ => workspace.command("sh"),
    };
    match language {
        "python" => shell.env("PYTHON", system::python()?),
        "node" => shell.env("COMPILED", node::compiled(workspace, &snippets)?),
        _ => &mut shell,
    };
    shell.env("SNIPPETS", snippets).env("BUILT", workspace.target.join("debug"));
    shell.env("LIBRARY", workspace.library_file("trunkline")).args(["-e", "-u", "-c"]);
    Ok(shell)
}

/// The lines of the section "Install" that end with the name of a language, such as `pip install
/// ../trunkline/bindings-python  # Python 3.10 and newer`.
fn install_lines(readme: &str) -> Result<Vec<(Language, String)>> {
    let section = readme.split("\n## ").find_map(|section| section.strip_prefix("Install\n"));
    let section = section.with_context(|| format!("{README} has no section \"Install\""))?;
    let mut found = Vec::new();
    for line in section.lines().filter_map(|line| line.strip_prefix("    ")) {
        let Some((command, comment)) = line.split_once("  # ") else { continue };
        let name = comment.split([' ', ',']).next().unwrap_or_default();
        match Language::known().find(|language| language.title == name) {
            Some(language) => found.push((language, command.trim().to_owned())),
            None => bail!("{README}: the line {command:?} is for {name:?}, which is no language"),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_name_of_their_language() {
        let readme = "# A\n\n## Install\n\n    git clone b\n\nText\n\n    pip install c   # Python 3.10\n    d -e  # C, C++\n\n## F\n\n    g  # Go\n";
        let lines: Vec<_> =
            install_lines(readme).unwrap().into_iter().map(|(language, line)| (language.name, line)).collect();
        assert_eq!(lines, [("python", "pip install c".to_owned()), ("c", "d -e".to_owned())]);
        assert!(install_lines("## Install\n\n    a  # Perl\n").is_err());
        assert!(install_lines("# A\n").is_err());
    }
}
