//! The commands and outputs of the pages about the program.

use crate::program::Folder;
use std::{env, fs, path::Path};

/// Runs the commands of a page, as a user with this home folder.
fn check(page: &str, home: &Path) {
    let program = Path::new(env!("CARGO_BIN_EXE_trunkline"));
    let home = home.to_str().unwrap();
    let folders = [program.parent().unwrap().to_owned(), program.parent().unwrap().join("examples")];
    let before = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&before))).unwrap();
    trycmd::TestCases::new()
        .register_bin("trunkline", program)
        .env("PATH", path.to_str().unwrap())
        .env("TRUNKLINE_QUIET", "true")
        .env("HOME", home)
        .env("USERPROFILE", home)
        .env("APPDATA", home)
        .env("XDG_CONFIG_HOME", "")
        .env("TRUNKLINE_STORE", "file")
        .env("CODEX_HOME", "")
        .env("CLAUDE_CONFIG_DIR", "")
        .case(page);
}

#[test]
fn the_page_shows_what_the_program_prints() {
    check("../docs/program.md", &Folder::new().path);
}

#[test]
fn the_page_about_restarts_shows_what_the_program_prints() {
    check("../docs/dev-program.md", &Folder::new().path);
}

#[test]
fn the_page_about_hosts_shows_what_the_program_prints() {
    let home = Folder::new();
    let page = fs::read_to_string("../docs/install-program.md").unwrap();
    // The file of Cursor that the page shows.
    let file = page.split("```jsonc\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    home.write(".cursor/mcp.json", file);
    check("../docs/install-program.md", &home.path);
    assert_eq!(fs::read_to_string(home.path.join(".cursor/mcp.json")).unwrap(), file);
    assert!(!home.path.join(".codex/config.toml").exists());
}
