//! The host of an app: answers it, asks the person for what it wants, and keeps every message for
//! the wire.

use super::{
    Apps, find,
    run::{Life, Run, Shown, State, Wish},
};
use crate::commands::inspect::{
    answer::{Answered, done, written},
    calls::{Asked, Kind},
    inspector::Inspector,
    state::{CallState, Era, ListName, MAX_PART},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;
use trunkline::{
    RpcError,
    protocol::{
        RawJson, RequestId, app,
        envelope::{Frame, FrameBounds, Message, encode_error, encode_notification, encode_request, encode_result},
        error::code,
        method,
    },
};

/// How long an app may take to begin.
const SILENT_AFTER: Duration = Duration::from_secs(5);
/// How long an app may take to end itself.
const TEARDOWN: Duration = Duration::from_millis(500);
/// How long the page waits for news of an app.
const NEXT_WITHIN: Duration = Duration::from_secs(20);
/// Requests that may wait for the person.
const MAX_ASKED: usize = 20;
/// Calls that an app can make before the oldest ones are forgotten.
const MAX_CALLS: usize = 50;
/// Heights of the frame, in pixels.
const HEIGHTS: (f64, f64, f64) = (60.0, 240.0, 900.0);
/// The code of a request that the host or the person refuses.
const REFUSED: i64 = -1;

/// Requests that are for the server; all others are for the host.
const OF_SERVER: [&str; 7] = [
    method::TOOLS_CALL,
    method::TOOLS_LIST,
    method::RESOURCES_READ,
    method::RESOURCES_LIST,
    method::RESOURCES_TEMPLATES_LIST,
    method::PROMPTS_GET,
    method::PROMPTS_LIST,
];

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "RunApp"))]
pub(in crate::commands::inspect) struct Wanted {
    era: Era,
    app: u64,
    tool: String,
    #[cfg_attr(test, ts(type = "JsonObject"))]
    arguments: Map<String, Value>,
    /// The theme and the language of the page.
    #[cfg_attr(test, ts(type = "JsonObject"))]
    context: Map<String, Value>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppSaid"))]
pub(in crate::commands::inspect) struct Said {
    run: u64,
    text: String,
    /// The frame has removed the app, for this reason.
    #[serde(default)]
    stopped: bool,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppSeen"))]
pub(in crate::commands::inspect) struct Next {
    run: u64,
    seen: u64,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppLeave"))]
pub(in crate::commands::inspect) struct Leave {
    run: u64,
    #[cfg_attr(test, ts(optional))]
    number: Option<u64>,
    action: Action,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppAction"))]
#[serde(rename_all = "lowercase")]
enum Action {
    Allow,
    /// And all later ones of the app for the server.
    Always,
    Refuse,
    /// End the app.
    Close,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "BegunRun"))]
pub(in crate::commands::inspect) struct Begun {
    run: u64,
}

/// Calls the tool of an app, for the app to show.
pub(in crate::commands::inspect) fn run(inspector: &Arc<Inspector>, apps: &Apps, wanted: Wanted) -> Answered {
    let Wanted { era, app, tool, arguments, context } = wanted;
    let ui = apps.ui_of(app)?;
    let params = RawJson::from_value(&json!({"name": tool, "arguments": arguments})).ok();
    let call = inspector.start(Asked {
        era,
        method: method::TOOLS_CALL.to_owned(),
        about: Some(tool.clone()),
        params,
        kind: Kind::Request,
    })?;
    inspector.hub.state().last_call = Some((era, tool.clone(), arguments.clone()));
    let number = apps.number();
    let shown = Shown { state: Life::Loading, why: None, height: HEIGHTS.1, asked: Vec::new(), calls: vec![call] };
    let run = Arc::new(Run {
        number,
        era,
        arguments,
        welcome: welcome(&ui, find(inspector, (era, ListName::Tools), "name", &tool), context),
        state: Mutex::new(State { shown, outgoing: Vec::new(), version: 1, is_trusted: false }),
        changed: Notify::new(),
    });
    apps.begin(Arc::clone(&run));
    tokio::spawn(async move {
        tokio::time::sleep(SILENT_AFTER).await;
        run.change(|shown| {
            if shown.state == Life::Loading {
                shown.state = Life::Silent;
            }
        });
    });
    written(&Begun { run: number })
}

/// The answer to `ui/initialize`, except for its revision.
fn welcome(ui: &Value, tool: Option<Value>, mut context: Map<String, Value>) -> Map<String, Value> {
    let more = json!({
        "toolInfo": {"tool": tool},
        "displayMode": "inline",
        "availableDisplayModes": ["inline"],
        "containerDimensions": {"maxHeight": HEIGHTS.2},
        "platform": "web",
    });
    context.extend(more.as_object().cloned().unwrap_or_default());
    let welcome = json!({
        "hostInfo": {"name": "trunkline inspect", "version": env!("CARGO_PKG_VERSION")},
        "hostCapabilities": {
            "openLinks": {},
            "serverTools": {},
            "serverResources": {},
            "logging": {},
            "message": {"text": {}},
            "updateModelContext": {"text": {}, "structuredContent": {}},
            "sandbox": {
                "csp": ui.get("csp").filter(|csp| csp.is_object()).unwrap_or(&json!({})),
                "permissions": ui.get("permissions").filter(|all| all.is_object()).unwrap_or(&json!({})),
            },
        },
        "hostContext": context,
    });
    welcome.as_object().cloned().unwrap_or_default()
}

/// Takes a message of an app, or that the frame has removed it.
pub(in crate::commands::inspect) fn said(
    inspector: &Arc<Inspector>,
    apps: &Apps,
    Said { run, text, stopped }: Said,
) -> Answered {
    let run = apps.run(run)?;
    if stopped {
        run.change(|shown| (shown.state, shown.why) = (Life::Closed, Some(text)));
        return done(Ok(()));
    }
    inspector.hub.app_message((run.era, run.number), true, text.clone());
    match Frame::parse(&Bytes::from(text), FrameBounds::NONE).messages().first() {
        Some(Ok(Message::Request(request))) => {
            let number = inspector.hub.state().number();
            let (id, params) = (request.id.clone(), request.params.clone());
            run.answer(inspector, Wish { number, id, method: request.method.to_string(), params });
        }
        Some(Ok(Message::Notification(told))) => run.hear(inspector, &told.method, told.params.as_ref()),
        // The app has answered the only request of this host.
        Some(Ok(Message::Response(_))) => run.change(|shown| shown.state = Life::Closed),
        _ => {}
    }
    done(Ok(()))
}

/// The news of an app.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AppNews"))]
pub(in crate::commands::inspect) struct News<'a> {
    messages: Vec<String>,
    version: u64,
    shown: &'a Shown,
}

/// Waits for messages to the app, or for a change of what the page shows.
pub(in crate::commands::inspect) async fn next(apps: &Apps, Next { run, seen }: Next) -> Answered {
    let run = apps.run(run)?;
    let news = async {
        loop {
            let changed = run.changed.notified();
            if run.state().version > seen {
                return;
            }
            changed.await;
        }
    };
    // Without news, the page asks again.
    let _ = tokio::time::timeout(NEXT_WITHIN, news).await;
    let state = &mut *run.state();
    let messages = mem::take(&mut state.outgoing);
    written(&News { messages, version: state.version, shown: &state.shown })
}

/// The person allows or refuses a request, or closes the app.
pub(in crate::commands::inspect) fn leave(
    inspector: &Arc<Inspector>,
    apps: &Apps,
    Leave { run, number, action }: Leave,
) -> Answered {
    let run = apps.run(run)?;
    if action == Action::Close {
        run.close(inspector);
        return done(Ok(()));
    }
    let decided: Vec<Wish> = {
        let state = &mut *run.state();
        state.is_trusted |= action == Action::Always;
        let is_meant = |wish: &Wish| {
            Some(wish.number) == number || (action == Action::Always && OF_SERVER.contains(&&*wish.method))
        };
        state.shown.asked.extract_if(.., |wish| is_meant(wish)).collect()
    };
    run.change(|_| ());
    for wish in decided {
        match action {
            Action::Refuse => run.fail(inspector, &wish.id, RpcError::new(REFUSED, "The person refused it")),
            _ => run.pass(inspector, wish),
        }
    }
    done(Ok(()))
}

impl Run {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the page shows, until the app is closed.
    fn change(&self, change: impl FnOnce(&mut Shown)) {
        let state = &mut *self.state();
        if state.shown.state != Life::Closed {
            change(&mut state.shown);
        }
        state.version += 1;
        self.changed.notify_one();
    }

