//! The link of a group: its client sends requests as if to a single server, and each is routed to
//! one of the group's servers.

use super::{group_members::GroupMembers, group_tasks::GroupTasks, member::GroupMember};
use serde_json::{json, value::RawValue};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use trunkline_core::{
    client::{ClientError, ClientId, Connector, Inbox, Link, LinkFailure, LinkMessage, RequestOptions},
    client_auth::AuthError,
    extension::{Promise, composition::rewriting, on_drop::OnDrop, race::unless, sync::Mutex},
    protocol::{
        RawJson, RequestId, Revision, RpcError,
        envelope::{Frame, FrameBounds, Message, Request, encode_error, encode_notification, encode_result},
        method::{self, MessageKind, Method, Sender, Target},
        model::{FailureReason, Implementation},
    },
    runtime::{BoxedTask, Runtime},
    wire_log::Transport,
};

/// Opens a group: connects to all of its servers.
pub(super) struct GroupConnector(pub(super) Arc<GroupMembers>);

impl Connector for GroupConnector {
    fn connect(&self, inbox: Arc<dyn Inbox>) -> BoxedTask<Result<Arc<dyn Link>, LinkFailure>> {
        let members = Arc::clone(&self.0);
        Box::pin(async move {
            let disconnect = OnDrop::new(|| members.give_up());
            members.connect_all().await;
            disconnect.disarm();
            *members.changes.inbox.lock() = Some(Arc::clone(&inbox));
            let link: Arc<dyn Link> = Arc::new_cyclic(|link| GroupLink {
                link: Weak::clone(link),
                members,
                inbox,
                in_flight: Mutex::default(),
                tasks: GroupTasks::default(),
            });
            Ok(link)
        })
    }

    fn is_pipe(&self) -> bool {
        false
    }

    /// Logs out of all servers. The error is the first one.
    fn logout(&self, runtime: Arc<dyn Runtime>) -> BoxedTask<Result<(), AuthError>> {
        let members = self.0.all();
        Box::pin(async move {
            let mut outcome = Ok(());
            for member in members {
                if let Some(connector) = member.connector() {
                    outcome = outcome.and(connector.logout(Arc::clone(&runtime)).await);
                }
            }
            outcome
        })
    }

    fn leads_to(&self, client: ClientId) -> bool {
        self.0.all().iter().any(|member| member.leads_to(client))
    }

    fn server_of(&self, tool: &str) -> Option<String> {
        self.0.server_of(tool)
    }

    fn has_sessions(&self) -> bool {
        false
    }

    fn transport(&self) -> Transport {
        Transport::Memory
    }
}

struct GroupLink {
    link: Weak<Self>,
    members: Arc<GroupMembers>,
    inbox: Arc<dyn Inbox>,
    /// Requests that a server is handling; completing the promise ends one.
    in_flight: Mutex<HashMap<RequestId, Arc<Promise<()>>>>,
    tasks: GroupTasks,
}

impl Link for GroupLink {
    fn send(&self, message: LinkMessage) {
        match Frame::parse(&message.bytes, FrameBounds::NONE) {
            Frame::Single(Ok(Message::Request(request))) => self.start(request),
            // Servers are notified of roots when the group sets them on their connections.
            _ => tracing::debug!(target: "trunkline::client::group", "ignored a message that groups do not forward"),
        }
    }

    fn abandon(&self, id: &RequestId) -> bool {
        if let Some(stop) = self.in_flight.lock().remove(id) {
            stop.keep(());
        }
        true
    }

    fn peer(&self) -> String {
        "The group of servers".to_owned()
    }

    fn close(&self, deadline: Duration) -> BoxedTask {
        let members = Arc::clone(&self.members);
        // In a separate task, so that it continues if the caller stops waiting.
        let end = Arc::new(Promise::default());
        let ended = Arc::clone(&end);
        self.members.changes.runtime.spawn(Box::pin(async move {
            members.close_all(deadline).await;
            ended.keep(());
        }));
        Box::pin(async move { end.kept().await })
    }
}

