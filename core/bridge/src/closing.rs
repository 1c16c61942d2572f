//! The end of a port, and of single listeners and connections.

use super::{
    connection::Connection, entries::Openable, event::Event, opening::end, state::PortState, streams, table::HandleKind,
};
use std::{sync::Arc, time::Duration};
use trunkline::{bridge_support::Deadline, transport::Listener};

/// Refuses new work and ends everything; `Stopped` is the last event.
pub(super) fn close_port(state: &Arc<PortState>, deadline: Duration) {
    let first = state.begin_closing();
    let Some(process) = state.started_process() else {
        if first {
            state.queue.stop(Event::default());
        }
        return;
    };
    let port = Arc::clone(state);
    state.ending.begin(process.handle(), deadline, |deadline| async move {
        // Handlers go on until the deadline, and may need the connections for it.
        end_all::<Arc<Listener>>(&port, &deadline).await;
        end_all::<Connection>(&port, &deadline).await;
        port.queue.stop(Event::default());
        port.release_process();
    });
}

/// Closes a listener or a connection. One that is closed is not an error.
pub(super) fn close_one(state: &Arc<PortState>, handle: u64, deadline: Duration) {
    let Some(process) = state.started_process() else { return };
    let state = Arc::clone(state);
    match HandleKind::of(handle) {
        Some(HandleKind::Listener) => drop(process.handle().spawn(end::<Arc<Listener>>(state, handle, deadline))),
        Some(HandleKind::Connection) => drop(process.handle().spawn(async move {
            end::<Connection>(Arc::clone(&state), handle, deadline).await;
            streams::forget(&state, handle);
        })),
        _ => {}
    }
}

async fn end_all<T: Openable>(state: &Arc<PortState>, deadline: &Deadline) {
    let handles: Vec<_> = {
        let mut tables = state.tables.lock();
        T::table(&mut tables).iter().filter(|(_, endpoint)| endpoint.is_open()).map(|(handle, _)| handle).collect()
    };
    let spawn = |handle| tokio::spawn(end_by::<T>(Arc::clone(state), handle, deadline.clone()));
    for task in handles.into_iter().map(spawn).collect::<Vec<_>>() {
        // A task that panicked has closed nothing more; the rest still ends.
        let _ = task.await;
    }
}

async fn end_by<T: Openable>(state: Arc<PortState>, handle: u64, mut deadline: Deadline) {
    loop {
        let left = deadline.left();
        tokio::select! {
            () = end::<T>(Arc::clone(&state), handle, left) => return,
            // The earliest time counts.
            () = deadline.moved() => {}
        }
    }
}
