//! A proxied remote server.

use super::{
    asking::ProxiedCall,
    caller_connections::CallerConnections,
    callers::{self, Caller},
    failures::{restarted, rpc_error},
    forwarded_requests::{outcome_of, passed_params, state_of_server, with_own_tasks},
    mirroring_tools::MirroringTools,
    parked::ParkedCalls,
    shares::{Shares, pass_progress},
    tool_filter::ToolFilter,
    watching::{MountPoint, WatchedBefore, Watching},
};
use crate::group::PART_TIMEOUT;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use trunkline_core::{
    client::{Client, ClientError, ClientTask, ErrorKind, InputResponses, ProgressHook, RequestOptions},
    extension::{
        Ambient, ConnectionState, ListSet, ListedSchema, Observation, Offers, OtherClient, RemoteDescription,
        RemoteServer, TaskTimes, ToolTasks,
        on_drop::OnDrop,
        race::{all, unless, within},
        requires_extension,
    },
    protocol::{
        Era, RawJson, RevisionFeature, RpcError, SentTrace, extension,
        method::{self, Method},
        model::ClientCapabilities,
    },
    runtime::BoxedTask,
    server::{Call, CallInfo, Handler, Outcome, TaskSupport},
};
use trunkline_proto::engine::OnBehalf;

/// The member of a 2026-07-28 caller's state that holds the id of its parked call.
const PARKED_CALL_MEMBER: &str = "proxied-call";

/// The options of a remote server.
#[derive(Clone)]
pub(super) struct RemoteOptions {
    pub(super) max_connections: usize,
    /// True if all callers share the client's connection.
    pub(super) shared: bool,
    pub(super) transparent: bool,
    /// The tools to offer, if not all.
    pub(super) tools: Option<ToolFilter>,
}

/// A remote server.
pub(super) struct Remote {
    this: Weak<Self>,
    pub(super) client: Client,
    options: RemoteOptions,
    offers: OnceLock<Offers>,
    mirroring_tools: MirroringTools,
    connections: Arc<CallerConnections>,
    parked: Arc<ParkedCalls>,
    shares: Arc<Shares>,
    /// Requests in flight.
    in_flight: AtomicUsize,
    /// True once it does what an open connection allows.
    has_begun: AtomicBool,
    /// True once another server replaces this one.
    is_replaced: AtomicBool,
    /// True if the latest request did not reach the server.
    was_unreachable: AtomicBool,
    _observation: Observation,
    pub(super) watching: Arc<Watching>,
}

