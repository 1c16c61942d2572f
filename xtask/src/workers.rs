//! Runs independent jobs on a few threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use crate::console;

/// Runs all jobs on `threads` threads. `done` is called on this thread with each result and the
/// index of its job, as soon as it is available.
pub(crate) fn run<J: Sync, R: Send>(
    threads: usize,
    jobs: &[J],
    work: impl Fn(&J) -> R + Sync,
    mut done: impl FnMut(usize, R),
) {
    let next = AtomicUsize::new(0);
    let (sender, results) = channel();
    let task = console::current();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                console::work_for(task);
                while let Some((index, job)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, jobs.get(index)?)))
                {
                    if sender.send((index, work(job))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, result) in results {
            done(index, result);
        }
    });
}
