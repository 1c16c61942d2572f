//! The project's commands. `cargo xtask help` lists them.

#![forbid(unsafe_code)]

mod api;
mod bench;
mod build;
mod conformance;
mod console;
mod demo;
mod generate;
mod go_modules;
mod http_servers;
mod language;
mod length;
mod matrix;
mod options;
mod pages;
mod process;
mod release;
mod report;
mod requirements;
mod scars;
mod stamp;
mod table;
mod test;
mod workers;
mod workspace;

use anyhow::{Result, bail};

use language::Language;
use options::Options;
use workspace::Workspace;

/// The table of the commands, and the lines behind it.
fn help() -> String {
    let page = include_str!("../../CONTRIBUTING.md");
    let section = page.split("\n## ").find_map(|section| section.strip_prefix("Commands\n")).unwrap_or_default();
    let line = |line: &str| match line.strip_prefix("| `").and_then(|row| row.split_once(" | ")) {
        Some((command, does)) => format!("{}\n      {}\n", command.replace('`', ""), does.trim_end_matches(" |")),
        None => format!("{line}\n"),
    };
    section.lines().filter(|line| !line.starts_with("| command") && !line.starts_with("| ---")).map(line).collect()
}

fn main() {
    process::stop_children_when_interrupted();
    console::show_tasks();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::exit(1);
        }
    }
}

/// Returns `Ok(false)` if the command ran, but what it checked failed.
fn run(arguments: &[String]) -> Result<bool> {
    let (command, options) = arguments.split_first().map_or(("help", &[][..]), |(first, rest)| (first.as_str(), rest));
    let (workspace, words) = (Workspace::find()?, options.iter().map(String::as_str).collect::<Vec<_>>());
    match (command, &words[..]) {
        ("build", _) => {
            let languages = Options::parse(options, &["--lang"])?.languages;
            build::languages(&workspace, &languages).map(|()| true)
        }
        ("api", _) => api::run(&workspace, options),
        ("demo", _) => demo::run(&workspace, options),
        ("matrix", _) => matrix::run(&workspace, options),
        ("conformance", _) => conformance::run(workspace, options),
        ("go-modules", [libraries]) => go_modules::run(&workspace, libraries, false),
        ("go-modules", [libraries, "--tag"]) => go_modules::run(&workspace, libraries, true),
        ("generate", []) => generate::run(&workspace, false),
        ("generate", ["--check"]) => generate::run(&workspace, true),
        ("release", ["--dry-run", ..]) => release::run(&workspace, &options[1..]),
        ("requirements", []) => requirements::run(&workspace),
        ("site", []) => pages::make(&workspace).map(|()| true),
        ("scars", _) => scars::run(&workspace, options),
        ("test", _) => test::run(workspace, options),
        ("bench", _) => bench::run(&workspace, options),
        ("help" | "--help" | "-h", _) => {
            let languages = Language::ALL.map(|language| language.name).join(", ");
            println!("{}\nLanguages: {languages}.", help().trim());
            Ok(true)
        }
        _ => bail!("there is no command {:?}\n{}", arguments.join(" "), help()),
    }
}
