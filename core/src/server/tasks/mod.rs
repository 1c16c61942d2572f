//! Tasks: calls of tools that outlast their requests. One kind of task behind both forms of the protocol: the core one of 2025-11-25 and
//! the extension of 2026-07-28.

mod methods;
mod starting;
mod table;
mod task;
mod timestamp;

pub(super) use methods::{cancel, get, list, result, update};
pub(super) use starting::{Mode, mode};
pub(super) use table::Tasks;
pub(super) use task::{Owner, Task};

use super::serving::Serving;

#[cfg(test)]
mod tests;

impl Serving {
    /// Who may see the tasks that this request makes or asks for: the verified principal, or else everyone of this session. The
    /// modern era has no sessions, whatever connection its requests share with one.
    pub(super) fn owner(&self) -> Owner {
        let session = Task::is_core(self.scope.revision).then(|| self.connection.number());
        Owner { principal: self.scope.principal(), session }
    }

    /// The task that this request has become, if it has.
    pub(super) fn task(&self) -> Option<&std::sync::Arc<Task>> {
        self.task.get()
    }
}
