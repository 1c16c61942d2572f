//! The parts of the program that only packages need: manual pages, and its second name.

use crate::program::{Folder, ran, trunkline};
use std::{env::consts::EXE_SUFFIX, fs, path::Path, process::Command};

const SECOND: &str = env!("CARGO_BIN_EXE_trunkline-cli");

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new();
    trunkline(&["man", folder.path.to_str().unwrap()]).done();
    let help = trunkline(&["--help"]).done().stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(names.contains(&"bridge") && !names.contains(&"man"), "{help}");
    for name in names.iter().filter(|name| **name != "help") {
        let page = fs::read_to_string(folder.path.join(format!("trunkline-{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(&format!("trunkline\\-{name}")), "{page}");
    }
    let page = fs::read_to_string(folder.path.join("trunkline.1")).unwrap();
    assert!(page.contains("trunkline\\-bridge(1)"), "{page}");
}

#[test]
fn a_folder_for_manual_pages_must_exist() {
    let missing = Folder::new().path.join("missing");
    let failed = trunkline(&["man", missing.to_str().unwrap()]);
    assert!(failed.failed(2).contains("missing"), "{failed:?}");
}

#[test]
fn the_second_name_starts_the_program_with_the_same_words() {
    let version = trunkline(&["--version"]).done().stdout;
    assert_eq!(ran(Command::new(SECOND).arg("--version")).done().stdout, version);
    let refused = ran(Command::new(SECOND).args(["list", "--no-such-flag"]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn the_second_name_works_through_a_link() {
    let folder = Folder::new();
    let link = folder.path.join("linked");
    std::os::unix::fs::symlink(SECOND, &link).unwrap();
    ran(Command::new(link).arg("--version")).done();
}

#[test]
fn the_second_name_alone_says_what_to_do() {
    // A link: a copy is busy while a process that another test starts has it open for writing.
    let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("alone{EXE_SUFFIX}"));
    let _ = fs::remove_file(&alone);
    fs::hard_link(SECOND, &alone).unwrap();
    assert!(ran(&mut Command::new(&alone)).failed(1).contains("install trunkline-cli again"));
}
