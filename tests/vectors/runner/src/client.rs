//! Vectors for clients: a scripted server as data, played to a client that runs the operations in
//! the same file.

use crate::{
    Outcome,
    scripted::{HttpSide, Received, Side, StdioSide},
    vector::{Transport, files_at, unread},
    wire::{VERSION, checker},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc,
    },
    thread::{self, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};
use trunkline_pattern::{Saved, filled, matches, take_match};
use trunkline_wire::{Direction, Record, Revision};

/// A message of the client, and its exit, may take this long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A message that is expected may be read this long after the client has left: on a busy machine,
/// the thread of its connection has to wait for the processor.
const GRACE: Duration = Duration::from_secs(5);

/// A scripted server must exit this soon after its client.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A conversation with a client, as data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClientVector {
    /// The name of the file.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    file: PathBuf,
    /// The input of the client: the revision that it must use, and its operations.
    #[serde(skip)]
    part: Value,
    /// A description.
    pub about: String,
    /// The ids of the requirements that it tests.
    pub requirements: Vec<String>,
    revision: String,
    /// `stdio` or `http`.
    over: Vec<Transport>,
    #[serde(rename = "do")]
    operations: Vec<Value>,
    /// Patterns for the client's output lines.
    results: Vec<Value>,
    /// Methods of messages that may arrive at any time.
    #[serde(default)]
    ignore: Vec<String>,
    script: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, untagged)]
enum Step {
    Expect {
        expect: Vec<Value>,
    },
    Send {
        send: Value,
        /// The status over HTTP, if it is not 200.
        status: Option<u16>,
    },
    Pause {
        #[serde(rename = "pauseMs")]
        pause_ms: u64,
    },
}

/// Reads a vector for clients, or all in a folder, sorted by name.
///
/// # Errors
/// If a file cannot be read or is not such a vector; the message names it.
pub fn load_client(path: &Path) -> io::Result<Vec<ClientVector>> {
    files_at(path)?.into_iter().map(read).collect()
}

fn read(file: PathBuf) -> io::Result<ClientVector> {
    let text = fs::read_to_string(&file).map_err(|error| unread(&file, &error))?;
    let mut vector: ClientVector = serde_json::from_str(&text).map_err(|error| unread(&file, &error))?;
    if vector.about.is_empty() || vector.requirements.is_empty() || vector.over.is_empty() {
        return Err(unread(&file, &"`about`, `requirements` or `over` is empty"));
    }
    if !vector.over.iter().all(|over| matches!(over, Transport::Stdio | Transport::Http)) {
        return Err(unread(&file, &"`over` has another transport than `stdio` and `http`"));
    }
    vector.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    vector.file = file.canonicalize()?;
    vector.part = json!({"revision": vector.revision, "do": vector.operations});
    Ok(vector)
}

impl ClientVector {
    /// The transports over which it is played.
    pub fn transports(&self) -> &[Transport] {
        &self.over
    }

    /// Reads a line of the client for each pattern; `first` is the first one.
    fn read_results(&self, first: Line, client: &mut Client) -> Result<(), String> {
        let mut next = Some(first);
        for pattern in &self.results {
            let line = next.take().unwrap_or_else(|| client.line())?;
            let line = line.ok_or_else(|| format!("the client ended instead of printing {pattern}"))?;
            let value: Value = serde_json::from_str(&line).map_err(|error| format!("not JSON ({error}): {line}"))?;
            if !matches(pattern, &value, &mut Saved::new()) {
                return Err(format!("the client printed {line}, which does not match {pattern}"));
            }
        }
        Ok(())
    }

    fn run_script(&self, side: &mut dyn Side) -> Result<(), String> {
        let mut saved = Saved::new();
        let mut checks = Checks::default();
        for (number, step) in self.script.iter().enumerate() {
            let place = |problem: String| format!("step {number} of the script: {problem}");
            match step {
                Step::Pause { pause_ms } => thread::sleep(Duration::from_millis(*pause_ms)),
                Step::Send { send, status } => {
                    let message = filled(send.clone(), &saved);
                    checks.sent(&message);
                    side.send(&message, *status).map_err(place)?;
                }
                Step::Expect { expect } => {
                    let mut patterns: Vec<_> = expect.iter().map(|one| filled(one.clone(), &saved)).collect();
                    while !patterns.is_empty() {
                        let message = match side.receive(TIMEOUT, GRACE) {
                            Received::Message(message) => message,
                            Received::Nothing => return Err(place(format!("the client does not send {patterns:#?}"))),
                            Received::End => return Err(place(format!("the client ended without {patterns:#?}"))),
                            Received::Wrong(problem) => return Err(place(problem)),
                        };
                        checks.received(&message).map_err(place)?;
                        if !take_match(&mut patterns, &message, &mut saved) && !self.is_ignored(&message) {
                            return Err(place(format!("{message} is not one of {patterns:#?}")));
                        }
                    }
                }
            }
        }
        loop {
            match side.receive(TIMEOUT, Duration::ZERO) {
                Received::End => return Ok(()),
                Received::Message(message) => {
                    checks.received(&message)?;
                    if !self.is_ignored(&message) {
                        return Err(format!("after the script: the client sends {message}"));
                    }
                }
                Received::Nothing => return Err("after the script: the client does not end".to_owned()),
                Received::Wrong(problem) => return Err(problem),
            }
        }
    }

