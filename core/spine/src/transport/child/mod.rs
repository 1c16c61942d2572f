//! Servers as child processes, each in its own process group (Windows: job), which ends with it.

mod command;
mod reap;
mod stderr;
mod stdin;
#[cfg(unix)]
mod watchdog;

pub use command::{ChildCommand, ChildStderr, SpawnError};
pub use stdin::ChildStdin;
pub use tokio::process::ChildStdout;

use crate::client::ProcessExit;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use stderr::{Destination, Tail};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// A running (or ended) child process. Dropping it kills the whole group.
#[derive(Debug)]
pub struct ChildProcess {
    command: String,
    id: Option<u32>,
    stdin: ChildStdin,
    tail: Option<Tail>,
    orders: mpsc::UnboundedSender<Order>,
    state: watch::Receiver<ProcessState>,
}

/// How long [`ChildProcess::close`] waits by default after closing standard input, before asking
/// the group to terminate.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it waits after that by default, before killing the group.
pub const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
enum Order {
    Terminate,
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Running,
    /// The process has exited; its children may still run.
    Exited(Option<ExitStatus>),
    /// The whole process group has exited.
    GroupExited(Option<ExitStatus>),
}

/// Time for leftover processes of the group to exit by themselves.
#[cfg(unix)]
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// Time for the system to remove killed processes.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for the exit of a process that has closed a pipe.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(300);
/// How long to wait for the last lines of standard error after the process has exited. They are
/// there already, unless a descendant keeps the pipe open.
const STDERR_TIMEOUT: Duration = Duration::from_millis(50);