impl GroupLink {
    fn start(&self, request: Request) {
        let Some(link) = self.link.upgrade() else { return };
        let stop = Arc::new(Promise::default());
        self.in_flight.lock().insert(request.id.clone(), Arc::clone(&stop));
        self.members.changes.runtime.spawn(Box::pin(async move {
            let id = request.id.clone();
            let outcome = unless(stop.kept(), link.answer(request)).await;
            // Abandoned requests need no response.
            if link.in_flight.lock().remove(&id).is_some()
                && let Some(outcome) = outcome
            {
                link.give(&id, outcome);
            }
        }));
    }

    async fn answer(&self, Request { id, method, params }: Request) -> Result<RawJson, ClientError> {
        let params = params.unwrap_or_else(RawJson::empty_object);
        let mut params: rewriting::ObjectMembers = params.parse().map_err(ClientError::unwritable)?;
        // The token belongs to the group; each server gets a different one.
        let token = rewriting::take_progress_token(&mut params);
        let progress = token.map(|token| (token, Arc::clone(&self.inbox)));
        let of_legacy = Method::find(&method, MessageKind::Request, Sender::Client, Revision::LATEST_LEGACY);
        match (&*method, of_legacy.and_then(|row| row.target)) {
            (method::INITIALIZE, _) => RawJson::from_value(&description()).map_err(ClientError::unwritable),
            (method::PING, _) => Ok(RawJson::empty_object()),
            (method::LOGGING_SET_LEVEL, _) => {
                let level = params.get("level").and_then(|level| serde_json::from_str(level.get()).ok());
                let unknown = || ClientError::Invalid("logging/setLevel needs a known \"level\"".to_owned());
                self.members.set_log_level(level.ok_or_else(unknown)?).await;
                Ok(RawJson::empty_object())
            }
            (_, Some(Target::Task)) => {
                let owner = self.members.owner_of_task(&rewriting::text(&params, "taskId").unwrap_or_default())?;
                let _in_flight = owner.0.pauses.enter(id);
                self.tasks.ask(&method, &params, (&owner.0, &owner.1), &request_options(None)).await
            }
            (_, Some(target @ (Target::Tool | Target::Prompt))) => {
                let is_tool = target == Target::Tool;
                let list = if is_tool { method::TOOLS_LIST } else { method::PROMPTS_LIST };
                let name = rewriting::text(&params, "name").unwrap_or_default();
                let (member, own) = self.members.owner_of_name(&id, &name, list).await?;
                rewriting::set(&mut params, "name", &own);
                if is_tool && params.contains_key("task") {
                    let _in_flight = member.pauses.enter(id);
                    let client = member.client().await?;
                    return self.tasks.start(&member, &client, &params, request_options(progress)).await;
                }
                forward(&member, id, &method, &params, progress).await
            }
            (method::RESOURCES_SUBSCRIBE, _) => {
                let (member, own) = self.of_uri(&params)?;
                let _in_flight = member.pauses.enter(id);
                member.subscribe(&own).await?;
                Ok(RawJson::empty_object())
            }
            (_, Some(Target::Resource)) => {
                let (member, own) = self.of_uri(&params)?;
                rewriting::set(&mut params, "uri", &own);
                forward(&member, id, &method, &params, progress).await
            }
            (_, Some(Target::Subscription)) => {
                let (member, own) = self.of_uri(&params)?;
                member.subscriptions.close(&own);
                Ok(RawJson::empty_object())
            }
            (_, Some(Target::Completion)) => {
                let member = self.of_reference(&id, &mut params).await?;
                forward(&member, id, &method, &params, progress).await
            }
            (_, None) if of_legacy.is_some_and(|row| row.list_member.is_some()) => self.members.list(&method).await,
            (_, None) => Err(ClientError::Invalid(format!(
                "Groups do not forward {method} (request {id}): use a client of the server that it is for"
            ))),
        }
    }

    /// The server of a request's resource, and the server's own URI for it.
    fn of_uri(&self, params: &rewriting::ObjectMembers) -> Result<(Arc<GroupMember>, String), ClientError> {
        self.members.owner_of_uri(&rewriting::text(params, "uri").unwrap_or_default())
    }