    fn is_ignored(&self, message: &Value) -> bool {
        self.ignore.iter().any(|method| message["method"] == **method)
    }
}

/// Plays vectors, one after the other, to a client with the command line of the fixture clients,
/// and calls `report` with the place of each in `plays`. `player` is the program that serves on
/// standard input and output with the arguments `--serve FILE --outcome FILE`.
///
/// A client costs more to start than to call, so one process plays them all. After a failure, a new
/// one plays the rest.
pub fn play_to_client(
    plays: &[(&ClientVector, Transport)],
    client: &Path,
    player: &Path,
    mut report: impl FnMut(usize, Outcome),
) {
    let mut place = 0;
    while place < plays.len() {
        let outcomes = play_in_one_process(&plays[place..], client, player);
        let outcomes = outcomes.unwrap_or_else(|error| vec![Err(error)]);
        for outcome in outcomes {
            report(place, outcome.map_or_else(Outcome::Failed, |()| Outcome::Held));
            place += 1;
        }
    }
}

/// Returns the outcomes up to the first failure.
fn play_in_one_process(
    plays: &[(&ClientVector, Transport)],
    client: &Path,
    player: &Path,
) -> Result<Vec<Result<(), String>>, String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let mut stages = Vec::new();
    let mut parts = Vec::new();
    for (index, (vector, over)) in plays.iter().enumerate() {
        let stage = Stage::new(*over, folder.0.join(format!("{index}.outcome")))?;
        let mut part = vector.part.clone();
        part["target"] = stage.target(vector, player).into();
        parts.push(part);
        stages.push(stage);
    }
    let Some(target) = parts.first().map(|part| part["target"].clone()) else { return Ok(Vec::new()) };
    let file = folder.0.join("plays.json");
    fs::write(&file, json!({"plays": parts}).to_string()).map_err(|error| error.to_string())?;
    let mut command = Command::new(client);
    command.arg("--play").arg(&file).args(target.as_array().into_iter().flatten().filter_map(Value::as_str));
    let mut client = Client::start(command)?;
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        let mut before: Option<Script<'_>> = None;
        for ((vector, _), stage) in plays.iter().zip(stages) {
            let script = stage.start(scope, vector);
            let first = client.line();
            // The client has left the server before.
            if let Some(outcome) = before.take().map(Script::end) {
                let failed = outcome.is_err();
                outcomes.push(outcome);
                if failed {
                    drop(client);
                    let _ = script.end();
                    return;
                }
            }
            if let Err(problem) = vector.read_results(first, &mut client) {
                drop(client);
                let also = script.end().err().map(|script| format!("\n{script}"));
                outcomes.push(Err(problem + &also.unwrap_or_default()));
                return;
            }
            before = Some(script);
        }
        let end = match client.line() {
            Ok(None) => client.exit(),
            Ok(Some(line)) => Err(format!("the client also printed {line}")),
            Err(problem) => Err(problem),
        };
        drop(client);
        outcomes.extend(before.map(|script| script.end().and(end)));
    });
    Ok(outcomes)
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trunkline-plays-{}-{number}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The place of the scripted server of a play.
enum Stage {
    Http(HttpSide),
    /// A child of the client, which writes its outcome to this file.
    Stdio(PathBuf),
}

impl Stage {
    fn new(over: Transport, outcome: PathBuf) -> Result<Self, String> {
        match over {
            Transport::Stdio => Ok(Self::Stdio(outcome)),
            _ => HttpSide::listen().map(Self::Http).map_err(|error| error.to_string()),
        }
    }

