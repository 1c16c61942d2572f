//! The project's commands. `cargo xtask help` lists them.

#![forbid(unsafe_code)]

mod bench;
mod build;
mod conformance;
mod console;
mod demo;
mod generate;
mod go_modules;
mod http_servers;
mod language;
mod matrix;
mod options;
mod pages;
mod process;
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
use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  build                 build everything that the demo and the tests run, and the commands tests/fixtures/<language>/{server,client}
  demo [--lang A,B]     every feature with the servers and clients of all languages, over all transports, in all revisions
  matrix [--lang A,B] [--only WORD,WORD] [--long]
                        the same, and with the official SDKs as clients and as servers; writes docs/matrix.md
                        (--long: also those pairs of newer languages that the page leaves out)
  test [--lang A,B] [--only WORD,WORD] [--changed [BASE]] [--long]
                        formatters, linters and all tests; ends with `N passed, N failed`
                        --changed runs those that a change since BASE can break, by default since origin/main
                        --long also logs in with a real browser, and installs one where it is missing, and tries the
                        npm package with bundlers and in other runtimes
  generate [--check]    writes what follows from the declaration of the surface: parts of the packages and tables of the docs
                        --check writes nothing and names the files that differ
  go-modules LIBRARIES [--tag]
                        writes the Go modules of a release to target/go-modules; LIBRARIES has a folder per platform, such
                        as linux_amd64, with the C library
                        --tag commits them apart from the branch, and tags each as Go finds it
  conformance server|client [--lang A,B] [--only WORD,WORD]
                        the official conformance runners judge our fixture servers or clients
  requirements          counts in docs/requirements.md which requirements tests name; fails while one is open
  site                  writes the code of the pages out of its files, and builds the documentation site in target/site
  scars [--long] [--only WORD]
                        troubles of servers, each with a bar and the figure of every language (see tests/scars)
  bench [--build-only] [--rounds N] [--work A,B]
                        measures our servers and clients beside other implementations (see benches/README.md)

--only keeps the pairs, steps, scenarios or scars whose name contains one of the words.";

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
        ("build", []) => build::languages(&workspace, Language::available()).map(|()| true),
        ("demo", _) => demo::run(&workspace, options),
        ("matrix", _) => matrix::run(&workspace, options),
        ("conformance", _) => conformance::run(workspace, options),
        ("go-modules", [libraries]) => go_modules::run(&workspace, libraries, false),
        ("go-modules", [libraries, "--tag"]) => go_modules::run(&workspace, libraries, true),
        ("generate", []) => generate::run(&workspace, false),
        ("generate", ["--check"]) => generate::run(&workspace, true),
        ("requirements", []) => requirements::run(&workspace),
        ("site", []) => pages::make(&workspace).map(|()| true),
        ("scars", _) => scars::run(&workspace, options),
        ("test", _) => test::run(workspace, options),
        ("bench", _) => bench::run(&workspace, options),
        ("help" | "--help" | "-h", _) => {
            let languages = Language::ALL.map(|language| language.name).join(", ");
            println!("{HELP}\n\nLanguages: {languages}. Reports are written to target/reports/.");
            Ok(true)
        }
        _ => bail!("there is no command {:?}\n\n{HELP}", arguments.join(" ")),
    }
}
