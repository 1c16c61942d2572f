//! The tasks of a server, by id.

use super::{
    server_task::{Task, TaskOwner},
    task_view::TaskView,
};
use crate::{
    counts::Holder,
    counts::{CountLimits, Counts},
    protocol::{RawJson, RpcError},
    server::server_options::ServerOptions,
    sync::Mutex,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// All tasks.
#[derive(Default)]
pub(in crate::server) struct Tasks {
    table: Mutex<TaskTable>,
}

#[derive(Default)]
struct TaskTable {
    by_id: HashMap<String, Arc<Task>>,
    /// Oldest first, for lists.
    by_number: BTreeMap<u64, Arc<Task>>,
    /// The size of each result.
    sizes: HashMap<u64, usize>,
    /// The tasks of each client.
    tasks: Counts<Holder>,
    /// The size of each client's results.
    bytes: Counts<Holder>,
    /// The listeners and conversations that take no more requests.
    closing: HashSet<u64>,
}

impl Tasks {
    /// Adds a task, unless there are too many (TSK-35).
    pub(in crate::server) fn insert(&self, task: &Arc<Task>, options: &ServerOptions) -> Result<(), RpcError> {
        // An earlier run of the task in this process, which was presumed dead.
        if let Some(earlier) = self.get(task.id()) {
            earlier.hand_over("the task was restarted");
            self.remove(&earlier);
        }
        let mut table = self.table.lock();
        let holder = Some(&task.facts.holder);
        let limits = CountLimits { all: options.max_tasks, each: options.max_tasks_per_client };
        let (tasks, bytes, of_bytes) = (&table.tasks, &table.bytes, byte_limits(options));
        let checks = [
            (tasks.has_room(None, 1, limits), "too many tasks are kept"),
            (bytes.has_room(None, 1, of_bytes), "the results of tasks take up too much memory"),
            (tasks.has_room(holder, 1, limits), "too many tasks are kept for this client"),
            (bytes.has_room(holder, 1, of_bytes), "the results of this client's tasks take up too much memory"),
        ];
        if let Some((_, problem)) = checks.into_iter().find(|(has_room, _)| !has_room) {
            return Err(RpcError::busy(problem));
        }
        table.tasks.take(holder, 1, limits);
        table.by_id.insert(task.id().to_owned(), Arc::clone(task));
        table.by_number.insert(task.facts.number, Arc::clone(task));
        let is_late = task.facts.ends_with.is_some_and(|origin| table.closing.contains(&origin));
        drop(table);
        if is_late {
            task.refuse_input();
        }
        Ok(())
    }

    /// Removes an expired task.
    pub(in crate::server) fn remove(&self, task: &Task) {
        let mut table = self.table.lock();
        if table.by_number.remove(&task.facts.number).is_none() {
            return;
        }
        table.by_id.remove(task.id());
        table.tasks.give_back(Some(&task.facts.holder), 1);
        table.let_go(task);
    }

    /// Finishes a task. A result that does not fit is replaced by an error.
    pub(in crate::server) fn finish(
        &self,
        task: &Arc<Task>,
        outcome: Result<RawJson, RpcError>,
        options: &ServerOptions,
    ) {
        let size = outcome.as_ref().map_or(0, |result| result.as_bytes().len());
        let outcome = self.table.lock().hold(task, size, options).and(outcome);
        if let Err(error) = &outcome {
            tracing::debug!(target: "trunkline::server::tasks", task = task.id(), %error, "a task failed");
        }
        if !task.finish(outcome) {
            self.table.lock().let_go(task);
        }
    }

    /// Cancels the tasks of a session that has ended. Without a principal, no client can retrieve
    /// them any more.
    pub(in crate::server) fn abandon(&self, session: u64) {
        self.abandon_if(|owner| owner.session == Some(session));
    }

    /// The same by the id of the session: other conversations may have served it, too.
    pub(in crate::server) fn abandon_id(&self, session: &str) {
        self.abandon_if(|owner| owner.session_id.as_deref() == Some(session));
    }

    fn abandon_if(&self, has_ended: impl Fn(&TaskOwner) -> bool) {
        let of_session: Vec<_> = {
            let table = self.table.lock();
            let owners = table.by_number.values().filter(|task| has_ended(&task.facts.owner));
            owners.filter(|task| task.ends_with_session()).cloned().collect()
        };
        for task in of_session {
            task.cancel("the session ended");
        }
    }

    /// The sessions among `ids` with running tasks that end with them.
    pub(in crate::server) fn sessions_among(&self, ids: &HashSet<Arc<str>>) -> HashSet<Arc<str>> {
        if ids.is_empty() {
            return HashSet::new();
        }
        let table = self.table.lock();
        let running = table.by_number.values().filter(|task| task.ends_with_session() && !task.is_final());
        running.filter_map(|task| ids.get(task.facts.owner.session_id.as_deref()?).cloned()).collect()
    }

    /// Called when a listener or conversation takes no more requests. Ends those of its tasks that
    /// wait for input that a request would have to bring.
    pub(in crate::server) fn refuse_input_of(&self, origin: u64) {
        self.table.lock().closing.insert(origin);
        for task in self.of(origin) {
            task.refuse_input();
        }
    }

    /// Ends the tasks that end with a listener or conversation. They fail unless another process
    /// restarts them.
    pub(in crate::server) fn end_of(&self, origin: u64) {
        self.table.lock().closing.remove(&origin);
        for task in self.of(origin) {
            task.leave("the server is closing");
        }
    }

    /// Completes when the tasks that end with a listener or conversation are over and stored.
    pub(in crate::server) async fn drain_of(&self, origin: u64) {
        for task in self.of(origin) {
            task.announced(None).await;
        }
    }

    fn of(&self, origin: u64) -> Vec<Arc<Task>> {
        let table = self.table.lock();
        table.by_number.values().filter(|task| task.facts.ends_with == Some(origin)).cloned().collect()
    }

    /// Finds a task of this owner. Other owners' tasks look the same as nonexistent ones (TSK-32,
    /// TKX-24).
    pub(in crate::server) fn find(&self, id: &str, owner: &TaskOwner) -> Result<Arc<Task>, RpcError> {
        self.get(id).filter(|task| task.is_visible_to(owner)).ok_or_else(|| RpcError::unknown_task(id))
    }

    fn get(&self, id: &str) -> Option<Arc<Task>> {
        self.table.lock().by_id.get(id).cloned()
    }

    /// Calls a function with a task of any owner, if there is one with this id.
    pub(super) fn with(&self, id: &str, act: impl FnOnce(&Arc<Task>)) {
        if let Some(task) = self.get(id) {
            act(&task);
        }
    }

    /// One page of an owner's tasks after the one with this number, and the number of its last one
    /// if there are more.
    pub(super) fn page(&self, after: u64, size: usize, owner: &TaskOwner) -> (Vec<TaskView>, Option<u64>) {
        let table = self.table.lock();
        let mut visible = table
            .by_number
            .range(after.saturating_add(1)..)
            .map(|(_, task)| task)
            .filter(|task| task.is_visible_to(owner));
        let page: Vec<_> = visible.by_ref().take(size.max(1)).collect();
        let next = page.last().filter(|_| visible.next().is_some()).map(|last| last.facts.number);
        (page.into_iter().map(|task| task.view()).collect(), next)
    }
}

impl TaskTable {
    /// Accounts for the result of a task, if it fits. A task that has been removed uses no memory.
    fn hold(&mut self, task: &Task, size: usize, options: &ServerOptions) -> Result<(), RpcError> {
        if !self.by_number.contains_key(&task.facts.number) {
            return Ok(());
        }
        if !self.bytes.take(Some(&task.facts.holder), size, byte_limits(options)) {
            let text =
                format!("the result of {size} bytes cannot be kept: the results of tasks take up too much memory");
            return Err(RpcError::busy(&text));
        }
        self.sizes.insert(task.facts.number, size);
        Ok(())
    }

    fn let_go(&mut self, task: &Task) {
        let size = self.sizes.remove(&task.facts.number).unwrap_or_default();
        self.bytes.give_back(Some(&task.facts.holder), size);
    }
}

fn byte_limits(options: &ServerOptions) -> CountLimits {
    CountLimits { all: options.max_task_bytes, each: options.max_task_bytes_per_client }
}