    fn send(&self, inspector: &Inspector, message: &Bytes) {
        let text = String::from_utf8_lossy(message).into_owned();
        inspector.hub.app_message((self.era, self.number), false, text.clone());
        let state = &mut *self.state();
        state.outgoing.push(text);
        state.version += 1;
        self.changed.notify_one();
    }

    fn reply(&self, inspector: &Inspector, id: &RequestId, result: &Value) {
        self.send(inspector, &encode_result(id, RawJson::object(result).as_bytes()));
    }

    fn fail(&self, inspector: &Inspector, id: &RequestId, error: RpcError) {
        self.send(inspector, &encode_error(Some(id), &error));
    }

    fn tell(&self, inspector: &Inspector, method: &str, params: &RawJson) {
        self.send(inspector, &encode_notification(method, Some(params.as_bytes())));
    }

    fn answer(self: &Arc<Self>, inspector: &Arc<Inspector>, wish: Wish) {
        let Wish { id, method, params, .. } = &wish;
        let member = |name: &str| params.as_ref()?.parse::<Value>().ok()?.get(name)?.as_str().map(str::to_owned);
        match &**method {
            app::INITIALIZE => {
                self.change(|shown| shown.state = Life::Initializing);
                let mut welcome = self.welcome.clone();
                let version = member("protocolVersion").unwrap_or_else(|| app::REVISION.to_owned());
                welcome.insert("protocolVersion".to_owned(), version.into());
                self.reply(inspector, id, &welcome.into());
            }
            app::REQUEST_DISPLAY_MODE => self.reply(inspector, id, &json!({"mode": "inline"})),
            method::PING | app::MESSAGE | app::UPDATE_MODEL_CONTEXT => self.reply(inspector, id, &json!({})),
            of_server if OF_SERVER.contains(&of_server) => {
                let tool = member("name").filter(|_| of_server == method::TOOLS_CALL);
                let tool = tool.and_then(|tool| find(inspector, (self.era, ListName::Tools), "name", &tool));
                match tool.is_none_or(|tool| is_for_apps(&tool)) {
                    true if self.state().is_trusted => self.pass(inspector, wish),
                    true => self.ask(inspector, wish),
                    false => {
                        let text = "The tool is not for apps: its _meta.ui.visibility has no \"app\"";
                        self.fail(inspector, id, RpcError::new(REFUSED, text));
                    }
                }
            }
            app::OPEN_LINK => self.ask(inspector, wish),
            unknown => {
                let text = format!("This host does not know {unknown}");
                self.fail(inspector, id, RpcError::new(code::METHOD_NOT_FOUND, text));
            }
        }
    }

