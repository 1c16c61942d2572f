//! Vectors for clients: a scripted server as data, played to a client that runs the operations in
//! the same file.

use crate::{
    Outcome,
    scripted::{HttpSide, Received, Side, StdioSide},
    vector::{Transport, files_at, unread},
    wire::{VERSION, checker},
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    fs, io,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use trunkline_pattern::{Saved, filled, matches, take_match};
use trunkline_wire::{Direction, Record, Revision};

/// Timeout for a message of the client, and for its exit.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The time a scripted server has to exit after its client.
const GRACE: Duration = Duration::from_secs(5);

/// A conversation with a client, as data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClientVector {
    /// The name of the file.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    file: PathBuf,
    /// A description.
    pub about: String,
    /// The ids of the requirements that it tests.
    pub requirements: Vec<String>,
    /// The revision that the client must use.
    #[serde(rename = "revision")]
    _revision: String,
    /// `stdio` or `http`.
    over: Vec<Transport>,
    /// The client's operations, which the client reads itself.
    #[serde(rename = "do")]
    _operations: Vec<Value>,
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
    Ok(vector)
}

impl ClientVector {
    /// The transports over which it is played.
    pub fn transports(&self) -> &[Transport] {
        &self.over
    }

    /// Plays it to a client with the command line of the fixture clients:
    /// `PROGRAM --play FILE URL`, or `PROGRAM --play FILE --stdio COMMAND…`. `player` is the
    /// program that serves on standard input and output with the arguments
    /// `--serve FILE --outcome FILE`.
    pub fn play(&self, client: &Path, over: Transport, player: &Path) -> Outcome {
        let played = match over {
            Transport::Stdio => self.play_over_stdio(client, player),
            _ => self.play_over_http(client),
        };
        played.map_or_else(Outcome::Failed, |()| Outcome::Held)
    }

    fn play_over_http(&self, client: &Path) -> Result<(), String> {
        let mut side = HttpSide::listen().map_err(|error| error.to_string())?;
        let mut command = self.command(client);
        command.arg(side.url());
        let mut process = Process::start(command)?;
        let scripted = thread::scope(|scope| {
            let ended = side.ended();
            let script = scope.spawn(|| self.run_script(&mut side));
            let output = process.output();
            ended.store(true, Ordering::SeqCst);
            let script = script.join().unwrap_or_else(|_| Err("the script ends in a panic".to_owned()));
            (script, output)
        });
        self.judge(scripted.0, scripted.1)
    }

    fn play_over_stdio(&self, client: &Path, player: &Path) -> Result<(), String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let outcome = std::env::temp_dir().join(format!("trunkline-play-{}-{number}", std::process::id()));
        let mut command = self.command(client);
        command.arg("--stdio").arg(player).arg("--serve").arg(&self.file).arg("--outcome").arg(&outcome);
        let output = Process::start(command)?.output();
        // The server exits after its client.
        let start = Instant::now();
        let script = loop {
            match fs::read_to_string(&outcome) {
                Ok(text) if text == "held\n" => break Ok(()),
                Ok(text) if text.ends_with('\n') => break Err(text.trim_end().to_owned()),
                _ if start.elapsed() > GRACE => {
                    break Err("the scripted server was not started or did not end".to_owned());
                }
                _ => thread::sleep(Duration::from_millis(5)),
            }
        };
        let _ = fs::remove_file(&outcome);
        self.judge(script, output)
    }

    fn command(&self, client: &Path) -> Command {
        let mut command = Command::new(client);
        command.arg("--play").arg(&self.file);
        command
    }

    fn judge(&self, script: Result<(), String>, output: Result<String, String>) -> Result<(), String> {
        script?;
        let output = output?;
        let lines: Vec<&str> = output.lines().collect();
        let wanted = || self.results.iter().map(|pattern| format!("\n  {pattern}")).collect::<String>();
        if lines.len() != self.results.len() {
            return Err(format!("the client printed\n{output}instead of{}", wanted()));
        }
        for (line, pattern) in lines.iter().zip(&self.results) {
            let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON ({error}): {line}"))?;
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
                        let message = match side.receive(TIMEOUT) {
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
            match side.receive(TIMEOUT) {
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

/// A client process, which does not outlive its play.
struct Process(Child);

impl Process {
    fn start(mut command: Command) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        child.map(Self).map_err(|error| format!("{name} does not start: {error}"))
    }

    /// The standard output, once the process has ended.
    fn output(&mut self) -> Result<String, String> {
        let mut stdout = self.0.stdout.take().ok_or("read once")?;
        let reader = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let start = Instant::now();
        while self.0.try_wait().map_err(|error| error.to_string())?.is_none() {
            if start.elapsed() > 2 * TIMEOUT {
                let _ = self.0.kill();
                return Err("the client does not end".to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        let text = reader.join().map_err(|_| "the output cannot be read")?;
        text.map_err(|error| error.to_string())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
