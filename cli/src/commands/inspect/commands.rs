//! The commands of the page. `protocol.rs` lists the types of each, which the page gets in
//! TypeScript.

#[cfg(test)]
mod protocol;

use super::{
    answer::{Answered, Refused, done, written},
    apps::{self, Apps},
    calls::{Asked, Kind},
    hub::text_of,
    inspector::Inspector,
    skills,
    state::{Era, Increment, ListName, ListState, Row},
    wire::about,
};
use crate::{code, failure::Failure, task_state};
use clap::ValueEnum;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Instant};
use trunkline::{
    ClientError, RequestOptions,
    protocol::{
        RawJson, method,
        model::{
            CompleteArgument, CompleteContext, CompletionReference, ElicitAction, LoggingLevel, PromptReference,
            ResourceTemplateReference, Root,
        },
        schema::check_arguments,
        uri_template::{UriTemplate, UriValue},
    },
};

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Tool {
    era: Era,
    name: String,
    #[cfg_attr(test, ts(type = "JsonObject"))]
    arguments: Map<String, Value>,
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    task: bool,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Resource {
    era: Era,
    uri: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Prompt {
    era: Era,
    name: String,
    arguments: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Raw {
    era: Era,
    method: String,
    #[cfg_attr(test, ts(optional, type = "JsonObject"))]
    params: Option<RawJson>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct OneCall {
    call: u64,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct OneExchange {
    exchange: u64,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Preview {
    name: String,
    #[cfg_attr(test, ts(type = "JsonObject"))]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Answer {
    round: u64,
    #[cfg_attr(test, ts(type = "\"accept\" | \"decline\" | \"cancel\""))]
    action: ElicitAction,
    #[cfg_attr(test, ts(optional, type = "JsonObject"))]
    content: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct List {
    era: Era,
    list: ListName,
    /// Ask the server again first.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    refresh: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Listed {
    state: ListState,
    #[cfg_attr(test, ts(type = "JsonObject[]"))]
    items: RawJson,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Complete {
    era: Era,
    #[serde(rename = "ref")]
    of: Reference,
    argument: Argument,
    #[cfg_attr(test, ts(optional))]
    context: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Argument {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Template {
    template: String,
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<BTreeMap<String, String>>", optional))]
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct OneEra {
    era: Era,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Task {
    era: Era,
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<TaskAction>", optional))]
    action: TaskAction,
    #[cfg_attr(test, ts(optional))]
    task: Option<String>,
}

#[derive(Deserialize, Default)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
enum TaskAction {
    #[default]
    Get,
    List,
    Cancel,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Level {
    era: Era,
    /// `debug` … `emergency`.
    level: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Roots {
    #[cfg_attr(test, ts(type = "Root[]"))]
    roots: Vec<Root>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Code {
    era: Era,
    /// One of `snapshot.codeForms`.
    form: String,
    name: String,
    #[cfg_attr(test, ts(type = "JsonObject"))]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(untagged)]
enum Body {
    Row { row: u64 },
    Call { call: u64 },
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct WholeText {
    bytes: usize,
    text: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Rows {
    before: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Fetched<'a> {
    rows: Vec<&'a Row>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Started {
    call: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Checked {
    problem: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
struct Completed {
    values: Vec<String>,
    total: Option<u64>,
    has_more: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Expanded {
    uri: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Variables<'a> {
    names: Vec<&'a str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Pinged {
    ms: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Tasks {
    #[cfg_attr(test, ts(type = "JsonObject[]"))]
    tasks: Vec<RawJson>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Written {
    text: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Export {
    form: Exported,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
enum Exported {
    Jsonl,
    /// The HTTP exchanges only.
    Har,
}

/// A file to save.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Saved {
    name: &'static str,
    text: String,
}

/// Runs a command of the page, and returns its JSON.
pub(super) async fn run(inspector: &Arc<Inspector>, apps: &Arc<Apps>, command: &str, body: &[u8]) -> Answered {
    match command {
        "call" => call(inspector, read(body)?),
        "read" => {
            let Resource { era, uri } = read(body)?;
            start(inspector, (era, method::RESOURCES_READ), Some(uri.clone()), Some(json!({"uri": uri})))
        }
        "prompt" => {
            let Prompt { era, name, arguments } = read(body)?;
            let params = json!({"name": name, "arguments": arguments});
            start(inspector, (era, method::PROMPTS_GET), Some(name), Some(params))
        }
        "send" => {
            let Raw { era, method, params } = read(body)?;
            let revision = inspector.connection(era)?.client.revision();
            let about = params.as_ref().and_then(|params| about(&method, params, true, Some(revision)));
            started(inspector, Asked { era, method, about, params, kind: Kind::Request })
        }
        "cancel" => {
            let OneCall { call } = read(body)?;
            done(inspector.stop(call))
        }
        "check" => check(inspector, read(body)?),
        "preview" => preview(inspector, &read(body)?),
        "answer" => {
            let Answer { round, action, content } = read(body)?;
            done(inspector.answer(round, action, content).await)
        }
        "list" => list(inspector, read(body)?).await,
        "lint" => {
            let OneEra { era } = read(body)?;
            written(&inspector.lint(era).await?)
        }
        "complete" => complete(inspector, read(body)?).await,
        "expand" => {
            let Template { template, values } = read(body)?;
            let values = values.into_iter().map(|(name, value)| (name, UriValue::Text(value))).collect();
            written(&Expanded { uri: parsed(&template)?.expand(&values) })
        }
        "variables" => {
            let Template { template, .. } = read(body)?;
            let template = parsed(&template)?;
            written(&Variables { names: template.variables() })
        }
        "subscribe" => {
            let Resource { era, uri } = read(body)?;
            done(inspector.subscribe(era, uri).await)
        }
        "unsubscribe" => {
            let Resource { era, uri } = read(body)?;
            inspector.unsubscribe(era, &uri);
            done(Ok(()))
        }
        _ => run_more(inspector, apps, command, body).await,
    }
}

/// The commands about the connection, and about what was recorded.
async fn run_more(inspector: &Arc<Inspector>, apps: &Arc<Apps>, command: &str, body: &[u8]) -> Answered {
    match command {
        "ping" => {
            let OneEra { era } = read(body)?;
            let (connection, began) = (inspector.connection(era)?, Instant::now());
            let pong = connection.client.ping().await;
            pong.map_err(|error| connection.failure(error, "pinging"))?;
            written(&Pinged { ms: began.elapsed().as_secs_f64() * 1000.0 })
        }
        "reconnect" => {
            let OneEra { era } = read(body)?;
            inspector.hub.clear_ladder();
            drop(inspector.open(era));
            done(Ok(()))
        }
        "login" => login(inspector, read(body)?).await,
        "repeat" => {
            let OneExchange { exchange } = read(body)?;
            inspector.repeat(exchange).await?;
            done(Ok(()))
        }
        "task" => task(inspector, read(body)?).await,
        "taskResult" => {
            let Task { era, task, .. } = read(body)?;
            let task = task.ok_or_else(no_task)?;
            let (about, kind) = (Some(task.clone()), Kind::TaskResult(task));
            started(inspector, Asked { era, method: method::TASKS_RESULT.to_owned(), about, params: None, kind })
        }
        "logLevel" => {
            let Level { era, level } = read(body)?;
            let level = LoggingLevel::parse(&level).ok_or_else(|| Failure::usage(format!("{level:?} is no level")))?;
            let connection = inspector.connection(era)?;
            let set = connection.client.set_log_level(level).await;
            set.map_err(|error| connection.failure(error, "setting the log level"))?;
            done(Ok(()))
        }
        "roots" => roots(inspector, read(body)?),
        "code" => code(inspector, read(body)?).await,
        "body" => body_of(inspector, &read(body)?),
        "wire" => {
            let Rows { before } = read(body)?;
            let state = inspector.hub.state();
            written(&Fetched { rows: state.wire.last(before).collect() })
        }
        "export" => {
            let Export { form } = read(body)?;
            let state = inspector.hub.state();
            written(&match form {
                Exported::Jsonl => Saved { name: "wire.jsonl", text: state.wire.lines() },
                Exported::Har => Saved { name: "wire.har", text: state.wire.har() },
            })
        }
        _ => run_of_extension(inspector, apps, command, body).await,
    }
}

async fn run_of_extension(inspector: &Arc<Inspector>, apps: &Arc<Apps>, command: &str, body: &[u8]) -> Answered {
    match command {
        "app" => apps::open(inspector, apps, read(body)?).await,
        "appRun" => apps::host::run(inspector, apps, read(body)?),
        "appSaid" => apps::host::said(inspector, apps, read(body)?),
        "appNext" => apps::host::next(apps, read(body)?).await,
        "appLeave" => apps::host::leave(inspector, apps, read(body)?),
        "skillFile" => skills::file(inspector, read(body)?).await,
        _ => Err(Refused::Unknown),
    }
}

/// Forgets the login, and opens the connection again.
async fn login(inspector: &Arc<Inspector>, OneEra { era }: OneEra) -> Answered {
    if let Ok(connection) = inspector.connection(era) {
        let forgotten = connection.client.logout().await;
        forgotten.map_err(|error| connection.failure(error, "logging out"))?;
    }
    inspector.hub.clear_ladder();
    drop(inspector.open(era));
    done(Ok(()))
}

fn call(inspector: &Arc<Inspector>, Tool { era, name, arguments, task }: Tool) -> Answered {
    inspector.hub.state().last_call = Some((era, name.clone(), arguments.clone()));
    let params = json!({"name": name, "arguments": arguments});
    if !task {
        return start(inspector, (era, method::TOOLS_CALL), Some(name), Some(params));
    }
    let (params, about) = (RawJson::from_value(&params).ok(), Some(name.clone()));
    let kind = Kind::AsTask(name, arguments);
    started(inspector, Asked { era, method: method::TOOLS_CALL.to_owned(), about, params, kind })
}

fn start(
    inspector: &Arc<Inspector>,
    (era, method): (Era, &str),
    about: Option<String>,
    params: Option<Value>,
) -> Answered {
    let params = params.and_then(|params| RawJson::from_value(&params).ok());
    started(inspector, Asked { era, method: method.to_owned(), about, params, kind: Kind::Request })
}

fn started(inspector: &Arc<Inspector>, asked: Asked) -> Answered {
    written(&Started { call: inspector.start(asked)? })
}

/// Checks arguments as the library does before a call.
fn check(inspector: &Inspector, Tool { era, name, arguments, .. }: Tool) -> Answered {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Schema {
        name: String,
        input_schema: Value,
    }
    let items = inspector.links()[era.index()].lists[ListName::Tools.index()].items.clone();
    let tools: Vec<RawJson> = items.and_then(|items| items.parse().ok()).unwrap_or_default();
    let schema = tools.iter().filter_map(|tool| tool.parse::<Schema>().ok()).find(|tool| tool.name == name);
    let schema = schema.ok_or_else(|| Failure::usage(format!("The server lists no tool {name:?}")))?;
    let problem = check_arguments(&schema.input_schema, &arguments).err().map(|error| error.to_string());
    written(&Checked { problem })
}

/// The request of a call, as each open connection would send it.
fn preview(inspector: &Inspector, Preview { name, arguments }: &Preview) -> Answered {
    let params = RawJson::object(&json!({"name": name, "arguments": arguments}));
    let mut requests = Map::new();
    for connection in Era::ALL.iter().filter_map(|era| inspector.connection(*era).ok()) {
        let request = connection.client.preview(method::TOOLS_CALL, Some(&params), &RequestOptions::default());
        let request = request.map_err(|error| connection.failure(error, &format!("calling {name}")))?;
        let request = request.parse().map_err(|error| Failure::usage(error.to_string()))?;
        requests.insert(connection.client.revision().as_str().to_owned(), request);
    }
    written(&Written { text: format!("{:#}", Value::Object(requests)) })
}

async fn list(inspector: &Arc<Inspector>, List { era, list, refresh }: List) -> Answered {
    if refresh {
        inspector.fetch(era, list).await?;
    }
    let items = inspector.links()[era.index()].lists[list.index()].items.clone();
    let state = inspector.hub.state().connection(era).lists.of(list).clone();
    written(&Listed { state, items: items.unwrap_or_else(|| RawJson::trusted("[]".into())) })
}

async fn complete(inspector: &Inspector, Complete { era, of, argument, context }: Complete) -> Answered {
    let connection = inspector.connection(era)?;
    let reference = match of {
        Reference::Prompt { name } => CompletionReference::Prompt(PromptReference { name, ..Default::default() }),
        Reference::Resource { uri } => {
            CompletionReference::Resource(ResourceTemplateReference { uri, ..Default::default() })
        }
    };
    let argument = CompleteArgument { name: argument.name, value: argument.value, ..Default::default() };
    let context = context.filter(|others| !others.is_empty());
    let context = context.map(|others| CompleteContext { arguments: Some(others), ..Default::default() });
    let result = connection.client.complete(&reference, &argument, context.as_ref()).await;
    let completion = result.map_err(|error| connection.failure(error, "completing"))?.completion;
    let has_more = completion.has_more.unwrap_or(false);
    written(&Completed { values: completion.values, total: completion.total, has_more })
}

fn parsed(template: &str) -> Result<UriTemplate, Failure> {
    UriTemplate::parse(template).map_err(|error| Failure::usage(error.to_string()))
}

fn no_task() -> Failure {
    Failure::usage("No task is named")
}

async fn task(inspector: &Inspector, Task { era, action, task }: Task) -> Answered {
    let connection = inspector.connection(era)?;
    let client = &connection.client;
    let id = || task.as_deref().ok_or_else(no_task);
    let tasks: Result<Vec<_>, ClientError> = match action {
        TaskAction::List => client.list_tasks().await,
        TaskAction::Get => client.get_task(id()?).await.map(|task| vec![task]),
        TaskAction::Cancel => {
            let id = id()?;
            match client.cancel_task(id).await {
                Ok(()) => client.get_task(id).await.map(|task| vec![task]),
                Err(error) => Err(error),
            }
        }
    };
    let tasks = tasks.map_err(|error| connection.failure(error, "asking for tasks"))?;
    let tasks: Vec<RawJson> = tasks.iter().map(task_state::json).collect();
    written(&Tasks { tasks })
}

/// Changes the roots that servers get.
fn roots(inspector: &Inspector, Roots { roots }: Roots) -> Answered {
    for era in Era::ALL {
        let Ok(connection) = inspector.connection(era) else { continue };
        #[expect(deprecated, reason = "older revisions have it")]
        let changed = connection.client.set_roots(roots.clone());
        changed.map_err(|error| connection.failure(error, "changing the roots"))?;
    }
    let state = &mut *inspector.hub.state();
    state.roots = roots;
    let text = text_of(&Increment::Roots { roots: &state.roots });
    inspector.hub.tell(state, &text);
    done(Ok(()))
}

async fn code(inspector: &Inspector, Code { era, form, name, arguments }: Code) -> Answered {
    let connection = inspector.connection(era)?;
    let wrong = |_| Failure::usage(format!("{form:?} is no form of code"));
    let form = code::Form::from_str(&form, false).map_err(wrong)?;
    let params = RawJson::object(&json!({"name": name, "arguments": arguments}));
    let text = code::of_call(form, (&connection, &inspector.flags), (&name, &arguments), &params).await?;
    written(&Written { text })
}

/// The whole of a message or a result.
fn body_of(inspector: &Inspector, body: &Body) -> Answered {
    let whole = match body {
        Body::Row { row } => inspector.hub.state().wire.whole(*row),
        Body::Call { call } => {
            inspector.hub.state().call(*call).and_then(|kept| Some(kept.whole.as_ref()?.buffer().clone()))
        }
    };
    let whole = whole.ok_or_else(|| {
        Failure::usage("This is no longer kept").hint("the program keeps 64 MB of messages, and the last large results")
    })?;
    written(&WholeText { bytes: whole.len(), text: String::from_utf8_lossy(&whole).into_owned() })
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::usage(format!("This is no command: {error}")))
}