impl ChildProcess {
    /// Starts a server. Requires a running tokio runtime.
    ///
    /// # Errors
    ///
    /// If the program cannot be started; the error names it and what to check.
    pub fn spawn(command: &ChildCommand) -> Result<(Self, ChildStdin, ChildStdout), SpawnError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(command.error("there is no Tokio runtime to run it in", None));
        }
        let mut wrapped = CommandWrap::from(command.to_tokio()?);
        let destination = match (command.open_stderr_file()?, command.stderr) {
            (Some(file), _) => Destination::File(Arc::new(file)),
            (None, ChildStderr::PassThrough) => Destination::Ours,
            (None, _) => Destination::Nowhere,
        };
        let stderr = if command.stderr == ChildStderr::Discard { Stdio::null() } else { Stdio::piped() };
        wrapped.command_mut().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        wrapped.wrap(KillOnDrop);
        #[cfg(unix)]
        wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(process_wrap::tokio::JobObject).wrap(NoWindow);
        #[cfg(unix)]
        let mut watchdog = watchdog::Watchdog::start();
        let mut child = wrapped.spawn().map_err(|error| command.refused(error))?;
        let id = child.id();
        #[cfg(unix)]
        if let (Some(watchdog), Some(group)) = (&mut watchdog, id) {
            watchdog.watch(group);
        }

        let stdin = ChildStdin::new(child.stdin().take());
        let Some(stdout) = child.stdout().take() else {
            return Err(command.error("it has no standard output", None));
        };
        let tail = (command.stderr != ChildStderr::Discard).then(|| Tail::follow(child.stderr().take(), destination));
        let (orders, orders_in) = mpsc::unbounded_channel();
        let (state_out, state) = watch::channel(ProcessState::Running);
        let group = ProcessGroup {
            child,
            #[cfg(unix)]
            id,
            #[cfg(unix)]
            watchdog,
            reaped: false,
        };
        tokio::spawn(supervise(group, orders_in, state_out));
        let process = Self { command: command.display(), id, stdin: stdin.clone(), tail, orders, state };
        Ok((process, stdin, stdout))
    }

    /// The process id, which is also the id of its group; `None` once the process has ended.
    pub fn id(&self) -> Option<u32> {
        self.id.filter(|_| *self.state.borrow() == ProcessState::Running)
    }

    /// Waits until the process ends. `None` if the system does not say how.
    pub async fn ended(&self) -> Option<ExitStatus> {
        self.reached(|state| *state != ProcessState::Running).await
    }

    /// Waits until its process group has ended as well.
    pub(in crate::transport) async fn group_ended(&self) {
        self.reached(|state| matches!(state, ProcessState::GroupExited(_))).await;
    }

    /// The last lines of its standard error, at most 20 of at most 1,000 bytes each; none with
    /// [`ChildStderr::Discard`].
    #[cfg(all(test, unix))]
    fn stderr_tail(&self) -> Vec<String> {
        self.tail.as_ref().map(Tail::lines).unwrap_or_default()
    }

    /// The program that was started, and the file that it runs.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The last lines of its standard error, as a suffix for error messages.
    pub fn diagnostics(&self) -> String {
        let Some(tail) = &self.tail else { return String::new() };
        match tail.lines().as_slice() {
            [] => " and wrote nothing to its standard error".to_owned(),
            lines => format!("; its last stderr lines:\n{}", lines.join("\n")),
        }
    }

    /// Describes why the connection to it was lost, for an error: how it ended, and its last lines
    /// of standard error.
    ///
    /// Waits a moment for both, since a pipe closes before its process exits. `closed` is the pipe
    /// that was closed, in case the process is still running.
    pub async fn obituary(&self, closed: &str) -> ProcessExit {
        let ended = timeout(EXIT_STATUS_TIMEOUT, self.ended()).await;
        let text = match ended {
            Err(_) => format!("the server process \"{}\" closed its {closed}", self.command),
            Ok(None) => format!("the server process \"{}\" ended", self.command),
            Ok(Some(status)) => format!("the server process \"{}\" {}", self.command, how(status)),
        };
        if let (Ok(_), Some(tail)) = (&ended, &self.tail) {
            tail.settle(STDERR_TIMEOUT).await;
        }
        let mut end = ProcessExit::new(text + &self.diagnostics());
        end.still_running = ended.is_err();
        let status = ended.ok().flatten();
        end.exit_code = status.and_then(|status| status.code());
        end.signal = status.and_then(signal);
        end.stderr = self.tail.as_ref().map(Tail::lines).unwrap_or_default();
        end
    }

    /// Ends the process and its group: closes its standard input, waits, terminates it, waits,
    /// kills it. `deadlines` are those of the two waits. `None` if the system does not say how it
    /// ended, or it could not even be killed.
    ///
    /// On Windows, a job cannot be asked to terminate, so the middle step kills it. Idempotent.
    pub async fn close(&self, deadlines: [Duration; 2]) -> Option<ExitStatus> {
        self.stdin.close();
        for (deadline, order) in deadlines.into_iter().zip([Order::Terminate, Order::Kill]) {
            if timeout(deadline, self.ended()).await.is_ok() {
                break;
            }
            let _ = self.orders.send(order);
        }
        let status = timeout(KILL_TIMEOUT, self.ended()).await.ok().flatten();
        let _ = timeout(KILL_TIMEOUT, self.group_ended()).await;
        status
    }

    async fn reached(&self, wanted: impl FnMut(&ProcessState) -> bool) -> Option<ExitStatus> {
        let mut state = self.state.clone();
        // The wait fails only when the runtime is being shut down, which kills the group.
        match state.wait_for(wanted).await.map(|state| *state) {
            Ok(ProcessState::Exited(status) | ProcessState::GroupExited(status)) => status,
            Ok(ProcessState::Running) | Err(_) => None,
        }
    }
}

/// Owns the process. Only this sends signals to it, so that none is sent to a reused process id.
async fn supervise(
    mut group: ProcessGroup,
    mut orders: mpsc::UnboundedReceiver<Order>,
    state: watch::Sender<ProcessState>,
) {
    let status = loop {
        // Wait for the process itself, because its group may never end.
        tokio::select! {
            status = group.child.inner_mut().wait() => break status.ok(),
            order = orders.recv() => match order {
                Some(Order::Terminate) => group.terminate(),
                Some(Order::Kill) => group.kill(),
                None => {
                    group.kill();
                    break group.child.inner_mut().wait().await.ok();
                }
            },
        }
    };
    state.send_replace(ProcessState::Exited(status));
    group.clear().await;
    state.send_replace(ProcessState::GroupExited(status));
}

/// Gives a server a console of its own, without a window. Otherwise one would open on the screen if
/// this process has no console, and Ctrl-C in the console of this process would end the server
/// before its client has closed it.
#[cfg(windows)]
#[derive(Debug)]
struct NoWindow;

