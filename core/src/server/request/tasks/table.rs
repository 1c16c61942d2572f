//! The tasks of a server, by id.

use super::task::{Holder, Owner, Task};
use crate::{protocol::RpcError, server::options::ServerOptions, sync::Mutex};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Every task that is kept.
#[derive(Default)]
pub(in crate::server) struct Tasks {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    by_id: HashMap<String, Arc<Task>>,
    /// Oldest first, for lists.
    by_number: BTreeMap<u64, Arc<Task>>,
    /// How many each client has.
    held: HashMap<Holder, usize>,
}

impl Tasks {
    /// Keeps a task, unless there are too many (TSK-35).
    pub(in crate::server) fn insert(&self, task: &Arc<Task>, options: &ServerOptions) -> Result<(), RpcError> {
        let mut table = self.table.lock();
        if table.by_id.len() >= options.max_tasks {
            return Err(RpcError::busy("too many tasks are kept"));
        }
        if table.held.get(task.holder()).is_some_and(|held| *held >= options.max_tasks_per_client) {
            return Err(RpcError::busy("too many tasks are kept for this client"));
        }
        *table.held.entry(task.holder().clone()).or_default() += 1;
        table.by_id.insert(task.id().to_owned(), Arc::clone(task));
        table.by_number.insert(task.number(), Arc::clone(task));
        Ok(())
    }

    /// Forgets a task whose time is over.
    pub(in crate::server) fn remove(&self, task: &Task) {
        let mut table = self.table.lock();
        if table.by_id.remove(task.id()).is_none() {
            return;
        }
        table.by_number.remove(&task.number());
        if let Some(held) = table.held.get_mut(task.holder()) {
            *held -= 1;
            if *held == 0 {
                table.held.remove(task.holder());
            }
        }
    }

    /// Cancels the tasks that went with a session: without a principal nobody can come back for
    /// them.
    pub(in crate::server) fn abandon(&self, session: u64) {
        let of_session: Vec<_> = {
            let table = self.table.lock();
            table.by_number.values().filter(|task| task.belongs_only_to(session)).cloned().collect()
        };
        for task in of_session {
            task.cancel("the session ended");
        }
    }

    /// Cancels the tasks that end with a listener or conversation: nobody is left to run them for.
    pub(in crate::server) fn end_of(&self, origin: u64) {
        let of_it: Vec<_> = {
            let table = self.table.lock();
            table.by_number.values().filter(|task| task.ends_with() == Some(origin)).cloned().collect()
        };
        for task in of_it {
            task.cancel("the server is closing");
        }
    }

    /// A task of this owner. Others' tasks are as unknown as those that never were (TSK-32,
    /// TKX-24).
    pub(in crate::server) fn find(&self, id: &str, owner: &Owner) -> Result<Arc<Task>, RpcError> {
        let task = self.table.lock().by_id.get(id).cloned();
        task.filter(|task| task.is_visible_to(owner)).ok_or_else(|| RpcError::unknown_task(id))
    }

    /// One page of an owner's tasks, after the one of that number; and whether more follow.
    pub(in crate::server) fn page(&self, after: u64, size: usize, owner: &Owner) -> (Vec<Arc<Task>>, bool) {
        let table = self.table.lock();
        let mut visible = table
            .by_number
            .range(after.saturating_add(1)..)
            .map(|(_, task)| task)
            .filter(|task| task.is_visible_to(owner));
        let page: Vec<_> = visible.by_ref().take(size.max(1)).cloned().collect();
        let more = visible.next().is_some();
        (page, more)
    }
}
