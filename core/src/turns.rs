//! Turns of work that takes long, such as checking a value against a costly schema: on threads that
//! may block, as many pieces at once as half of the processors, so that it holds up nobody else.

use crate::{runtime::Runtime, sync::Mutex};
use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock},
    thread,
};

type BlockingWork = Box<dyn FnOnce() + Send>;

/// The free turns, and the work that waits for one.
static TURNS: LazyLock<Mutex<Turns>> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    Mutex::new(Turns { free: (processors / 2).max(1), waiting: VecDeque::new() })
});

struct Turns {
    free: usize,
    waiting: VecDeque<(Arc<dyn Runtime>, BlockingWork)>,
}

/// Does a piece of work in its turn.
pub(crate) fn take(runtime: &Arc<dyn Runtime>, work: impl FnOnce() + Send + 'static) {
    let runtime = Arc::clone(runtime);
    {
        let mut turns = TURNS.lock();
        if turns.free == 0 {
            return turns.waiting.push_back((runtime, Box::new(work)));
        }
        turns.free -= 1;
    }
    begin(&runtime, Box::new(work));
}

fn begin(runtime: &Arc<dyn Runtime>, work: BlockingWork) {
    let turn = TurnGuard;
    runtime.run_blocking(Box::new(move || {
        work();
        drop(turn);
    }));
}

/// A turn, which the next piece of work gets in the end: also where this one panicked, or never ran
/// because its runtime has ended.
struct TurnGuard;

impl Drop for TurnGuard {
    fn drop(&mut self) {
        let next = {
            let mut turns = TURNS.lock();
            let next = turns.waiting.pop_front();
            turns.free += usize::from(next.is_none());
            next
        };
        if let Some((runtime, work)) = next {
            begin(&runtime, work);
        }
    }
}
