//! Reads a pipe on the runtime. If a server runs on a runtime with one thread, the runtime is the
//! host that reads while messages arrive one by one (`read_handoff.rs`).
//!
//! With more threads, a handler that blocks one of them would delay the reading even though another
//! one is idle: tokio does not wake it for work that the blocked thread has left behind.

use super::{busy_poll::RoundTripTracker, read_handoff::ReadHandoff};
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use tokio::{
    io::{Interest, unix::AsyncFd},
    runtime::{Handle, RuntimeFlavor},
};

/// A handoff to the current runtime, if it has one thread.
#[cfg(unix)]
pub(super) fn handoff_to_runtime(round_trips: &Arc<RoundTripTracker>) -> Option<Arc<ReadHandoff>> {
    let runtime = Handle::try_current().ok().filter(|it| it.runtime_flavor() == RuntimeFlavor::CurrentThread)?;
    let handoff = Arc::<ReadHandoff>::default();
    let (weak, round_trips, is_watching) =
        (Arc::downgrade(&handoff), Arc::clone(round_trips), Arc::<AtomicBool>::default());
    handoff.enable(move || {
        let Some(handoff) = weak.upgrade() else { return };
        // The task of an earlier handoff may still be there.
        if !is_watching.swap(true, Ordering::AcqRel) {
            let (round_trips, is_watching) = (Arc::clone(&round_trips), Arc::clone(&is_watching));
            drop(runtime.spawn(async move {
                read(&handoff, &round_trips).await;
                is_watching.store(false, Ordering::Release);
            }));
        }
    });
    Some(handoff)
}

/// Reads until the handoff is over.
#[cfg(unix)]
async fn read(handoff: &ReadHandoff, round_trips: &RoundTripTracker) {
    let Some(pipe) = handoff.watch() else { return };
    #[expect(deprecated, reason = "its replacement is `unsafe`; a `File` keeps its descriptor open, as that requires")]
    let Ok(pipe) = AsyncFd::with_interest(pipe, Interest::READABLE) else { return };
    while handoff.read_ready() {
        // The handlers of what was read run first, since their responses may start a round trip.
        tokio::task::yield_now().await;
        let Ok(mut ready) = round_trips.wait(pipe.readable()).await else { return };
        // Cleared before the read, so that what arrives during it is not missed.
        ready.clear_ready();
    }
}

/// Returns `None`: event loops of other systems do not watch pipes.
#[cfg(not(unix))]
pub(super) fn handoff_to_runtime(_: &Arc<RoundTripTracker>) -> Option<Arc<ReadHandoff>> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::line_reader::LineReader, super::read_handoff::read_to_end, *};
    use std::{
        fs::File,
        io::Write,
        ops::ControlFlow,
        os::fd::OwnedFd,
        sync::mpsc,
        thread::{self, ThreadId},
        time::Duration,
    };

    /// Completes with the thread that has handled the next line.
    async fn next(handled: &mpsc::Receiver<ThreadId>) -> ThreadId {
        loop {
            match handled.try_recv() {
                Ok(thread) => return thread,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    #[tokio::test]
    async fn the_runtime_reads_lines_that_come_one_by_one_unless_it_is_blocked() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (handle, handled) = mpsc::channel();
        let round_trips = Arc::<RoundTripTracker>::default();
        let handoff = handoff_to_runtime(&round_trips).unwrap();
        let file = File::from(OwnedFd::from(reader));
        let reader = LineReader::new(file, 1024, Arc::clone(&round_trips), move |_, _| {
            handle.send(thread::current().id()).unwrap();
            ControlFlow::Continue(())
        });
        let reading = thread::spawn(move || read_to_end(reader, Some(&handoff)));
        let mut write = || {
            round_trips.sent();
            writer.write_all(b"{}\n").unwrap();
        };

        let here = thread::current().id();
        write();
        assert_eq!(next(&handled).await, reading.thread().id());
        // A busy machine may take longer than the round trips that allow it.
        let runtime_reads = async {
            write();
            while next(&handled).await != here {
                write();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), runtime_reads).await.expect("the runtime reads");

        write();
        assert_eq!(handled.recv_timeout(Duration::from_secs(30)), Ok(reading.thread().id()), "the runtime is blocked");
        drop(writer);
        while !reading.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_runtime_of_several_threads_does_not_read() {
        assert!(handoff_to_runtime(&Arc::default()).is_none());
    }
}