#[cfg(windows)]
impl process_wrap::tokio::CommandWrapper for NoWindow {
    fn pre_spawn(&mut self, command: &mut tokio::process::Command, _: &CommandWrap) -> std::io::Result<()> {
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        // Replaces the flags of the job, which resumes the process after adding it.
        const CREATE_SUSPENDED: u32 = 0x0000_0004;
        command.creation_flags(CREATE_NO_WINDOW | CREATE_SUSPENDED);
        Ok(())
    }
}

struct ProcessGroup {
    child: Box<dyn ChildWrapper>,
    /// The id of the group's leader, and so of the group.
    #[cfg(unix)]
    id: Option<u32>,
    #[cfg(unix)]
    watchdog: Option<watchdog::Watchdog>,
    reaped: bool,
}

impl ProcessGroup {
    fn kill(&mut self) {
        // Fails only if no process is left.
        let _ = self.child.start_kill();
    }

    #[cfg(unix)]
    fn terminate(&mut self) {
        let _ = self.child.signal(rustix::process::Signal::TERM.as_raw());
    }

    #[cfg(not(unix))]
    fn terminate(&mut self) {
        self.kill();
    }

    /// Terminates, then kills, what the process left behind.
    #[cfg(unix)]
    async fn clear(&mut self) {
        if self.is_left() {
            self.terminate();
            let vanish = async {
                while self.is_left() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            if timeout(LEFTOVER_GRACE, vanish).await.is_err() {
                self.kill();
            }
        }
        self.reaped = true;
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end().await;
        }
    }

    /// Kills what the process left behind, because a job cannot be asked to terminate.
    #[cfg(not(unix))]
    async fn clear(&mut self) {
        self.kill();
        self.reaped = true;
    }