    fn ask(&self, inspector: &Inspector, wish: Wish) {
        let waiting = self.state().shown.asked.len();
        let is_large = wish.params.as_ref().is_some_and(|params| params.as_bytes().len() > MAX_PART);
        if waiting < MAX_ASKED && !is_large {
            return self.change(|shown| shown.asked.push(wish));
        }
        let text = match is_large {
            true => format!("A request of more than {MAX_PART} bytes is not shown to the person"),
            false => format!("{waiting} requests are waiting for the person already"),
        };
        self.fail(inspector, &wish.id, RpcError::new(REFUSED, text));
    }

    fn hear(self: &Arc<Self>, inspector: &Arc<Inspector>, method: &str, params: Option<&RawJson>) {
        let params: Value = params.and_then(|params| params.parse().ok()).unwrap_or_default();
        match method {
            app::INITIALIZED if self.state().shown.state != Life::Ready => {
                self.change(|shown| shown.state = Life::Ready);
                let (run, inspector) = (Arc::clone(self), Arc::clone(inspector));
                tokio::spawn(async move { run.show_call(&inspector).await });
            }
            app::SIZE_CHANGED => {
                if let Some(height) = params["height"].as_f64() {
                    self.change(|shown| shown.height = height.ceil().clamp(HEIGHTS.0, HEIGHTS.2));
                }
            }
            app::REQUEST_TEARDOWN => self.close(inspector),
            _ => {}
        }
    }