impl Remote {
    pub(super) fn new(client: Client, mount_point: MountPoint, options: RemoteOptions) -> Arc<Self> {
        let watching = Watching::new(mount_point.clone());
        let shares = Arc::new(Shares::default());
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            _observation: client.observe(shares.clone()),
            connections: CallerConnections::new(client.clone(), mount_point, options.max_connections),
            parked: ParkedCalls::new(Arc::clone(client.runtime())),
            client,
            options,
            offers: OnceLock::new(),
            mirroring_tools: MirroringTools::default(),
            shares,
            in_flight: AtomicUsize::new(0),
            has_begun: AtomicBool::new(false),
            is_replaced: AtomicBool::new(false),
            was_unreachable: AtomicBool::new(false),
            watching,
        })
    }

    /// Closes all connections, because another server replaces this one: requests in flight fail.
    /// Returns their number, and the resources that clients are subscribed to.
    pub(super) async fn end(&self) -> (usize, Vec<WatchedBefore>) {
        self.is_replaced.store(true, Ordering::Release);
        let (in_flight, watched) = (self.in_flight.load(Ordering::Acquire), self.watching.end());
        let closing: [BoxedTask<Result<(), Infallible>>; 2] = {
            let (client, connections) = (self.client.clone(), Arc::clone(&self.connections));
            [
                Box::pin(async move {
                    client.close().await;
                    Ok(())
                }),
                Box::pin(async move {
                    connections.close_all().await;
                    Ok(())
                }),
            ]
        };
        let Ok(_) = all(closing.into()).await;
        (in_flight, watched)
    }

    /// The error for a caller; see [`rpc_error`].
    fn rpc_error(&self, error: &ClientError, details: bool) -> RpcError {
        match self.was_cut(error) {
            true => restarted(),
            false => rpc_error(self.client.server_label(), error, details),
        }
    }

    /// Returns whether a request failed because another server replaces this one.
    fn was_cut(&self, error: &ClientError) -> bool {
        self.is_replaced.load(Ordering::Acquire) && matches!(error.kind(), ErrorKind::Closed | ErrorKind::Transport)
    }

    /// Opens the connection, if the client leaves that to its first request, which may also be one
    /// of the program.
    pub(super) async fn open(&self) -> Result<(), ClientError> {
        if !self.has_begun.load(Ordering::Acquire) {
            self.client.opened().await?;
            self.begin();
        }
        Ok(())
    }

    /// Watches the lists of the server, and names it in results if the proxy is transparent. Called
    /// once the connection is open.
    pub(super) fn begin(&self) {
        if self.has_begun.swap(true, Ordering::AcqRel) {
            return;
        }
        self.watching.begin(&self.client);
        let info = self.client.server().info.as_ref().filter(|_| self.options.transparent);
        let info = info.and_then(|info| info.parse().ok());
        if let (Some(info), Some(server)) = (info, self.watching.mount_point.server.upgrade()) {
            server.show_as(&info);
        }
    }

    /// Opens the connection for a request. A merged list does not wait for a server that is slow to
    /// start, which continues in the background.
    async fn open_for(&self, info: &CallInfo) -> Result<(), RpcError> {
        let opening = self.open();
        let opened = match Method::list_member(info.method()).filter(|_| !self.options.transparent) {
            Some(_) => within(&**self.client.runtime(), PART_TIMEOUT, opening).await,
            None => Some(opening.await),
        };
        let late = || ClientError::Timeout(format!("the connection was not open within {PART_TIMEOUT:?}"));
        opened.ok_or_else(late).flatten().map_err(|error| self.rpc_error(&error, info.may_see_details()))
    }

    /// Forwards a caller's request and returns its outcome.
    async fn outcome(self: &Arc<Self>, info: &CallInfo, input: &RawJson) -> Result<Outcome, RpcError> {
        let params = passed_params(input)?;
        if let Some(filter) = self.options.tools.as_ref().filter(|_| info.method() == method::TOOLS_CALL) {
            filter.check(&params)?;
        }
        self.open_for(info).await?;
        if info.method() == method::TOOLS_CALL && self.requires_task_of(info, &params).await {
            return Err(RpcError::missing_client_capability(extension::TASKS.required()));
        }
        let takes_input = matches!(info.method(), method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ);
        if takes_input && let Some(kept) = info.memoized(PARKED_CALL_MEMBER) {
            return self.taken_up(info, &kept).await;
        }
        if takes_input && self.client.revision().era() == Era::Modern {
            return self.modern(info, params).await;
        }
        if takes_input && !self.options.shared && !self.client.connector().is_exclusive() {
            let (caller, capabilities) = (Caller::of(info), callers::capabilities(info));
            if caller != Caller::Nobody || capabilities != ClientCapabilities::default() {
                return self.on_own_connection(info, caller, capabilities, params).await;
            }
        }
        let options = options_for(info).with_on_progress(progress_of(info));
        // Callers of an opaque proxy share the lists that the client keeps.
        let seen = (self.options.transparent && self.client.revision().era() == Era::Modern).then(|| seen(info));
        self.shared(info, &params, &options, seen).await
    }

    /// Returns whether a request did not reach the server, although its connection is open: over
    /// HTTP, a connection has no end.
    fn is_unreachable(&self, error: &ClientError) -> bool {
        let is_cut = matches!(error, ClientError::Link(_) | ClientError::NotOpened { .. });
        is_cut && error.kind() == ErrorKind::Transport && !self.client.connector().is_pipe()
    }

    /// Converts the outcome of a request for its caller.
    fn outcome_of(&self, info: &CallInfo, outcome: Result<RawJson, ClientError>) -> Outcome {
        let is_unreachable = outcome.as_ref().is_err_and(|error| self.is_unreachable(error));
        self.was_unreachable.store(is_unreachable, Ordering::Release);
        match outcome {
            Ok(list) if info.method() == method::TOOLS_LIST => {
                self.mirroring_tools.note(&list);
                let (era, has_tasks) = (self.client.revision().era(), self.offers().tasks);
                let list = match self.options.transparent && era == Era::Legacy {
                    true => list,
                    false => with_own_tasks(list, has_tasks.then_some(era)),
                };
                match &self.options.tools {
                    Some(filter) => filter.apply(&list).map_or_else(Outcome::Protocol, Outcome::Result),
                    None => Outcome::Result(list),
                }
            }
            Err(error) if self.was_cut(&error) => Outcome::Protocol(restarted()),
            outcome => outcome_of(self.client.server_label(), outcome, info.may_see_details()),
        }
    }

    /// Sends a request on the shared connection.
    async fn shared(
        &self,
        info: &CallInfo,
        params: &RawJson,
        options: &RequestOptions,
        on_behalf: Option<Arc<OnBehalf>>,
    ) -> Result<Outcome, RpcError> {
        let _permit = self.shares.take(info, &self.client)?;
        let method = info.method();
        let sent = match Method::list_member(method) {
            // The whole list, within bounds: a server whose list does not end, or whose cursors do
            // not work, is missing from merged lists instead of breaking them.
            Some(_) => {
                let list = self.client.list_all_on_behalf(on_behalf, method, Some(params), options);
                let limit = if self.options.transparent { Duration::MAX } else { PART_TIMEOUT };
                let late = || ClientError::Timeout(format!("the list did not arrive within {limit:?}"));
                within(&**self.client.runtime(), limit, list).await.ok_or_else(late).flatten()
            }
            None => self.client.request_on_behalf(on_behalf, method, Some(params), options).await,
        };
        Ok(self.outcome_of(info, sent))
    }

    /// Sends a request to a modern server, which sees the caller's capabilities; its requests for
    /// input go to the caller.
    async fn modern(&self, info: &CallInfo, params: RawJson) -> Result<Outcome, RpcError> {
        let seen = seen(info);
        if info.is_task() || info.may_become_task() {
            return self.as_task(info, params, seen).await;
        }
        let options = with_answers(options_for(info), info).with_on_progress(progress_of(info)).with_manual_input(true);
        match self.shared(info, &params, &options, Some(Arc::clone(&seen))).await? {
            // TKX-05: a caller that knows no tasks waits for the one that the tool requires.
            Outcome::Protocol(error) if requires_extension(&error) && !self.passes_on_refusals(info) => {
                self.as_task(info, params, seen).await
            }
            outcome => Ok(outcome),
        }
    }

    /// TKX-05: returns whether a legacy server requires a task for the call of a caller that cannot
    /// have one. A modern server refuses the call itself.
    async fn requires_task_of(&self, info: &CallInfo, params: &RawJson) -> bool {
        #[derive(Deserialize)]
        struct Called {
            name: String,
        }
        if !self.passes_on_refusals(info) || info.is_task() || self.client.revision().era() == Era::Modern {
            return false;
        }
        match params.parse::<Called>() {
            Ok(Called { name }) => self.client.requested_task_support(&name).await == TaskSupport::Required,
            Err(_) => false,
        }
    }

    /// Returns whether a caller without tasks gets the error of a server that requires them.
    fn passes_on_refusals(&self, info: &CallInfo) -> bool {
        self.options.transparent && info.request_info().revision.supports(RevisionFeature::TasksExtension)
    }

    /// Makes a call on a modern server that may create a task for it. Then the call becomes a task
    /// of this server as well, if its caller supports tasks. The task's requests for input go to
    /// the caller.
    async fn as_task(&self, info: &CallInfo, params: RawJson, seen: Arc<OnBehalf>) -> Result<Outcome, RpcError> {
        let permit = self.shares.take(info, &self.client)?;
        let call = ProxiedCall::new().ok_or_else(RpcError::internal)?;
        // If the server requests input instead of creating a task, that is also for the caller.
        let options = with_answers(options_for(info), info).with_manual_input(true);
        let options = options.with_on_progress(call.progress_for(info));
        let other = OtherClient { seen, ask: call.passing_handler() };
        let (sent, client, ambient) = (Arc::clone(&call), self.client.clone(), Ambient::current());
        let caller = info.clone();
        // In a separate task, because the caller may continue it with another request.
        self.client.runtime().spawn(Box::pin(async move {
            let started = ambient.around(client.start_task_on_behalf(other, params, &options));
            let mut task = match unless(sent.stop.kept(), started).await.unwrap_or(Err(ClientError::Cancelled)) {
                Ok(task) => task,
                Err(error) => return sent.finish(Err(error)),
            };
            if let Some(state) = task.state() {
                let time = |milliseconds: Option<u64>| milliseconds.map(Duration::from_millis);
                let times = TaskTimes { ttl: time(state.ttl_ms), poll_interval: time(state.poll_interval_ms) };
                caller.start_task_for(times);
            }
            // Tasks are counted where they are kept.
            let permit = (!caller.is_task()).then_some(permit);
            let outcome = unless(sent.stop.kept(), followed(&client, &mut task, &caller)).await;
            sent.finish(outcome.unwrap_or(Err(ClientError::Cancelled)));
            drop(permit);
            if let Err(error) = task.cancel().await {
                tracing::debug!(target: "trunkline::server::proxy", %error, "could not cancel a task behind a proxy");
            }
        }));
        self.drive(call, info).await
    }

    /// Sends a request to a legacy server, on the caller's own connection.
    async fn on_own_connection(
        self: &Arc<Self>,
        info: &CallInfo,
        caller: Caller,
        capabilities: ClientCapabilities,
        params: RawJson,
    ) -> Result<Outcome, RpcError> {
        let lease = self.connections.lease(info, caller, capabilities)?;
        let client = lease.client(info.log_level()).await;
        let client = client.map_err(|error| self.rpc_error(&error, info.may_see_details()))?;
        let call = ProxiedCall::new().ok_or_else(RpcError::internal)?;
        let options = options_for(info).with_on_progress(call.progress_for(info));
        let (sent, method) = (Arc::clone(&call), info.method());
        lease.connection.calls.add(&call);
        let ambient = Ambient::current();
        // In a separate task, because the caller may continue it with another request.
        self.client.runtime().spawn(Box::pin(async move {
            let request = ambient.around(client.request(method, Some(&params), &options));
            let outcome = unless(sent.stop.kept(), request).await;
            lease.connection.calls.remove(&sent);
            let is_answered = outcome.as_ref().is_some_and(|outcome| match outcome {
                Ok(_) => true,
                Err(error) => error.rpc().is_some(),
            });
            lease.end(is_answered && !sent.is_asking());
            sent.finish(outcome.unwrap_or(Err(ClientError::Cancelled)));
        }));
        self.drive(call, info).await
    }

    /// Resumes a call with the caller's answers.
    async fn taken_up(&self, info: &CallInfo, kept: &Value) -> Result<Outcome, RpcError> {
        let Some(call) = kept.as_str().and_then(|id| self.parked.take(id)) else {
            let text = "The server behind this one ended the call before it received the responses; call again";
            return Err(RpcError::invalid_request(text));
        };
        self.drive(call, info).await
    }

    /// Serves a call until it has an outcome, or parks it until the caller's next round.
    async fn drive(&self, call: Arc<ProxiedCall>, info: &CallInfo) -> Result<Outcome, RpcError> {
        let driven = Arc::clone(&call);
        let guard = OnDrop::new(move || driven.stop.keep(()));
        Ok(match call.drive(info, &**self.client.runtime()).await {
            Some(outcome) => self.outcome_of(info, outcome),
            None => {
                info.memoize(PARKED_CALL_MEMBER, json!(call.id));
                guard.disarm();
                self.parked.keep(call, info.charged_client(), info.timeout_for(method::ELICITATION_CREATE));
                Outcome::Internal("the caller has to come back with the answers".into())
            }
        })
    }
}

