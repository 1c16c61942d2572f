//! Console output: permanent lines, and the running tasks, shown in place on a terminal and every
//! few seconds in a pipe.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The status of running tasks is printed this often.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
const PIPE_INTERVAL: Duration = Duration::from_secs(5);
/// The widths of the status line, and of the latest message of a task in it.
const MAX_COLUMNS: usize = 100;
const MAX_MESSAGE_CHARS: usize = 60;

/// The numbers of styles.
pub(crate) const BOLD: u8 = 1;
pub(crate) const DIM: u8 = 2;
pub(crate) const RED: u8 = 31;
pub(crate) const GREEN: u8 = 32;

pub(crate) fn paint(style: u8, text: &str) -> String {
    let has_colours = stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    if has_colours { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Prints a permanent line.
pub(crate) fn line(text: &str) {
    board().show(text);
}

/// A running task, shown until this is dropped.
pub(crate) struct Task {
    id: u64,
    before: Option<u64>,
}

/// Starts a task on this thread.
pub(crate) fn begin(name: &str) -> Task {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut board = board();
    let before = CURRENT.replace(Some(id));
    board.tasks.insert(id, Doing { name: name.to_owned(), start: Instant::now(), said: String::new(), cpu: 0.0 });
    Task { id, before }
}

impl Drop for Task {
    fn drop(&mut self) {
        CURRENT.set(self.before);
        let mut board = board();
        let Some(doing) = board.tasks.remove(&self.id) else { return };
        let within = self.before.and_then(|id| board.tasks.get(&id)).map(|doing| doing.name.clone());
        let Doing { name, start, cpu, .. } = doing;
        board.done.push(Done { name, within, start, seconds: start.elapsed().as_secs_f64(), cpu });
        drop(board);
        add_cpu(cpu);
    }
}

/// A task that has ended.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) name: String,
    /// The name of the task that it was a part of.
    pub(crate) within: Option<String>,
    pub(crate) start: Instant,
    pub(crate) seconds: f64,
    /// The CPU time of its processes that have ended, in seconds.
    pub(crate) cpu: f64,
}

/// The tasks that have ended, in this order.
pub(crate) fn done() -> Vec<Done> {
    board().done.clone()
}

/// Adds to the CPU time of this thread's task.
pub(crate) fn add_cpu(seconds: f64) {
    let mut board = board();
    if let Some(doing) = CURRENT.get().and_then(|id| board.tasks.get_mut(&id)) {
        doing.cpu += seconds;
    }
}

/// The task of this thread, to pass it on to other threads.
pub(crate) fn current() -> Option<u64> {
    CURRENT.get()
}

/// Assigns this thread to a task.
pub(crate) fn work_for(task: Option<u64>) {
    CURRENT.set(task);
}

/// Sets the latest message of this thread's task.
pub(crate) fn news(text: &str) {
    let (text, mut board) = (text.trim(), board());
    let Some(doing) = CURRENT.get().and_then(|id| board.tasks.get_mut(&id)) else { return };
    // Lines of JSON are meant for other programs.
    if !text.is_empty() && !text.starts_with('{') {
        doing.said = text.chars().filter(|one| !one.is_control()).take(MAX_MESSAGE_CHARS).collect();
    }
}

/// Shows the running tasks until the program ends.
pub(crate) fn show_tasks() {
    std::thread::spawn(|| {
        let pause = if stdout().is_terminal() { TERMINAL_INTERVAL } else { PIPE_INTERVAL };
        loop {
            std::thread::sleep(pause.min(Duration::from_secs(1)));
            board().tick();
        }
    });
}

thread_local! {
    static CURRENT: Cell<Option<u64>> = const { Cell::new(None) };
}

struct Doing {
    name: String,
    start: Instant,
    said: String,
    cpu: f64,
}

struct Board {
    tasks: BTreeMap<u64, Doing>,
    done: Vec<Done>,
    shown: Option<Instant>,
}

static BOARD: Mutex<Board> = Mutex::new(Board { tasks: BTreeMap::new(), done: Vec::new(), shown: None });

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    fn show(&mut self, text: &str) {
        let clear = if stdout().is_terminal() { "\r\x1b[2K" } else { "" };
        println!("{clear}{text}");
        let _ = stdout().flush();
        self.shown = Some(Instant::now());
    }

    fn tick(&mut self) {
        let is_silent = self.shown.is_none_or(|shown| shown.elapsed() >= PIPE_INTERVAL);
        if stdout().is_terminal() {
            print!("\r\x1b[2K{}", paint(DIM, &self.tasks().chars().take(MAX_COLUMNS).collect::<String>()));
            let _ = stdout().flush();
        } else if is_silent && !self.tasks.is_empty() {
            let tasks = self.tasks();
            self.show(&format!("  {tasks}"));
        }
    }

    /// The tasks, newest first, because older ones may contain them.
    fn tasks(&self) -> String {
        let of_task = |doing: &Doing| {
            let (name, seconds) = (&doing.name, doing.start.elapsed().as_secs());
            let said = if doing.said.is_empty() { String::new() } else { format!(": {}", doing.said) };
            format!("{name} ({seconds} s){said}")
        };
        self.tasks.values().rev().map(of_task).collect::<Vec<_>>().join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_shown_with_their_latest_news() {
        let task = begin("build");
        news("Compiling one");
        news("   Compiling two\u{1b}\n");
        news("{\"json\": 1}");
        assert_eq!(board().tasks(), "build (0 s): Compiling two");
        drop(task);
        assert_eq!(board().tasks(), "");
    }
}
