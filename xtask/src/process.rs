//! Child processes that always end: every wait has a deadline, and a process is stopped together
//! with the process group that it started.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::console;
use anyhow::{Context, Result, bail};
use process_wrap::std::{ChildWrapper, CommandWrap};

/// A process that takes longer to stop is killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time for the last lines of a process that has ended, whose pipes others may keep open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// The latest lines are kept for error messages.
const MAX_STDERR_LINES: usize = 40;

pub(crate) struct Process {
    child: Box<dyn ChildWrapper>,
    name: String,
    lines: Receiver<Line>,
    stderr: VecDeque<String>,
}

struct Line {
    /// True if it is from stderr.
    is_error: bool,
    text: String,
}

/// The output of a finished command.
pub(crate) struct Output {
    /// `None` if it was killed at its deadline.
    pub(crate) status: Option<ExitStatus>,
    /// Both streams, in order of arrival.
    pub(crate) text: String,
    pub(crate) stdout: String,
    pub(crate) seconds: f64,
}

impl Output {
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Describes how the process ended.
    pub(crate) fn ending(&self) -> String {
        self.status.map_or_else(|| format!("no end after {:.0} s, killed", self.seconds), |status| status.to_string())
    }
}

/// Runs a command until it ends or its deadline expires. Returns an error only if it cannot be
/// started.
pub(crate) fn run(command: Command, deadline: Duration) -> Result<Output> {
    let start = Instant::now();
    let until = start + deadline;
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    console::news(&format!("{} {}", program.to_string_lossy(), words(command.get_args())));
    let mut process = Process::start(command)?;
    let (mut text, mut stdout) = (String::new(), String::new());
    while let Some(Line { is_error, text: line }) = process.line(until) {
        // Short commands show no status.
        if start.elapsed() > Duration::from_secs(1) {
            console::news(&line);
        }
        text.push_str(&format!("{line}\n"));
        if !is_error {
            stdout.push_str(&format!("{line}\n"));
        }
    }
    let status = process.wait(until);
    Ok(Output { status, text, stdout, seconds: start.elapsed().as_secs_f64() })
}

/// Runs a command that must succeed. Its output is only shown if it fails.
pub(crate) fn must(command: Command, deadline: Duration) -> Result<Output> {
    let name = describe(&command);
    let output = run(command, deadline)?;
    if !output.success() {
        bail!("{name}\n{}\nends with {}", tail(&output.text, 60), output.ending());
    }
    Ok(output)
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let name = describe(&command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut wrapped = CommandWrap::from(command);
        #[cfg(unix)]
        wrapped.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(process_wrap::std::JobObject);
        let mut child = wrapped.spawn().with_context(|| format!("cannot start {name}"))?;
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(child.id());
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout().take() {
            read_lines(stdout, sender.clone(), false);
        }
        if let Some(stderr) = child.stderr().take() {
            read_lines(stderr, sender, true);
        }
        Ok(Self { child, name, lines, stderr: VecDeque::new() })
    }

    /// Writes a line to stdin.
    pub(crate) fn write_line(&mut self, line: &str) -> Result<()> {
        let name = &self.name;
        let stdin = self.child.stdin().as_mut().with_context(|| format!("{name} has no stdin"))?;
        writeln!(stdin, "{line}").with_context(|| format!("{name} does not read its stdin"))
    }

    /// The next line of stdout; `None` at its end or after the deadline.
    pub(crate) fn stdout_line(&mut self, until: Instant) -> Option<String> {
        std::iter::from_fn(|| self.line(until)).find(|line| !line.is_error).map(|line| line.text)
    }

    /// The next line of either stream; `None` at their end or after the deadline.
    pub(crate) fn next_line(&mut self, until: Instant) -> Option<String> {
        self.line(until).map(|line| line.text)
    }

    /// The next line of either stream. Does not wait for grandchildren that keep the pipes open
    /// after the process has ended.
    fn line(&mut self, until: Instant) -> Option<Line> {
        let mut ended = None;
        loop {
            let limit = ended.map_or(until, |ended: Instant| until.min(ended + OUTPUT_TIMEOUT));
            let wait = limit.saturating_duration_since(Instant::now()).min(Duration::from_millis(100));
            match self.lines.recv_timeout(wait) {
                Ok(line) => {
                    if line.is_error {
                        if self.stderr.len() == MAX_STDERR_LINES {
                            self.stderr.pop_front();
                        }
                        self.stderr.push_back(line.text.clone());
                    }
                    return Some(line);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= limit => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if ended.is_none() && !matches!(self.status(), Ok(None)) {
                        ended = Some(Instant::now());
                    }
                }
            }
        }
    }

    /// The status of the process if it has ended; its CPU time then counts for this thread's task.
    fn status(&mut self) -> std::io::Result<Option<ExitStatus>> {
        // Before waiting for it, which removes it from the system's table.
        let cpu = cpu_seconds(self.child.id());
        let status = self.child.try_wait()?;
        if status.is_some() {
            console::add_cpu(cpu);
        }
        Ok(status)
    }

    /// Waits for the process to end; `None` after the deadline.
    pub(crate) fn wait(&mut self, until: Instant) -> Option<ExitStatus> {
        loop {
            match self.status() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
                _ => return None,
            }
        }
    }

    /// The last lines of stderr, for an error message.
    pub(crate) fn last_words(&mut self) -> String {
        while self.line(Instant::now() + Duration::from_millis(50)).is_some() {}
        self.stderr.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Stops the group. If it does not stop in time, it is killed, and an error is returned.
    pub(crate) fn stop(mut self) -> Result<ExitStatus, String> {
        drop(self.child.stdin().take());
        #[cfg(unix)]
        let _ = self.child.signal(rustix::process::Signal::TERM.as_raw());
        #[cfg(windows)]
        let _ = self.child.start_kill();
        match self.wait(Instant::now() + SHUTDOWN_TIMEOUT) {
            Some(status) => Ok(status),
            None => {
                Err(format!("{} did not stop within {} s of SIGTERM, killed", self.name, SHUTDOWN_TIMEOUT.as_secs()))
            }
        }
    }
}

