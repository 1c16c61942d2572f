//! `trunkline-vectors`: plays wire vectors to a server (README.md).

use serde_json::json;
use std::{
    cell::Cell,
    ffi::OsString,
    io::Write,
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};
use trunkline_vectors::{CommandServer, Fixture, Outcome, Played, Server, UrlServer, load, play_all};

const USAGE: &str = "\
Plays wire vectors of the Model Context Protocol to a server.

usage: trunkline-vectors [OPTION]... -- COMMAND [ARGUMENT]...    a server on standard input and output
       trunkline-vectors [OPTION]... --url URL [--sse-url URL]   a server that listens
       trunkline-vectors [OPTION]... --fixture PROGRAM           a server with the command line of tests/fixtures

  --vectors PATH        a file or a folder of vectors (may be repeated); default: tests/vectors
  --only WORD           vectors whose name contains the word (may be repeated)
  --revision REVISION   plays in this revision only (may be repeated)
  --stateless           the server at the URL keeps no sessions
  --json                the server at the URL never answers with a stream
  --report FILE         writes the results as JSON
  --list                lists the vectors instead of playing them
  --quiet               prints failures and the sums only

The exit status is 0 if every vector held, 1 if one failed or none was played, 2 for wrong options.";

thread_local! {
    static MAIN: Cell<bool> = const { Cell::new(false) };
}

#[derive(Default)]
struct Options {
    vectors: Vec<PathBuf>,
    only: Vec<String>,
    revisions: Vec<String>,
    url: UrlServer,
    fixture: Option<PathBuf>,
    command: Vec<OsString>,
    report: Option<PathBuf>,
    list: bool,
    quiet: bool,
}

fn main() -> ExitCode {
    MAIN.set(true);
    // A vector that fails panics in a thread of its own; its text is printed with the result.
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if MAIN.get() {
            default(info);
        }
    }));
    let options = match parse(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// `None` if help is wanted.
fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let name = word.to_string_lossy().into_owned();
        let mut value = || words.next().ok_or_else(|| format!("{name} needs a value"));
        let text = |value: OsString| value.into_string().map_err(|_| format!("the value of {name} is not text"));
        match &*name {
            "--vectors" => options.vectors.push(value()?.into()),
            "--only" => options.only.push(text(value()?)?),
            "--revision" => options.revisions.push(text(value()?)?),
            "--url" => options.url.http = Some(text(value()?).and_then(checked_url)?),
            "--sse-url" => options.url.sse = Some(text(value()?).and_then(checked_url)?),
            "--stateless" => options.url.stateless = true,
            "--json" => options.url.json = true,
            "--fixture" => options.fixture = Some(value()?.into()),
            "--report" => options.report = Some(value()?.into()),
            "--list" => options.list = true,
            "--quiet" => options.quiet = true,
            "--help" | "-h" => return Ok(None),
            "--" => {
                options.command = words.collect();
                break;
            }
            _ => return Err(format!("an unknown option: {name}")),
        }
    }
    let has_url = options.url.http.is_some() || options.url.sse.is_some();
    let servers = [has_url, options.fixture.is_some(), !options.command.is_empty()];
    match servers.iter().filter(|given| **given).count() {
        1 => Ok(Some(options)),
        0 if options.list => Ok(Some(options)),
        0 => Err("a server is missing: a command after --, --url or --fixture".to_owned()),
        _ => Err("a command after --, --url and --fixture exclude each other".to_owned()),
    }
}

fn checked_url(url: String) -> Result<String, String> {
    let has_path = url.strip_prefix("http://").is_some_and(|rest| rest.contains('/'));
    has_path.then_some(url).ok_or_else(|| "a URL has the form http://HOST:PORT/PATH".to_owned())
}

/// Whether every vector held.
fn run(options: &Options) -> Result<bool, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let paths =
        if options.vectors.is_empty() { vec![here.clone(), here.join("features")] } else { options.vectors.clone() };
    let mut vectors = Vec::new();
    for path in &paths {
        vectors.extend(load(path).map_err(|error| error.to_string())?);
    }
    if !options.only.is_empty() {
        vectors.retain(|vector| options.only.iter().any(|word| vector.name.contains(word)));
    }
    if options.list {
        for vector in &vectors {
            println!("{} ({}): {}", vector.name, vector.requirements.join(", "), vector.about);
        }
        return Ok(true);
    }
    let server: Box<dyn Server> = match (&options.fixture, &*options.command) {
        (Some(program), _) => Box::new(Fixture::new(program.clone())),
        (None, []) => {
            Box::new(UrlServer { http: options.url.http.clone(), sse: options.url.sse.clone(), ..options.url })
        }
        (None, command) => Box::new(CommandServer::new(command.to_vec())),
    };
    let wanted = |revision: Option<&str>| {
        options.revisions.is_empty()
            || revision.is_some_and(|revision| options.revisions.iter().any(|one| one == revision))
    };
    let start = Instant::now();
    let played = play_all(&vectors, &*server, wanted, |played| print(played, options.quiet));
    drop(server);
    let count = |is_it: fn(&Outcome) -> bool| played.iter().filter(|played| is_it(&played.outcome)).count();
    let held = count(|outcome| *outcome == Outcome::Held);
    let skipped = count(|outcome| *outcome == Outcome::Skipped);
    let failed = played.len() - held - skipped;
    println!("{held} held, {failed} failed, {skipped} skipped in {:.1} s", start.elapsed().as_secs_f64());
    if let Some(file) = &options.report {
        let failures: Vec<_> = played
            .iter()
            .filter_map(|played| match &played.outcome {
                Outcome::Failed(text) => Some(json!({"name": played.to_string(), "text": text})),
                _ => None,
            })
            .collect();
        let report = json!({"held": held, "failed": failed, "skipped": skipped, "failures": failures});
        std::fs::write(file, format!("{report:#}\n")).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(failed == 0 && held > 0)
}

fn print(played: &Played, quiet: bool) {
    let mut out = std::io::stdout().lock();
    // A reader that is gone is not the server's failure.
    let _ = match &played.outcome {
        Outcome::Failed(text) => writeln!(out, "FAILED   {played}\n{}", indented(text)),
        _ if quiet => Ok(()),
        Outcome::Held => writeln!(out, "held     {played}"),
        Outcome::Skipped => writeln!(out, "skipped  {played}"),
    };
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("         {line}\n")).collect::<String>().trim_end().to_owned()
}
