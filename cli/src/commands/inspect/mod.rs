//! `trunkline inspect`: a page that shows what a server says.

mod apps;
mod asking;
mod calls;
mod commands;
mod http;
mod hub;
mod inspector;
mod lint;
mod lists;
mod once;
mod page;
mod port;
mod repeat;
mod rounds;
mod skills;
mod state;
mod wire;

use crate::{
    code, completion,
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::Output,
    person,
    target::{self, Server},
};
use apps::Apps;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::{Args, builder::FalseyValueParser};
use clap_complete::ArgValueCompleter;
use hub::Hub;
use inspector::Inspector;
use state::{CodeForm, Era, Target};
use std::{io, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use trunkline::{auth::UrlOpener, wire_log};

/// How long the tabs may take to show that the program has ended.
const GOODBYE: Duration = Duration::from_millis(100);

/// See and try a server on a page in the browser.
///
/// The page shows its tools, resources and prompts in every revision that it speaks, calls them,
/// answers its questions, and shows each message on the wire. It listens on this machine only, and
/// only the printed URL opens it.
#[derive(Args)]
#[command(
    override_usage = "trunkline inspect [OPTIONS] [SERVER] [-- COMMAND...]",
    after_help = "\
Examples:
  trunkline inspect -- npx -y @modelcontextprotocol/server-everything
  trunkline inspect https://mcp.example.com/mcp
  trunkline inspect --once weather | jq .connections[].revision"
)]
pub(crate) struct Inspect {
    /// The server, unless a command follows `--`.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers))]
    words: Vec<String>,
    /// The port of the page; by default, a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Open the page in the browser, which is the default in a terminal.
    #[arg(long, conflicts_with = "no_open")]
    open: bool,
    /// Print the URL of the page only.
    #[arg(long, env = "TRUNKLINE_NO_OPEN", hide_env = true, value_parser = FalseyValueParser::new())]
    no_open: bool,
    /// Close the connections this long after the last tab; the next tab opens them again.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = crate::flags::time)]
    linger: Duration,
    /// Print what the page would show as one JSON object, and end.
    #[arg(long, conflicts_with_all = ["open", "port", "linger"])]
    once: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Inspect {
    pub(crate) fn has_page(&self) -> bool {
        !self.once
    }

    pub(crate) async fn run(mut self, output: &Output) -> Result<Exit, Failure> {
        let (words, command) = (std::mem::take(&mut self.words), std::mem::take(&mut self.command));
        let (server, words) = target::find(words, command, &self.connection)?;
        if let Some(word) = words.first() {
            return Err(Failure::usage(format!("{word:?} is one word too many: a page is about one server")));
        }
        let (once, no_open, open) = (self.once, self.no_open, self.open);
        let listening = if once { None } else { Some((port::listen(self.port).await?, port::listen(0).await?)) };
        let again = repeat::of_this_program();
        let target = Target { label: server.label.clone(), transport: server.transport, command: again.clone() };
        let hub = Hub::new(target, code_forms(&server), self.linger);
        let observing = Arc::clone(&hub);
        wire_log::observe(move |observed: wire_log::Observed<'_>| observing.observed(&observed))
            .map_err(|error| Failure::usage(error.to_string()))?;
        let apps = listening.as_ref().map(|(_, (_, port))| Arc::new(Apps::new(*port)));
        let inspector = Inspector::new(hub, server, self.connection, apps);
        let eras = inspector.eras()?;
        let Some(((listener, port), (apps_listener, apps_port))) = listening else {
            return once::run(&inspector, &eras, output).await;
        };
        for era in &eras {
            drop(inspector.open(*era));
        }
        let token = token()?;
        let url = format!("http://127.0.0.1:{port}/#t={token}");
        let site = Arc::new(http::Site { inspector: Arc::clone(&inspector), token });
        let serving = tokio::spawn(http::serve(listener, site));
        let serving_apps = tokio::spawn(http::serve(apps_listener, Arc::clone(&inspector.apps)));
        let lingering = tokio::spawn(linger(Arc::clone(&inspector), self.linger));
        // From here on, Ctrl-C ends the program in its own way.
        let interrupt = tokio::spawn(tokio::signal::ctrl_c());
        tokio::task::yield_now().await;
        output.line(&url);
        let forward = repeat::forward(&[port, apps_port]);
        if let Some(forward) = &forward {
            output.note(&format!("on your machine, run `{forward}`, and open this URL there"));
        }
        let opens = open || (!no_open && forward.is_none() && person::is_present());
        shown(opens.then_some(url), interrupt, output).await?;
        let command = repeat::of_last_call(&inspector).unwrap_or(again);
        inspector.hub.end(&command);
        tokio::time::sleep(GOODBYE).await;
        serving.abort();
        serving_apps.abort();
        lingering.abort();
        let ended = Failure::unreachable("The program has ended");
        tokio::join!(inspector.close(Era::Legacy, &ended), inspector.close(Era::Modern, &ended));
        output.line(&command);
        Ok(Exit::Done)
    }
}

/// Opens the page, and waits for Ctrl-C. Some programs run as long as the browser that they open.
async fn shown(url: Option<String>, interrupt: JoinHandle<io::Result<()>>, output: &Output) -> Result<(), Failure> {
    let opening = async {
        if let Some(url) = url
            && let Err(error) = UrlOpener::browser().open(url).await
        {
            // The person has the URL.
            output.note(&error.to_string());
        }
        std::future::pending::<()>().await;
    };
    let interrupted = tokio::select! {
        interrupted = interrupt => interrupted.map_err(io::Error::other).and_then(|interrupted| interrupted),
        () = opening => Ok(()),
    };
    interrupted.map_err(|error| Failure::unreachable(format!("Ctrl-C cannot be received: {error}")))
}

/// A secret for a URL.
fn token() -> Result<String, Failure> {
    let mut random = [0; 24];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::unreachable(format!("the system has no randomness: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// The forms in which the page shows a call as code.
fn code_forms(server: &Server) -> Vec<CodeForm> {
    let is_possible = |form: &&code::Form| **form != code::Form::Curl || server.transport == "http";
    let named = |form: &code::Form| CodeForm { form: form.name(), label: form.label() };
    code::Form::all().iter().filter(is_possible).map(named).collect()
}

/// Closes the connections a while after the last tab, and opens them again for the next one.
async fn linger(inspector: Arc<Inspector>, pause: Duration) {
    let mut tabs = inspector.hub.tabs.subscribe();
    let gone = Failure::new(Exit::Unreachable, "closed", "The connection was closed, because no page was open");
    loop {
        if tabs.wait_for(|tabs| *tabs > 0).await.is_err() || tabs.wait_for(|tabs| *tabs == 0).await.is_err() {
            return;
        }
        if tokio::time::timeout(pause, tabs.wait_for(|tabs| *tabs > 0)).await.is_ok() {
            continue;
        }
        let used = inspector.used();
        for era in &used {
            inspector.close(*era, &gone).await;
        }
        if tabs.wait_for(|tabs| *tabs > 0).await.is_err() {
            return;
        }
        for era in used {
            drop(inspector.open(era));
        }
    }
}