impl Handler for Remote {
    fn call(&self, call: Call) {
        let Some(remote) = self.this.upgrade() else { return };
        let ambient = Ambient::current();
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        let counted = Arc::clone(&remote);
        let counted = OnDrop::new(move || _ = counted.in_flight.fetch_sub(1, Ordering::AcqRel));
        self.client.runtime().spawn(Box::pin(async move {
            let _counted = counted;
            let info = call.info().clone();
            let outcome = unless(info.cancelled(), ambient.around(remote.outcome(&info, call.input()))).await;
            // A cancelled call needs no response.
            if let Some(outcome) = outcome {
                call.complete(outcome.unwrap_or_else(Outcome::Protocol));
            }
        }));
    }
}

impl RemoteServer for Remote {
    fn offers(&self) -> Offers {
        if let Some(offers) = self.offers.get() {
            return *offers;
        }
        let Some(declared) = self.client.server().declared() else {
            // Unknown until it is connected.
            return Offers { lists: ListSet::every(), completions: true, skills: false, tasks: false };
        };
        let list = |has: bool, list: ListSet| if has { list } else { ListSet::NONE };
        // Behind a transparent proxy, the server itself answers what it does not declare.
        let is_asked = |has: bool| has || self.options.transparent;
        let lists = list(is_asked(declared.tools.is_some()), ListSet::TOOLS)
            .with(list(is_asked(declared.resources.is_some()), ListSet::RESOURCES))
            .with(list(is_asked(declared.prompts.is_some()), ListSet::PROMPTS));
        let extends = |id: &str| declared.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(id));
        let declared_for_tools =
            || declared.tasks.as_ref().is_some_and(|tasks| tasks.pointer("/requests/tools/call").is_some());
        let tasks = match self.client.revision().era() {
            Era::Modern => extends(extension::TASKS.id),
            Era::Legacy => declared_for_tools(),
        };
        let skills = extends(extension::SKILLS.id);
        let offers = Offers { lists, completions: is_asked(declared.completions.is_some()), skills, tasks };
        *self.offers.get_or_init(|| offers)
    }

    /// A modern server decides itself which calls become tasks.
    fn tasks_of(&self, tool: &str) -> BoxedTask<ToolTasks> {
        const NONE: ToolTasks = ToolTasks { support: TaskSupport::Forbidden, defers: false };
        let Some(remote) = self.this.upgrade() else { return Box::pin(async { NONE }) };
        let tool = tool.to_owned();
        let is_offered = self.options.tools.as_ref().is_none_or(|filter| filter.offers(&tool));
        Box::pin(async move {
            // The call itself reports why the connection cannot be opened. A modern server may be
            // described later.
            if !is_offered || remote.open().await.is_err() || remote.client.described().await.is_err() {
                return NONE;
            }
            if remote.client.revision().era() == Era::Modern {
                return ToolTasks { support: TaskSupport::Optional, defers: true };
            }
            let support = match remote.client.requested_task_support(&tool).await {
                TaskSupport::Forbidden => TaskSupport::Forbidden,
                // The proxy waits for the task, for a caller that has none.
                _ => TaskSupport::Optional,
            };
            ToolTasks { support, defers: false }
        })
    }

    fn mirrored_of(&self, tool: &str, lists: bool) -> BoxedTask<Option<Arc<ListedSchema>>> {
        let Some(remote) = self.this.upgrade() else { return Box::pin(async { None }) };
        let tool = tool.to_owned();
        Box::pin(async move {
            let tools = &remote.mirroring_tools;
            if lists && !tools.are_known() {
                remote.open().await.ok()?;
                let options = RequestOptions::default();
                let list = remote.client.list_all(method::TOOLS_LIST, None, &options);
                // The call reports why the server cannot be reached.
                tools.note(&within(&**remote.client.runtime(), PART_TIMEOUT, list).await?.ok()?);
            }
            tools.find(&tool)
        })
    }

    /// A caller's own connection shows as well that the server can be reached.
    fn connection_state(&self) -> ConnectionState {
        match self.client.connection_state().max(self.connections.state()) {
            ConnectionState::Connected if self.was_unreachable.load(Ordering::Acquire) => ConnectionState::Down,
            state => state,
        }
    }

    fn is_transparent(&self) -> bool {
        self.options.transparent
    }

    fn describe(&self, details: bool) -> BoxedTask<Result<RemoteDescription, RpcError>> {
        let Some(remote) = self.this.upgrade() else { return Box::pin(async { Err(RpcError::internal()) }) };
        Box::pin(async move {
            let described = async {
                remote.open().await?;
                remote.client.described().await
            };
            let described = described.await.map_err(|error| remote.rpc_error(&error, details))?;
            Ok(RemoteDescription {
                info: described.info.as_ref().and_then(|info| info.parse().ok()),
                capabilities: described.capabilities.parse().unwrap_or_default(),
                instructions: described.instructions.clone(),
            })
        })
    }

    fn watch(&self, uris: Vec<String>, client: Option<Arc<str>>) -> BoxedTask<Result<(), RpcError>> {
        Box::pin(Arc::clone(&self.watching).watch(self.client.clone(), uris, client))
    }
}