impl Drop for Process {
    /// Kills the rest of the group, even if the process itself has ended.
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        self.wait(Instant::now() + SHUTDOWN_TIMEOUT);
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.child.id());
    }
}

/// The CPU time of this process and of those that it waited for, in seconds.
pub(crate) fn own_cpu_seconds() -> f64 {
    cpu_seconds(std::process::id())
}

/// The CPU time of a process and of those that it waited for; 0 if it is gone, or without `/proc`.
fn cpu_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // `utime`, `stime`, `cutime` and `cstime`, in hundredths. The name before them may have blanks.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(11).take(4);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn read_lines(stream: impl Read + Send + 'static, lines: Sender<Line>, is_error: bool) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        while matches!(stream.read_until(b'\n', &mut bytes), Ok(count) if count > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            bytes.clear();
            if lines.send(Line { is_error, text }).is_err() {
                return;
            }
        }
    });
}

/// The leaders of the running process groups.
static LIVE: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The children have their own process groups, so the terminal's Ctrl-C does not reach them.
pub(crate) fn stop_children_when_interrupted() {
    let _ = ctrlc::set_handler(|| {
        #[cfg(unix)]
        for leader in LIVE.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if let Some(group) = i32::try_from(*leader).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
        }
        std::process::exit(130);
    });
}

pub(crate) fn describe(command: &Command) -> String {
    words(std::iter::once(command.get_program()).chain(command.get_args()))
}

fn words<'a>(words: impl Iterator<Item = &'a std::ffi::OsStr>) -> String {
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The last lines of a string.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|line| !is_frame(line)).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Returns whether a line is a stack frame of a JVM or of Node.js, of which an error may have more
/// than its message and causes have lines.
fn is_frame(line: &str) -> bool {
    let words = line.trim_start();
    let is_count = words.starts_with("... ") && words.ends_with(" more");
    words.len() < line.len() && (words.starts_with("at ") || is_count)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_tail_has_messages_instead_of_stack_frames() {
        let thrown = "first\nException in thread \"main\" a.B: no login\n\tat a.C.d(C.kt:7)\n\tat a.E.f(E.kt:8)\nCaused by: g.H: refused\n\tat g.H.i(H.kt:9)\n\t... 2 more\n";
        assert_eq!(tail(thrown, 2), "Exception in thread \"main\" a.B: no login\nCaused by: g.H: refused");
        assert_eq!(tail("at last\n", 2), "at last");
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_status_arrive() {
        let output = run(shell("echo out; echo err >&2; exit 3"), Duration::from_secs(60)).expect("it starts");
        assert_eq!((output.stdout.as_str(), output.ending().as_str()), ("out\n", "exit status: 3"));
        assert!(output.text.contains("err\n") && !output.success());
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let start = Instant::now();
        let output = run(shell("sleep 60 & echo $!; sleep 60"), Duration::from_secs(1)).expect("it starts");
        assert!(output.status.is_none() && start.elapsed() < Duration::from_secs(30));
        let child = output.stdout.trim().parse().ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
        let gone = || rustix::process::test_kill_process(child).is_err();
        let until = Instant::now() + Duration::from_secs(30);
        while !gone() && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        assert!(gone(), "the grandchild {child:?} still runs");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_cpu_time_of_a_process_has_that_of_its_children() {
        let busy = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo done; sleep 60";
        let mut process = Process::start(shell(busy)).expect("it starts");
        assert_eq!(process.stdout_line(Instant::now() + Duration::from_secs(60)).as_deref(), Some("done"));
        assert!(cpu_seconds(process.child.id()) > 0.0);
    }

    #[test]
    fn a_child_left_behind_does_not_hold_the_output() {
        let start = Instant::now();
        let output = run(shell("echo done; sleep 60 &"), Duration::from_secs(20)).expect("it starts");
        assert!(output.success() && start.elapsed() < Duration::from_secs(15));
        assert_eq!(output.stdout, "done\n");
    }

    #[test]
    fn a_stubborn_process_is_killed_and_named() {
        let mut process =
            Process::start(shell("trap '' TERM; echo ready; while :; do sleep 1; done")).expect("it starts");
        assert_eq!(process.stdout_line(Instant::now() + Duration::from_secs(60)).as_deref(), Some("ready"));
        assert!(process.stop().is_err());
    }
}
