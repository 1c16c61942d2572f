//! Tasks of a group. Each belongs to a server and has an id in the group.

use super::member::GroupMember;
use indexmap::IndexMap;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};
use trunkline_core::{
    client::{Client, ClientError, ClientTask, RequestOptions},
    extension::{
        composition::rewriting::{self, ObjectMembers},
        sync::Mutex,
    },
    protocol::{RawJson, method, model::JsonObject},
};

/// Maximum tasks that a group follows, so that handlers answer their requests for input. A task
/// that is no longer followed is resumed when its result is requested.
const MAX_FOLLOWED: usize = 256;

/// The followed tasks, by their ids in the group.
#[derive(Default)]
pub(super) struct GroupTasks(Mutex<IndexMap<String, Arc<ClientTask>>>);

impl GroupTasks {
    /// Calls a tool of a server as a task; `params` are for the server. If the server creates no
    /// task, this returns the result of the call.
    pub(super) async fn start(
        &self,
        member: &Arc<GroupMember>,
        client: &Client,
        params: &ObjectMembers,
        options: RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let wanted = params.get("task").and_then(|task| serde_json::from_str::<JsonObject>(task.get()).ok());
        let ttl = wanted.and_then(|task| task.get("ttl")?.as_u64()).map(Duration::from_millis);
        let name = rewriting::text(params, "name").unwrap_or_default();
        let arguments: Option<&RawValue> = params.get("arguments").map(|arguments| &**arguments);
        let task = client.start_task_with(&name, arguments, &options.with_task_ttl(ttl)).await?;
        let Some(state) = task.state() else {
            return Ok(rewriting::result(method::TOOLS_CALL, &member.prefix, task.outcome_matching(None, None).await?));
        };
        let state = RawJson::from_value(&state).map_err(ClientError::unreadable)?;
        let (prefixed, id) = prefixed(&member.prefix, &state)?;
        self.follow(id, task);
        RawJson::from_value(&IndexMap::from([("task", prefixed)])).map_err(ClientError::unreadable)
    }

    /// Handles a request about a task of a server; `params` are from the group's client.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &ObjectMembers,
        (member, own): (&Arc<GroupMember>, &str),
        options: &RequestOptions,
    ) -> Result<RawJson, ClientError> {
        let client = member.client().await?;
        if method == method::TASKS_RESULT {
            let public = rewriting::text(params, "taskId").unwrap_or_default();
            let known = self.0.lock().get(&public).cloned();
            let task = match known {
                Some(task) => task,
                None => self.follow(public, client.resume_task(own).await?),
            };
            let result = task.outcome_within(Duration::MAX).await?;
            return Ok(rewriting::result(method::TOOLS_CALL, &member.prefix, result));
        }
        let named = RawJson::from_value(&IndexMap::from([("taskId", own)])).map_err(ClientError::unreadable)?;
        let mut state = client.request(method, Some(&named), options).await?;
        // In the extension, a cancellation is only acknowledged (TKX-17).
        if prefixed(&member.prefix, &state).is_err() {
            state = client.request(method::TASKS_GET, Some(&named), options).await?;
        }
        RawJson::from_value(&prefixed(&member.prefix, &state)?.0).map_err(ClientError::unreadable)
    }

    fn follow(&self, public: String, task: ClientTask) -> Arc<ClientTask> {
        let task = Arc::new(task);
        let unwanted: Vec<_> = {
            let mut followed = self.0.lock();
            let over = followed.extract_if(.., |_, task| task.status().is_final());
            let mut unwanted: Vec<_> = over.map(|(_, task)| task).collect();
            if followed.len() >= MAX_FOLLOWED {
                unwanted.extend(followed.shift_remove_index(0).map(|(_, task)| task));
            }
            unwanted.extend(followed.insert(public, Arc::clone(&task)));
            unwanted
        };
        // Dropped without the lock, because ending a task wakes its waiters.
        drop(unwanted);
        task
    }
}

/// A task of a server as the group's client sees it, and its id there.
fn prefixed(prefix: &str, state: &RawJson) -> Result<(ObjectMembers, String), ClientError> {
    let mut state: ObjectMembers = state.parse().map_err(ClientError::unreadable)?;
    let id = rewriting::task(prefix, &mut state)
        .ok_or_else(|| ClientError::InvalidResponse("a task has no \"taskId\"".to_owned()))?;
    Ok((state, id))
}
