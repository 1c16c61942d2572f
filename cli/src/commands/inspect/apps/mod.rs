//! User interfaces of tools (MCP Apps): the page shows each in a frame of another origin.

pub(super) mod host;
mod policy;
mod run;
mod site;

use super::{
    answer::{Answered, written},
    http,
    inspector::Inspector,
    state::{Era, ListName},
};
use crate::failure::{Failure, Problem};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use policy::Policy;
use run::Run;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use trunkline::{
    RequestOptions,
    protocol::{RawJson, app, method},
};

/// Apps that are kept; the page shows one at a time.
const MAX_APPS: usize = 20;

/// The apps that the page has opened and run, and the port of their origin.
#[derive(Default)]
pub(super) struct Apps {
    pub(super) port: u16,
    open: Mutex<VecDeque<App>>,
    runs: Mutex<VecDeque<Arc<Run>>>,
    /// How many of both there have been.
    numbers: AtomicU64,
}

/// An app.
#[derive(Clone)]
struct App {
    number: u64,
    /// The secret part of its address.
    token: String,
    html: Bytes,
    /// The metadata that its policy follows from.
    ui: Value,
    policy: Policy,
    /// The origin of the page.
    page: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "OpenApp"))]
pub(super) struct Wanted {
    era: Era,
    uri: String,
    origin: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "OpenedApp"))]
pub(super) struct Opened<'a> {
    app: u64,
    port: u16,
    token: &'a str,
    bytes: usize,
    #[cfg_attr(test, ts(type = "JsonObject | null"))]
    ui: &'a Value,
    #[serde(flatten)]
    policy: &'a Policy,
}

impl Apps {
    pub(super) fn new(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// The number of the next app or run: unique for all servers of the page.
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<App>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self) -> MutexGuard<'_, VecDeque<Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, run: Arc<Run>) {
        let mut runs = self.runs();
        runs.truncate(MAX_APPS - 1);
        runs.push_front(run);
    }

    fn run(&self, number: u64) -> Result<Arc<Run>, Failure> {
        self.runs().iter().find(|run| run.number == number).cloned().ok_or_else(gone)
    }

    fn ui_of(&self, number: u64) -> Result<Value, Failure> {
        self.open().iter().find(|app| app.number == number).map(|app| app.ui.clone()).ok_or_else(gone)
    }

    fn find(&self, token: &str) -> Option<App> {
        self.open().iter().find(|app| http::is_same(token, &app.token)).cloned()
    }
}

fn gone() -> Failure {
    Failure::usage(format!("The app is no longer kept: the last {MAX_APPS} are"))
}

/// Reads an app from the server, and serves it to the frame of the page.
pub(super) async fn open(inspector: &Inspector, apps: &Apps, Wanted { era, uri, origin }: Wanted) -> Answered {
    check_page(&origin)?;
    let connection = inspector.connection(era)?;
    let params = RawJson::object(&json!({"uri": uri}));
    let options = RequestOptions::default().with_fresh(true);
    let read = connection.client.request(method::RESOURCES_READ, Some(&params), &options).await;
    let result = read.map_err(|error| connection.failure(error, &format!("reading {uri}")))?;
    let (html, said) = interface(&result, &uri)?;
    let ui = said.or_else(|| ui_in(&mut find(inspector, (era, ListName::Resources), "uri", &uri)?)).unwrap_or_default();
    let page_and_frame = format!("{origin} {}", origin_of(&origin, apps.port));
    let app = App {
        number: apps.number(),
        token: super::token()?,
        policy: Policy::of(&ui, &page_and_frame),
        page: origin,
        html,
        ui,
    };
    let Apps { port, .. } = *apps;
    let opened =
        Opened { app: app.number, port, token: &app.token, bytes: app.html.len(), ui: &app.ui, policy: &app.policy };
    let answer = written(&opened);
    let mut open = apps.open();
    open.truncate(MAX_APPS - 1);
    open.push_front(app);
    answer
}

