//! Fair scheduling of costly work, such as validating against a costly schema. It runs on blocking
//! threads, on at most half of the processors, so that it doesn't delay other requests. Callers
//! take turns, so each waits for at most one piece of work of every other caller.

use crate::{counts::Holder, on_drop::OnDrop, runtime::Runtime, sync::Mutex};
use once_cell::race::OnceBox;
use std::{
    cell::Cell,
    collections::{HashMap, VecDeque},
    sync::Arc,
    thread,
};

/// Maximum queued work of one caller.
const MAX_WAITING: usize = 256;

/// The scheduler of the process.
fn turns() -> &'static Turns {
    static TURNS: OnceBox<Turns> = OnceBox::new();
    TURNS.get_or_init(|| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Box::new(Turns::new((processors / 2).max(1)))
    })
}

/// The error if too much work of the caller is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} costly checks of this caller are waiting", MAX_WAITING)]
pub(crate) struct Crowded;

/// Runs work when it is the caller's turn. If too much of its work is queued, `work` is called
/// immediately, with the error.
pub(crate) fn take(
    runtime: &Arc<dyn Runtime>,
    caller: Holder,
    work: impl FnOnce(Result<(), Crowded>) + Send + 'static,
) {
    turns().take(caller, (Arc::clone(runtime), Box::new(work)));
}

/// Work, and the runtime that runs it.
type Work = (Arc<dyn Runtime>, Box<dyn FnOnce(Result<(), Crowded>) + Send>);

struct Turns(Mutex<Waiting>);

struct Waiting {
    free: usize,
    /// Callers with queued work, the next one first.
    callers: VecDeque<Holder>,
    work: HashMap<Holder, VecDeque<Work>>,
}

impl Turns {
    fn new(free: usize) -> Self {
        Self(Mutex::new(Waiting { free, callers: VecDeque::new(), work: HashMap::new() }))
    }

    fn take(&'static self, caller: Holder, work: Work) {
        let added = self.0.lock().add(caller, work);
        match added {
            Ok(()) => self.begin(),
            Err((_, work)) => work(Err(Crowded)),
        }
    }

    /// Starts what can be started. A runtime that has ended drops its work immediately, and with it
    /// a guard that calls this function again; the loop below on the stack then continues.
    fn begin(&'static self) {
        if IS_BEGINNING.replace(true) {
            return;
        }
        let _ended = OnDrop::new(|| IS_BEGINNING.set(false));
        loop {
            // Don't hold the lock while starting work.
            let next = self.0.lock().next();
            let Some((runtime, work)) = next else { return };
            // Released even if the work panics or never runs because its runtime has ended.
            let turn = OnDrop::new(move || {
                self.0.lock().free += 1;
                self.begin();
            });
            runtime.run_blocking(Box::new(move || {
                work(Ok(()));
                drop(turn);
            }));
        }
    }
}

impl Waiting {
    fn add(&mut self, caller: Holder, work: Work) -> Result<(), Work> {
        let own = self.work.entry(caller.clone()).or_default();
        match own.len() {
            MAX_WAITING => return Err(work),
            0 => self.callers.push_back(caller),
            _ => {}
        }
        own.push_back(work);
        Ok(())
    }

    /// Takes a free turn and the next caller's work.
    fn next(&mut self) -> Option<Work> {
        if self.free == 0 {
            return None;
        }
        let caller = self.callers.pop_front()?;
        let own = self.work.get_mut(&caller)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.work.remove(&caller);
        } else {
            self.callers.push_back(caller);
        }
        self.free -= 1;
        next
    }
}

thread_local! {
    /// True while the loop of [`Turns::begin`] is running on this thread.
    static IS_BEGINNING: Cell<bool> = const { Cell::new(false) };
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::{runtime::BoxedTask, transport::TokioRuntime, wire_log::WireLog};
    use std::{sync::mpsc, time::Instant};

    fn one_turn() -> &'static Turns {
        Box::leak(Box::new(Turns::new(1)))
    }

    #[tokio::test]
    async fn sch_10_callers_take_turns_and_one_of_them_cannot_fill_the_queue() {
        let (turns, runtime): (_, Arc<dyn Runtime>) = (one_turn(), TokioRuntime::current());
        let ((sent, done), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
        let take = |caller, name: String| {
            let sent = sent.clone();
            let work = Box::new(move |turn| sent.send((name, turn)).unwrap());
            turns.take(Holder::Conversation(caller), (Arc::clone(&runtime), work));
        };
        turns.take(Holder::Client(0), (Arc::clone(&runtime), Box::new(move |_| released.recv().unwrap())));
        (0..MAX_WAITING).for_each(|number| take(1, format!("many {number}")));
        take(1, "too many".into());
        assert_eq!(done.try_recv(), Ok(("too many".into(), Err(Crowded))));
        (0..2).for_each(|number| take(2, format!("few {number}")));
        assert!(done.try_recv().is_err(), "the only turn is taken");
        release.send(()).unwrap();
        let order: Vec<_> = (0..MAX_WAITING + 2).map(|_| done.recv().unwrap().0).collect();
        assert_eq!(order[..5], ["many 0", "few 0", "many 1", "few 1", "many 2"]);
        assert!(turns.0.lock().work.is_empty());
    }

    /// A runtime that has ended.
    struct Ended;

    impl Runtime for Ended {
        fn spawn(&self, _: BoxedTask) {}
        fn run_blocking(&self, _: Box<dyn FnOnce() + Send>) {}
        fn now(&self) -> Instant {
            Instant::now()
        }
        fn sleep_until(&self, _: Instant) -> BoxedTask {
            Box::pin(async {})
        }
        fn wire_log(&self) -> Option<&dyn WireLog> {
            None
        }
    }

    #[test]
    fn work_of_a_runtime_that_has_ended_takes_no_stack() {
        let turns = one_turn();
        let runtime: Arc<dyn Runtime> = Arc::new(Ended);
        for caller in 0..400 {
            for _ in 0..MAX_WAITING {
                let work = Box::new(|_: Result<(), Crowded>| panic!("it ran"));
                assert!(turns.0.lock().add(Holder::Client(caller), (Arc::clone(&runtime), work)).is_ok());
            }
        }
        // Recursion would need some 100,000 frames.
        thread::Builder::new().stack_size(128 << 10).spawn(|| turns.begin()).unwrap().join().unwrap();
        let waiting = turns.0.lock();
        assert!(waiting.work.is_empty() && waiting.callers.is_empty() && waiting.free == 1);
    }
}