    /// Shows the call in the app.
    async fn show_call(&self, inspector: &Inspector) {
        let call = self.state().shown.calls[0];
        self.tell(inspector, app::TOOL_INPUT, &RawJson::object(&json!({"arguments": self.arguments})));
        match outcome(inspector, call).await {
            Ok(result) => self.tell(inspector, app::TOOL_RESULT, &result),
            Err(error) => {
                let reason = RawJson::object(&json!({"reason": error.message}));
                self.tell(inspector, app::TOOL_CANCELLED, &reason);
            }
        }
    }

    /// Does what the person has allowed. The page itself opens links.
    fn pass(self: &Arc<Self>, inspector: &Arc<Inspector>, Wish { id, method, params, .. }: Wish) {
        if method == app::OPEN_LINK {
            return self.reply(inspector, &id, &json!({}));
        }
        let about =
            params.as_ref().and_then(|params| params.parse::<Value>().ok()?["name"].as_str().map(str::to_owned));
        let started = inspector.start(Asked { era: self.era, method, about, params, kind: Kind::Request });
        let call = match started {
            Ok(call) => call,
            Err(problem) => return self.fail(inspector, &id, problem.to_rpc(REFUSED)),
        };
        self.change(|shown| {
            shown.calls.push(call);
            if shown.calls.len() > MAX_CALLS {
                // The app shows the first one.
                shown.calls.remove(1);
            }
        });
        let (run, inspector) = (Arc::clone(self), Arc::clone(inspector));
        tokio::spawn(async move {
            match outcome(&inspector, call).await {
                Ok(result) => run.send(&inspector, &encode_result(&id, result.as_bytes())),
                Err(error) => run.fail(&inspector, &id, error),
            }
        });
    }

    /// Lets the app end itself first.
    fn close(self: &Arc<Self>, inspector: &Inspector) {
        let params = RawJson::object(&json!({"reason": "It was closed"}));
        let id = RequestId::from(&*format!("teardown-{}", self.number));
        self.send(inspector, &encode_request(&id, app::RESOURCE_TEARDOWN, Some(params.as_bytes())));
        let run = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(TEARDOWN).await;
            run.change(|shown| shown.state = Life::Closed);
        });
    }
}

/// Waits for the result of a call.
async fn outcome(inspector: &Inspector, call: u64) -> Result<RawJson, RpcError> {
    let is_running = |state: CallState| state == CallState::Running;
    inspector.hub.until(|state| state.call(call).is_none_or(|kept| !is_running(kept.call.state))).await;
    let state = &mut *inspector.hub.state();
    let Some(kept) = state.call(call) else { return Err(RpcError::internal()) };
    match (kept.result(), &kept.call.problem) {
        (Some(result), _) => Ok(result),
        (None, Some(problem)) => Err(problem.to_rpc(REFUSED)),
        (None, None) => Err(RpcError::new(REFUSED, "The person cancelled the call")),
    }
}

/// Returns whether apps may call a tool.
fn is_for_apps(tool: &Value) -> bool {
    tool["_meta"]["ui"]["visibility"].as_array().is_none_or(|all| all.iter().any(|one| one == "app"))
}