    /// The server for a completion. Rewrites its parameters to the server's own name.
    async fn of_reference(
        &self,
        id: &RequestId,
        params: &mut rewriting::ObjectMembers,
    ) -> Result<Arc<GroupMember>, ClientError> {
        let reference =
            params.get("ref").and_then(|raw| serde_json::from_str::<rewriting::ObjectMembers>(raw.get()).ok());
        let mut reference =
            reference.ok_or_else(|| ClientError::Invalid("A completion needs the object \"ref\"".to_owned()))?;
        let member = if let Some(uri) = rewriting::text(&reference, "uri") {
            let (member, own) = self.members.owner_of_uri(&uri)?;
            rewriting::set(&mut reference, "uri", &own);
            member
        } else {
            let name = rewriting::text(&reference, "name").unwrap_or_default();
            let (member, own) = self.members.owner_of_name(id, &name, method::PROMPTS_LIST).await?;
            rewriting::set(&mut reference, "name", &own);
            member
        };
        rewriting::set(params, "ref", &reference);
        Ok(member)
    }

    fn give(&self, id: &RequestId, outcome: Result<RawJson, ClientError>) {
        let error = match outcome {
            Ok(result) => return self.inbox.message(encode_result(id, result.as_bytes())),
            Err(error) => error,
        };
        let answered = |error: &RpcError| self.inbox.message(encode_error(Some(id), error));
        if let Some(error) = error.rpc() {
            return answered(error);
        }
        let failure = match error {
            ClientError::Invalid(text) => return answered(&RpcError::invalid_params(text)),
            // Its text may say more than that of the failure.
            ClientError::NotOpened { text, failure: LinkFailure::Status { status, challenges, .. } } => {
                LinkFailure::Status { status, text, challenges }
            }
            ClientError::Link(failure) | ClientError::NotOpened { failure, .. } => failure,
            ClientError::Closed => LinkFailure::Closed,
            ClientError::Busy(text) => LinkFailure::Congested(text),
            error => match error.connection().and_then(|facts| facts.reason) {
                Some(FailureReason::InvalidResponse) => LinkFailure::InvalidResponse(error.to_string()),
                _ => LinkFailure::Broken(error.to_string()),
            },
        };
        self.inbox.failed(id, failure);
    }
}

/// Sends a request to a server of the group, and rewrites the result.
async fn forward(
    member: &Arc<GroupMember>,
    id: RequestId,
    method: &str,
    params: &rewriting::ObjectMembers,
    progress: Option<GroupProgress>,
) -> Result<RawJson, ClientError> {
    let _in_flight = member.pauses.enter(id);
    let client = member.client().await?;
    let params = RawJson::from_value(params).map_err(ClientError::unwritable)?;
    let result = client.request(method, Some(&params), &request_options(progress)).await;
    match result {
        Ok(result) => Ok(rewriting::result(method, &member.prefix, result)),
        Err(ClientError::Protocol(error)) => Err(ClientError::Protocol(rewriting::error(&member.prefix, error))),
        Err(error) => Err(error),
    }
}

/// The progress token of a group's request, and the receiver of its progress.
type GroupProgress = (Box<RawValue>, Arc<dyn Inbox>);

/// The options of a request to a server. The group handles its timeouts.
fn request_options(progress: Option<GroupProgress>) -> RequestOptions {
    let mut options = RequestOptions::default().with_timeout(Duration::MAX).with_max_timeout(Duration::MAX);
    options.on_progress = progress.map(|(token, inbox)| -> trunkline_core::client::ProgressHook {
        Arc::new(move |params: &RawJson| {
            let Ok(mut params) = params.parse::<rewriting::ObjectMembers>() else { return };
            params.insert("progressToken".to_owned(), token.clone());
            if let Ok(params) = RawJson::from_value(&params) {
                inbox.message(encode_notification(method::PROGRESS, Some(params.as_bytes())));
            }
        })
    });
    options
}

/// The group's description: a server with every capability.
fn description() -> serde_json::Value {
    json!({
        "protocolVersion": Revision::LATEST_LEGACY.as_str(),
        "serverInfo": Implementation::new("group", env!("CARGO_PKG_VERSION")),
        "capabilities": {
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"listChanged": true, "subscribe": true},
            "completions": {},
            "logging": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        },
    })
}
