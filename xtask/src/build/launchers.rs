//! The commands `tests/fixtures/<language>/{server,client}`, which start a language's fixture from
//! any directory.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::language::Language;
use crate::stamp::write_if_changed;
use crate::workspace::Workspace;

pub(crate) fn write(workspace: &Workspace, languages: &[Language]) -> Result<()> {
    for &language in languages {
        for role in ["server", "client"] {
            let source = workspace.path(&format!("tests/fixtures/{}/{role}", language.name));
            let program = (language.program)(workspace, &format!("fixture-{role}"), &source);
            write_one(workspace, &language.launcher(workspace, role), &program)?;
        }
    }
    Ok(())
}

/// Writes a command that starts `program` and passes on its own arguments.
pub(crate) fn write_one(workspace: &Workspace, launcher: &Path, program: &[PathBuf]) -> Result<()> {
    let depth = launcher.strip_prefix(&workspace.root)?.components().count() - 1;
    write_if_changed(launcher, script(workspace, depth, program).as_bytes())?;
    make_executable(launcher)
}

/// Paths inside the tree are relative to the script, so that the tree can be moved.
fn script(workspace: &Workspace, depth: usize, program: &[PathBuf]) -> String {
    let words: Vec<String> = program
        .iter()
        .map(|word| match word.strip_prefix(&workspace.root) {
            Ok(inside) if cfg!(windows) => {
                format!("\"%~dp0{}{}\"", "..\\".repeat(depth), inside.display())
            }
            Ok(inside) => format!("\"$root\"/'{}'", inside.display()),
            Err(_) => quoted(word),
        })
        .collect();
    if cfg!(windows) {
        format!("@{} %*\r\n", words.join(" "))
    } else {
        let up = "/..".repeat(depth);
        format!(
            "#!/bin/sh
# Written by `cargo xtask build`.
self=$0
while [ -L \"$self\" ]; do
  link=$(readlink \"$self\")
  case $link in /*) self=$link ;; *) self=$(dirname \"$self\")/$link ;; esac
done
root=$(CDPATH= cd \"$(dirname \"$self\"){up}\" && pwd -P) || exit
exec {} \"$@\"
",
            words.join(" ")
        )
    }
}

fn quoted(word: &Path) -> String {
    if cfg!(windows) { format!("\"{}\"", word.display()) } else { format!("'{}'", word.display()) }
}

#[cfg(unix)]
pub(crate) fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(windows)]
pub(crate) fn make_executable(_file: &Path) -> Result<()> {
    Ok(())
}