    /// The words that name it on the command line of the client.
    fn target(&self, vector: &ClientVector, player: &Path) -> Vec<String> {
        let word = |path: &Path| path.to_string_lossy().into_owned();
        match self {
            Self::Http(side) => vec![side.url().to_owned()],
            Self::Stdio(outcome) => {
                let options = ["--serve".to_owned(), word(&vector.file), "--outcome".to_owned(), word(outcome)];
                ["--stdio".to_owned(), word(player)].into_iter().chain(options).collect()
            }
        }
    }

    fn start<'scope, 'env>(self, scope: &'scope Scope<'scope, 'env>, vector: &'env ClientVector) -> Script<'scope> {
        match self {
            Self::Http(mut side) => Script::Http(side.ended(), scope.spawn(move || vector.run_script(&mut side))),
            Self::Stdio(outcome) => Script::Stdio(outcome),
        }
    }
}

/// A scripted server that runs.
enum Script<'scope> {
    Http(Arc<AtomicBool>, ScopedJoinHandle<'scope, Result<(), String>>),
    Stdio(PathBuf),
}

impl Script<'_> {
    /// Its outcome, once the client has left it.
    fn end(self) -> Result<(), String> {
        match self {
            Self::Http(ended, script) => {
                ended.store(true, Ordering::SeqCst);
                script.join().unwrap_or_else(|_| Err("the script ends in a panic".to_owned()))
            }
            Self::Stdio(outcome) => {
                let start = Instant::now();
                loop {
                    match fs::read_to_string(&outcome) {
                        Ok(text) if text == "held\n" => return Ok(()),
                        Ok(text) if text.ends_with('\n') => return Err(text.trim_end().to_owned()),
                        _ if start.elapsed() > EXIT_TIMEOUT => {
                            return Err("the scripted server was not started or did not end".to_owned());
                        }
                        _ => thread::sleep(Duration::from_millis(5)),
                    }
                }
            }
        }
    }
}

/// Plays a script on standard input and output, and writes `held` or the failure to a file.
///
/// # Errors
/// If a file cannot be read or written.
pub fn serve(vector: &Path, outcome: &Path) -> io::Result<()> {
    let vector = read(vector.to_owned())?;
    let text = match vector.run_script(&mut StdioSide::start()) {
        Ok(()) => "held\n".to_owned(),
        Err(problem) => format!("{problem}\n"),
    };
    // Written atomically, because the reader polls.
    let partial = outcome.with_extension("partial");
    fs::write(&partial, text)?;
    fs::rename(partial, outcome)
}

/// Checks each message of the client against the schema of its revision.
#[derive(Default)]
struct Checks {
    session: Option<Revision>,
}

impl Checks {
    fn sent(&mut self, message: &Value) {
        let negotiated = message["result"]["protocolVersion"].as_str().and_then(Revision::parse);
        self.session = negotiated.or(self.session);
    }

    fn received(&self, message: &Value) -> Result<(), String> {
        let named = message["params"]["_meta"][VERSION].as_str().and_then(Revision::parse);
        let offered = message["params"]["protocolVersion"].as_str().and_then(Revision::parse);
        let revision = named.or(offered).or(self.session).unwrap_or(Revision::NEWEST_LEGACY);
        let record = Record {
            revision,
            direction: Direction::ClientToServer,
            method: None,
            extensions: None,
            message: message.clone(),
        };
        // A client's responses have no method that would determine their type.
        let violations = if message.get("method").is_some() { checker().check(&record) } else { Vec::new() };
        if violations.is_empty() { Ok(()) } else { Err(format!("{revision}: {message}\n{violations:?}")) }
    }
}

/// A client process, which does not outlive its plays.
struct Client {
    process: Child,
    lines: mpsc::Receiver<String>,
}

/// A line that the client printed, or `None` at the end.
type Line = Result<Option<String>, String>;

impl Client {
    fn start(mut command: Command) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = child.map_err(|error| format!("{name} does not start: {error}"))?;
        let (found, lines) = mpsc::channel();
        let stdout = process.stdout.take();
        thread::spawn(move || {
            for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()).map_while(Result::ok) {
                if found.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process, lines })
    }

    fn line(&mut self) -> Line {
        match self.lines.recv_timeout(2 * TIMEOUT) {
            Ok(line) => Ok(Some(line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => Err("the client prints nothing and does not end".to_owned()),
        }
    }

    /// Waits until the client exits. Returns an error if it has not been read to the end.
    fn exit(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while self.process.try_wait().map_err(|error| error.to_string())?.is_none() {
            if start.elapsed() > TIMEOUT {
                return Err("the client does not end".to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
