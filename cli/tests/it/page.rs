//! The commands and outputs of the page about the program.

use std::{env, path::Path};

#[test]
fn the_page_shows_what_the_program_prints() {
    let program = Path::new(env!("CARGO_BIN_EXE_trunkline"));
    let folders = [program.parent().unwrap().to_owned(), program.parent().unwrap().join("examples")];
    let before = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&before))).unwrap();
    trycmd::TestCases::new()
        .register_bin("trunkline", program)
        .env("PATH", path.to_str().unwrap())
        .env("TRUNKLINE_QUIET", "true")
        .case("../docs/program.md");
}