    /// Returns whether the group still has a member. As long as it does, its id is not reused.
    #[cfg(unix)]
    fn is_left(&self) -> bool {
        self.id
            .and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            reap::reap(|| self.child.inner_mut().try_wait());
        }
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

fn how(status: ExitStatus) -> String {
    match (signal(status), status.code()) {
        (Some(signal), _) => format!("was terminated by signal {signal}"),
        (None, Some(code)) => format!("exited with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::time::Instant;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};

    const SHORT_TIMEOUTS: [Duration; 2] = [Duration::from_millis(150); 2];
    /// For what happens at once, on a busy machine as well.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> ChildCommand {
        ChildCommand { stderr: ChildStderr::Keep, ..ChildCommand::new(["sh", "-c", script]) }
    }

    fn start(script: &str) -> (ChildProcess, ChildStdin, Lines<BufReader<ChildStdout>>) {
        let (process, stdin, stdout) = ChildProcess::spawn(&shell(script)).unwrap();
        (process, stdin, BufReader::new(stdout).lines())
    }

    async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
        timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap()
    }

    fn exists(id: &str) -> bool {
        let id = rustix::process::Pid::from_raw(id.trim().parse().unwrap()).unwrap();
        // A zombie of another parent counts as exited.
        rustix::process::test_kill_process(id).is_ok() && !is_zombie(id)
    }

    fn is_zombie(id: rustix::process::Pid) -> bool {
        let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", &id.to_string()]).output().unwrap();
        String::from_utf8_lossy(&state.stdout).trim_start().starts_with('Z')
    }

    async fn assert_exited(id: &str) {
        let started = Instant::now();
        while exists(id) {
            assert!(started.elapsed() < PATIENCE, "process {id} is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// LIFE-17.
    #[tokio::test]
    async fn std_13_a_server_that_ends_with_its_input_is_not_signalled() {
        let (process, mut stdin, mut lines) = start("while read -r line; do echo \"got $line\"; done; exit 3");
        stdin.write_all(b"a\n").await.unwrap();
        assert_eq!(line(&mut lines).await, "got a");
        let ending = process.close([EXIT_TIMEOUT, TERMINATE_TIMEOUT]).await;
        assert_eq!(ending, Some(ExitStatus::from_raw(3 << 8)));
        assert_eq!(process.close(SHORT_TIMEOUTS).await, ending);
        assert_eq!(stdin.write_all(b"b\n").await.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    }

    /// LIFE-17.
    #[tokio::test]
    async fn std_13_then_it_is_asked_to_terminate() {
        let (process, _stdin, mut lines) = start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
        line(&mut lines).await;
        let started = Instant::now();
        // The second time is what it takes to run the trap, on a busy machine as well.
        let timeouts = [SHORT_TIMEOUTS[0], PATIENCE];
        assert_eq!(process.close(timeouts).await, Some(ExitStatus::from_raw(7 << 8)));
        assert!((timeouts[0]..PATIENCE).contains(&started.elapsed()), "{:?}", started.elapsed());
    }

    /// LIFE-17.
    #[tokio::test]
    async fn std_13_then_the_whole_group_is_killed() {
        let (process, _stdin, mut lines) = start(
            "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait; while :; do sleep 0.1; done",
        );
        let grandchild = line(&mut lines).await;
        let (started, leader) = (Instant::now(), process.id().unwrap().to_string());
        assert_eq!(process.close(SHORT_TIMEOUTS).await, Some(ExitStatus::from_raw(9)));
        assert_eq!(process.id(), None);
        let steps = SHORT_TIMEOUTS[0] + SHORT_TIMEOUTS[1];
        assert!((steps..steps + KILL_TIMEOUT).contains(&started.elapsed()), "{:?}", started.elapsed());
        assert_exited(&grandchild).await;
        assert_exited(&leader).await;
    }

    #[tokio::test]
    async fn what_a_server_leaves_behind_goes_with_it() {
        for stubborn in ["", "trap \"\" TERM;"] {
            let script =
                format!("sh -c '{stubborn} exec >/dev/null 2>&1; while :; do sleep 0.1; done' & echo $!; exit 0");
            let (process, _stdin, mut lines) = start(&script);
            let grandchild = line(&mut lines).await;
            assert_eq!(process.ended().await, Some(ExitStatus::from_raw(0)));
            assert_eq!(process.close(SHORT_TIMEOUTS).await, Some(ExitStatus::from_raw(0)));
            assert_exited(&grandchild).await;
        }
    }

    #[tokio::test]
    async fn dropping_kills_the_group() {
        let (process, _stdin, mut lines) = start("trap '' TERM; sleep 60 & echo $!; wait");
        let grandchild = line(&mut lines).await;
        let leader = process.id().unwrap().to_string();
        drop(process);
        assert_exited(&grandchild).await;
        assert_exited(&leader).await;
    }

    #[test]
    fn shutting_the_runtime_down_kills_the_group() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (process, grandchild) = runtime.block_on(async {
            let (process, _stdin, mut lines) = start("trap '' TERM; sleep 60 & echo $!; wait");
            let grandchild = line(&mut lines).await;
            (process, grandchild)
        });
        let leader = rustix::process::Pid::from_raw(process.id().unwrap().cast_signed()).unwrap();
        runtime.shutdown_timeout(Duration::from_secs(1));
        assert!(rustix::process::test_kill_process(leader).is_err(), "it is not even a zombie");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(assert_exited(&grandchild));
        drop(process);
    }

    #[tokio::test]
    async fn a_server_that_dies_is_described_with_its_last_lines() {
        let (process, _stdin, mut lines) =
            start("i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo \"line $i\" >&2; done; printf last >&2; exit 1");
        assert!(timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().is_none());
        let end = process.obituary("standard output").await;
        assert_eq!((end.still_running, end.exit_code, end.signal, end.stderr.len()), (false, Some(1), None, 20));
        let text = end.text;
        assert!(text.starts_with("the server process \"sh -c i=0; while "), "{text}");
        assert!(text.contains("\" exited with status 1; its last stderr lines:\nline 32\n"), "{text}");
        assert!(text.ends_with("line 50\nlast"), "{text}");

        let (process, _stdin, _lines) = start("kill -9 $$");
        let end = process.obituary("standard output").await;
        assert_eq!((end.still_running, end.exit_code, end.signal), (false, None, Some(9)));
        assert_eq!(
            end.text,
            "the server process \"sh -c kill -9 $$\" was terminated by signal 9 and wrote nothing to its standard error"
        );

        let (process, _stdin, mut lines) = start("printf 'w\\033[31mhy\\n' >&2; exec >&-; sleep 60");
        assert!(lines.next_line().await.unwrap().is_none());
        let end = process.obituary("standard output").await;
        assert!(end.text.ends_with("\" closed its standard output; its last stderr lines:\nwhy"), "{}", end.text);
        assert_eq!((end.still_running, end.stderr), (true, vec!["why".to_owned()]));
    }

    #[tokio::test]
    async fn std_05_lots_of_stderr_neither_blocks_nor_piles_up() {
        for stderr in [ChildStderr::Keep, ChildStderr::Discard] {
            let script = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; head -c 500000 /dev/zero | tr '\\0' '\\n' >&2; echo done";
            let (process, _stdin, mut stdout) = ChildProcess::spawn(&ChildCommand { stderr, ..shell(script) }).unwrap();
            let mut text = String::new();
            timeout(PATIENCE, stdout.read_to_string(&mut text)).await.unwrap().unwrap();
            assert_eq!(text, "done\n");
            let _ = process.close(SHORT_TIMEOUTS).await;
            let kept: usize = process.stderr_tail().iter().map(String::len).sum();
            assert!(kept <= 20_000, "{kept}");
        }
    }

    #[tokio::test]
    async fn standard_error_goes_to_a_file_behind_what_is_there() {
        let path = std::env::temp_dir().join(format!("trunkline-stderr-{}", std::process::id()));
        std::fs::write(&path, "before\n").unwrap();
        let in_file =
            || ChildCommand::new(["sh", "-c", "echo one >&2; echo two >&2"]).with_stderr_file(Some(path.clone()));
        for _ in 0..2 {
            let (process, _stdin, _stdout) = ChildProcess::spawn(&in_file()).unwrap();
            let end = process.obituary("standard output").await;
            assert_eq!(end.stderr, ["one", "two"], "the last lines are kept all the same");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before\none\ntwo\none\ntwo\n");
        std::fs::remove_file(&path).unwrap();

        let kept = in_file().with_stderr(ChildStderr::Keep);
        let error = ChildProcess::spawn(&kept).err().unwrap().to_string();
        assert!(error.contains("set only one"), "{error}");
        let nowhere = in_file().with_stderr_file(Some("/no/such/folder/file".into()));
        let error = ChildProcess::spawn(&nowhere).err().unwrap().to_string();
        assert!(error.contains("standard error, /no/such/folder/file, cannot be opened"), "{error}");
    }

    #[tokio::test]
    async fn closing_wakes_a_writer_that_waits_for_a_server_that_does_not_read() {
        let (process, mut stdin, _lines) = start("trap '' TERM; while :; do sleep 0.1; done");
        let writer = tokio::spawn(async move { stdin.write_all(&vec![b'x'; 10_000_000]).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        process.close(SHORT_TIMEOUTS).await;
        let result = timeout(PATIENCE, writer).await.unwrap().unwrap();
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn errors_of_starting_name_the_command_and_what_to_check() {
        let error = |command: ChildCommand| ChildProcess::spawn(&command).unwrap_err().to_string();
        assert!(error(ChildCommand::new(Vec::<String>::new())).contains("empty"));
        let missing = error(ChildCommand::new(["no-such-program-here"]));
        assert!(missing.contains("\"no-such-program-here\"") && missing.contains("PATH"), "{missing}");
        assert!(error(ChildCommand::new(["/no/such/file"])).contains("no such file"));
        assert!(error(ChildCommand::new(["/dev/null"])).contains("not an executable"));
        let folder = Some("/no/such/folder".into());
        assert!(error(ChildCommand { cwd: folder, ..shell("exit 0") }).contains("no directory /no/such/folder"));
    }

    #[test]
    fn starting_without_a_runtime_is_an_error() {
        let error = ChildProcess::spawn(&shell("exit 0")).unwrap_err();
        assert!(error.to_string().contains("no Tokio runtime"), "{error}");
    }

    #[tokio::test]
    async fn environment_and_folder_are_what_was_asked_for() {
        let here = env!("CARGO_MANIFEST_DIR");
        assert_eq!(std::env::var("CARGO_MANIFEST_DIR").unwrap(), here, "a variable that is not on the short list");
        for (inherit_env, seen) in [(false, "1--/"), (true, &*format!("1-{here}-/"))] {
            let command = ChildCommand {
                env: [("A".into(), "1".into())].into(),
                inherit_env,
                cwd: Some("/".into()),
                ..shell("echo \"$A-$CARGO_MANIFEST_DIR-$(pwd)\"; test -n \"$PATH\"")
            };
            let (process, _stdin, stdout) = ChildProcess::spawn(&command).unwrap();
            assert_eq!(line(&mut BufReader::new(stdout).lines()).await, seen);
            assert_eq!(process.ended().await, Some(ExitStatus::from_raw(0)), "PATH is on the short list");
        }
    }
}
