//! Closing a port, a listener or a connection.

use crate::{
    BridgeError, ErrorKind, Event, PortState,
    open::state::{Openable, ended, failed_to_open, take_opening},
    requests::streams,
    state::{
        entries::{Connection, OpenState},
        tables::HandleKind,
    },
};
use std::{sync::Arc, time::Duration};
use trunkline::{bridge_support::Deadline, transport::Listener};

/// Refuses new work and closes everything. The last event is `Stopped`.
pub(crate) fn close_port(state: &Arc<PortState>, deadline: Duration) {
    let first = state.queue.begin_closing();
    let Some(process) = state.started_process() else {
        if first {
            state.queue.stop(Event::default());
        }
        return;
    };
    let port = Arc::clone(state);
    state.ending.begin(process.handle(), deadline, |deadline| async move {
        // Handlers may run until the deadline, and may need the connections.
        end_all::<Arc<Listener>>(&port, &deadline).await;
        end_all::<Connection>(&port, &deadline).await;
        port.queue.stop(Event::default());
        port.release_process();
    });
}

/// Closes a listener or a connection. Does nothing if it is already closed.
pub(crate) fn close_one(state: &Arc<PortState>, handle: u64, deadline: Duration) {
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
        T::table(&mut tables).iter().map(|(handle, _)| handle).collect()
    };
    let spawn = |handle| tokio::spawn(end_by::<T>(Arc::clone(state), handle, deadline.clone()));
    for task in handles.into_iter().map(spawn).collect::<Vec<_>>() {
        // Ignore panics, so that the rest is still closed.
        let _ = task.await;
    }
}

async fn end_by<T: Openable>(state: Arc<PortState>, handle: u64, mut deadline: Deadline) {
    loop {
        let left = deadline.left();
        tokio::select! {
            () = end::<T>(Arc::clone(&state), handle, left) => return,
            // The earliest deadline wins.
            () = deadline.moved() => {}
        }
    }
}

/// Closes a listener or connection and reports its end.
async fn end<T: Openable>(state: Arc<PortState>, handle: u64, deadline: Duration) {
    if let Some((waiting, task)) = take_opening::<T>(&state, handle) {
        let failing = async move {
            if let Some((task, in_use)) = task {
                // Dropping the task cleans up what it has started. The host removes its functions
                // after the reply.
                task.abort();
                drop(in_use.lock().await);
            }
            let closed = BridgeError::new(ErrorKind::Closed, "Closed while it was opening");
            failed_to_open(&state, handle, waiting, closed);
        };
        // In a task, because an earlier deadline starts this function again.
        let _ = tokio::spawn(failing).await;
        return;
    }
    let open = T::table(&mut state.tables.lock()).get(handle).and_then(OpenState::get).cloned();
    if let Some(thing) = open {
        thing.close(deadline).await;
        ended::<T>(&state, handle, None);
    }
}