/// The page is at an address of this machine; nothing else can frame its apps.
fn check_page(origin: &str) -> Result<(), Problem> {
    let is_number = |port: &str| port.parse::<u16>().is_ok();
    let rest = origin.strip_prefix("http://").unwrap_or_default();
    let (name, port) = rest.rsplit_once(':').unwrap_or((rest, "80"));
    if http::NAMES.contains(&name) && is_number(port) {
        return Ok(());
    }
    Err((&Failure::usage("The origin of the page does not name this machine")).into())
}

/// The origin of apps, which has the name by which the page was reached.
fn origin_of(page: &str, port: u16) -> String {
    let end = page.rfind(':').filter(|end| *end > "http:".len()).unwrap_or(page.len());
    format!("{}:{port}", &page[..end])
}

/// The HTML of an interface, and its metadata.
fn interface(result: &RawJson, uri: &str) -> Result<(Bytes, Option<Value>), Failure> {
    let wrong = |what: String| {
        let failure = Failure::invalid_response(format!("{uri} is no user interface: {what}"));
        failure.hint(format!("its type must be {}", app::MIME_TYPE))
    };
    let mut result: Value = result.parse().map_err(|error| wrong(error.to_string()))?;
    let mut contents = result["contents"].take();
    let content = contents.get_mut(0).ok_or_else(|| wrong("the result has no content".to_owned()))?;
    if content["mimeType"] != app::MIME_TYPE {
        return Err(wrong(format!("its type is {}", content["mimeType"])));
    }
    let html = match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|error| wrong(error.to_string()))?,
        (None, None) => return Err(wrong("it has neither text nor blob".to_owned())),
    };
    Ok((html.into(), ui_in(content)))
}

/// An item of a list of the server.
fn find(inspector: &Inspector, (era, list): (Era, ListName), member: &str, value: &str) -> Option<Value> {
    let items = inspector.links()[era.index()].lists[list.index()].items.clone()?;
    items.parse::<Vec<Value>>().ok()?.into_iter().find(|item| item[member] == value)
}

/// The metadata of an interface. That of the content replaces that of the list.
fn ui_in(described: &mut Value) -> Option<Value> {
    Some(described.get_mut("_meta")?.get_mut("ui")?.take()).filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_have_the_name_of_the_page_and_another_port() {
        for (page, expected) in [
            ("http://127.0.0.1:80", Some("http://127.0.0.1:9")),
            ("http://localhost:4000", Some("http://localhost:9")),
            ("http://localhost", Some("http://localhost:9")),
            ("http://[::1]:4000", Some("http://[::1]:9")),
            ("https://localhost:1", None),
            ("http://evil.example:1", None),
            ("http://localhost:1; script-src *", None),
            ("http://localhost:", None),
            ("null", None),
            ("", None),
        ] {
            let origin = check_page(page).is_ok().then(|| origin_of(page, 9));
            assert_eq!(origin.as_deref(), expected, "{page}");
        }
    }

    #[test]
    fn an_interface_is_html_of_its_type() {
        let read = |content: Value| interface(&RawJson::object(&json!({"contents": [content]})), "ui://a");
        let html = |content: Value| read(content).map(|(html, ui)| (String::from_utf8(html.into()).unwrap(), ui));
        let kind = app::MIME_TYPE;
        let meta = json!({"ui": {"prefersBorder": true}});
        let (text, ui) = html(json!({"mimeType": kind, "text": "<p>", "_meta": meta})).ok().unwrap();
        assert_eq!((text.as_str(), ui), ("<p>", Some(meta["ui"].clone())));
        assert_eq!(html(json!({"mimeType": kind, "blob": "PHA+"})).ok(), Some(("<p>".to_owned(), None)));
        for wrong in [
            json!({"mimeType": "text/html", "text": "<p>"}),
            json!({"mimeType": kind}),
            json!({"mimeType": kind, "blob": "%"}),
            json!(5),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
