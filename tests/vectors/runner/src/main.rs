//! `trunkline-vectors`: plays wire vectors to a server or a client (README.md).

#![forbid(unsafe_code)]

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
use trunkline_vectors::{
    ClientVector, CommandServer, Fixture, Outcome, Played, Server, StdioShare, Transport, UrlServer, Vector, load,
    load_client, play_all, play_to_client, serve,
};

const USAGE: &str = "\
Plays wire vectors of the Model Context Protocol to a server, or to a client.

usage: trunkline-vectors [OPTION]... -- COMMAND [ARGUMENT]...    a server on standard input and output
       trunkline-vectors [OPTION]... --url URL [--sse-url URL]   a server that listens
       trunkline-vectors [OPTION]... --fixture PROGRAM           a server with the command line of tests/fixtures
       trunkline-vectors [OPTION]... --client PROGRAM            a client with the command line of tests/fixtures

  --vectors PATH        a file or a folder of vectors (may be repeated); default: tests/vectors
  --only WORD           vectors whose name contains the word (may be repeated)
  --revision REVISION   plays in this revision only (may be repeated)
  --stdio-share K/N     over standard input and output, plays only the part K, from 0, of N parts
  --stateless           the server at the URL keeps no sessions
  --json                the server at the URL never answers with a stream
  --report FILE         writes the results as JSON
  --list                lists the vectors instead of playing them
  --quiet               only prints failures and totals

The exit status is 0 if every vector held, 1 if one failed or none was played, 2 for invalid options.";

thread_local! {
    static MAIN: Cell<bool> = const { Cell::new(false) };
}

#[derive(Default)]
struct Options {
    vectors: Vec<PathBuf>,
    only: Vec<String>,
    revisions: Vec<String>,
    stdio_share: Option<StdioShare>,
    url: UrlServer,
    fixture: Option<PathBuf>,
    client: Option<PathBuf>,
    /// A vector for clients, to serve on standard input and output, and the file of its outcome.
    serve: Option<PathBuf>,
    outcome: Option<PathBuf>,
    command: Vec<OsString>,
    report: Option<PathBuf>,
    list: bool,
    quiet: bool,
}