/// The caller as a modern server sees it.
fn seen(info: &CallInfo) -> Arc<OnBehalf> {
    let capabilities = RawJson::object(&callers::capabilities(info));
    Arc::new(OnBehalf { capabilities, log_level: info.log_level() })
}

/// The options of a forwarded request. It has the caller's trace context, which may come from a
/// header, and the same cause.
fn options_for(info: &CallInfo) -> RequestOptions {
    let mut context = info.trace_context();
    let is_traced = !context.is_empty();
    // Baggage is for this server only.
    context.baggage = None;
    let trace = is_traced.then(|| Arc::new(SentTrace::new(context)));
    let options = RequestOptions::default().with_trace(trace).with_cause(info.cause().cloned());
    // A task is limited by its time to live.
    if info.is_task() { options.with_timeout(Duration::MAX).with_max_timeout(Duration::MAX) } else { options }
}

/// Passes on progress, if the caller asked for it.
fn progress_of(info: &CallInfo) -> Option<ProgressHook> {
    info.request_info().progress_token.as_ref()?;
    let info = info.clone();
    Some(Arc::new(move |params: &RawJson| pass_progress(&info, params)))
}

/// Adds the caller's answers of this round, which may come before the server has asked, and the
/// server's state.
fn with_answers(options: RequestOptions, info: &CallInfo) -> RequestOptions {
    let answers = info.input_responses().into_iter().chain(info.unasked_responses());
    let answers = answers.filter_map(|(key, answer)| Some((key, RawJson::from_value(&answer).ok()?)));
    let answers: InputResponses = answers.collect();
    options.with_input_responses(match info.state().as_ref().and_then(state_of_server) {
        Some(state) => answers.with_request_state(state),
        None => answers,
    })
}

/// Waits for the outcome of a task, and reports its status messages. Only a caller that has no task
/// itself waits for a limited time.
async fn followed(client: &Client, task: &mut ClientTask, caller: &CallInfo) -> Result<RawJson, ClientError> {
    if !caller.is_task() {
        return task.outcome_within(client.options().max_timeout).await;
    }
    let mut reported = None;
    while let Some(state) = task.next().await {
        let message = state.ok().and_then(|state| state.status_message);
        if let Some(message) = message.filter(|message| reported.as_ref() != Some(message)) {
            caller.set_task_message(&message);
            reported = Some(message);
        }
    }
    task.outcome_within(Duration::MAX).await
}