fn main() -> ExitCode {
    MAIN.set(true);
    // A failing vector panics in its own thread; its message is printed with the result.
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

impl Options {
    /// Returns whether a play is in the chosen part.
    fn has(&self, play: &str, over: Transport) -> bool {
        self.stdio_share.is_none_or(|share| share.has(play, over))
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
            "--stdio-share" => options.stdio_share = Some(text(value()?)?.parse()?),
            "--url" => options.url.http = Some(text(value()?).and_then(checked_url)?),
            "--sse-url" => options.url.sse = Some(text(value()?).and_then(checked_url)?),
            "--stateless" => options.url.stateless = true,
            "--json" => options.url.json = true,
            "--fixture" => options.fixture = Some(value()?.into()),
            "--client" => options.client = Some(value()?.into()),
            "--serve" => options.serve = Some(value()?.into()),
            "--outcome" => options.outcome = Some(value()?.into()),
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
    let is_client = options.client.is_some() || options.serve.is_some();
    let servers = [has_url, options.fixture.is_some(), is_client, !options.command.is_empty()];
    match servers.iter().filter(|given| **given).count() {
        1 => Ok(Some(options)),
        0 if options.list => Ok(Some(options)),
        0 => Err("a server or client is missing: a command after --, --url, --fixture or --client".to_owned()),
        _ => Err("a command after --, --url, --fixture and --client exclude each other".to_owned()),
    }
}

fn checked_url(url: String) -> Result<String, String> {
    let has_path = url.strip_prefix("http://").is_some_and(|rest| rest.contains('/'));
    has_path.then_some(url).ok_or_else(|| "a URL has the form http://HOST:PORT/PATH".to_owned())
}

/// The results of all runs.
#[derive(Default)]
struct Sums {
    held: usize,
    skipped: usize,
    /// In other parts than the chosen one.
    left: usize,
    failures: Vec<(String, String)>,
}

/// Returns whether every vector passed.
fn run(options: &Options) -> Result<bool, String> {
    if let Some(vector) = &options.serve {
        let outcome = options.outcome.as_ref().ok_or("--serve needs --outcome")?;
        return serve(vector, outcome).map(|()| true).map_err(|error| error.to_string());
    }
    let start = Instant::now();
    let sums = match &options.client {
        Some(client) => play_client(options, client)?,
        None => play_server(options)?,
    };
    let Some(Sums { held, skipped, left, failures }) = sums else { return Ok(true) };
    let failed = failures.len();
    println!("{held} held, {failed} failed, {skipped} skipped in {:.1} s", start.elapsed().as_secs_f64());
    if let Some(file) = &options.report {
        let failures: Vec<_> = failures.iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
        let report = json!({"held": held, "failed": failed, "skipped": skipped, "left": left, "failures": failures});
        std::fs::write(file, format!("{report:#}\n")).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(failed == 0 && held > 0)
}

/// `None` if the vectors are only listed.
fn play_server(options: &Options) -> Result<Option<Sums>, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut vectors = load_all(options, &[here.clone(), here.join("features")], load)?;
    vectors.retain(|vector| is_chosen(options, &vector.name));
    if options.list {
        for vector in &vectors {
            println!("{} ({}): {}", vector.name, vector.requirements.join(", "), vector.about);
        }
        return Ok(None);
    }
    let server: Box<dyn Server> = match (&options.fixture, &*options.command) {
        (Some(program), _) => Box::new(Fixture::new(program.clone())),
        (None, []) => {
            Box::new(UrlServer { http: options.url.http.clone(), sse: options.url.sse.clone(), ..options.url })
        }
        (None, command) => Box::new(CommandServer::new(command.to_vec())),
    };
    let left = Cell::new(0);
    let wanted = |vector: &Vector, revision: Option<&str>, over: Transport| {
        let revision_of_play = revision.or(vector.open.as_deref());
        let is_wanted = options.revisions.is_empty()
            || revision_of_play.is_some_and(|revision| options.revisions.iter().any(|one| one == revision));
        let is_in_share = options.has(&Played::name(&vector.name, revision, over), over);
        left.set(left.get() + usize::from(is_wanted && !is_in_share));
        is_wanted && is_in_share
    };
    let played =
        play_all(&vectors, &*server, wanted, |played| print(&played.to_string(), &played.outcome, options.quiet));
    let mut sums = Sums { left: left.get(), ..Sums::default() };
    for played in played {
        sums.add(played.to_string(), played.outcome);
    }
    Ok(Some(sums))
}

fn play_client(options: &Options, client: &Path) -> Result<Option<Sums>, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client");
    let mut vectors = load_all(options, &[here], load_client)?;
    vectors.retain(|vector| is_chosen(options, &vector.name));
    if options.list {
        for vector in &vectors {
            println!("{} ({}): {}", vector.name, vector.requirements.join(", "), vector.about);
        }
        return Ok(None);
    }
    let player = std::env::current_exe().map_err(|error| error.to_string())?;
    let plays = vectors.iter().flat_map(|vector| vector.transports().iter().map(move |&over| (vector, over)));
    let name = |(vector, over): (&ClientVector, Transport)| Played::name(&vector.name, None, over);
    let (plays, left): (Vec<_>, Vec<_>) = plays.partition(|&play| options.has(&name(play), play.1));
    let mut sums = Sums { left: left.len(), ..Sums::default() };
    play_to_client(&plays, client, &player, |place, outcome| {
        let name = name(plays[place]);
        print(&name, &outcome, options.quiet);
        sums.add(name, outcome);
    });
    Ok(Some(sums))
}

fn load_all<T>(
    options: &Options,
    default: &[PathBuf],
    load: impl Fn(&Path) -> std::io::Result<Vec<T>>,
) -> Result<Vec<T>, String> {
    let paths = if options.vectors.is_empty() { default } else { &options.vectors };
    let mut vectors = Vec::new();
    for path in paths {
        vectors.extend(load(path).map_err(|error| error.to_string())?);
    }
    Ok(vectors)
}

fn is_chosen(options: &Options, name: &str) -> bool {
    options.only.is_empty() || options.only.iter().any(|word| name.contains(word))
}

impl Sums {
    fn add(&mut self, name: String, outcome: Outcome) {
        match outcome {
            Outcome::Held => self.held += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Failed(text) => self.failures.push((name, text)),
        }
    }
}

fn print(name: &str, outcome: &Outcome, quiet: bool) {
    let mut out = std::io::stdout().lock();
    // A closed pipe is not a failure of the program under test.
    let _ = match outcome {
        Outcome::Failed(text) => writeln!(out, "FAILED   {name}\n{}", indented(text)),
        _ if quiet => Ok(()),
        Outcome::Held => writeln!(out, "held     {name}"),
        Outcome::Skipped => writeln!(out, "skipped  {name}"),
    };
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("         {line}\n")).collect::<String>().trim_end().to_owned()
}
