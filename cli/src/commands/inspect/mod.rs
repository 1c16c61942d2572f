//! `trunkline inspect`: a page that shows what a server says.

mod answer;
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
mod servers;
mod site;
mod skills;
mod state;
mod wire;

use crate::{completion, exit::Exit, failure::Failure, flags::ConnectionFlags, output::Output, person};
use apps::Apps;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::{Args, builder::FalseyValueParser};
use clap_complete::ArgValueCompleter;
use inspector::Inspector;
use std::{io, path::PathBuf, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use trunkline::auth::UrlOpener;

/// How long the tabs may take to show that the program has ended.
const GOODBYE: Duration = Duration::from_millis(100);

/// See and try a server on a page in the browser.
///
/// The page shows its tools, resources and prompts in every revision that it speaks, calls them,
/// answers its questions, and shows each message on the wire. It listens on this machine only, and
/// only the printed URL opens it.
#[derive(Args)]
#[command(
    override_usage = "trunkline inspect [OPTIONS] [SERVER]... [-- COMMAND...]",
    after_help = "\
Examples:
  trunkline inspect -- npx -y @modelcontextprotocol/server-everything
  trunkline inspect https://mcp.example.com/mcp
  trunkline inspect --config mcp.json
  trunkline inspect --once weather | jq .connections[].revision"
)]
pub(crate) struct Inspect {
    /// The servers, unless a command follows `--`; of several, the page has a menu.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers))]
    words: Vec<String>,
    /// Add all servers of a configuration file, such as mcp.json.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
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
        let servers = servers::named(words, command, self.config.as_deref(), &mut self.connection)?;
        let (once, no_open, open) = (self.once, self.no_open, self.open);
        let listening = if once { None } else { Some((port::listen(self.port).await?, port::listen(0).await?)) };
        let again = repeat::of_this_program();
        let inspectors = servers::inspectors(servers, &self.connection, (self.linger, !once), &again)?;
        let Some(((listener, port), (apps_listener, apps_port))) = listening else {
            let [(_, inspector)] = &inspectors[..] else {
                return Err(Failure::usage("--once is about one server").hint("run it for each of them"));
            };
            return once::run(inspector, &inspector.eras()?, output).await;
        };
        for (_, inspector) in &inspectors {
            for era in inspector.eras()? {
                drop(inspector.open(era));
            }
        }
        let (apps, token) = (Arc::new(Apps::new(apps_port)), token()?);
        let url = format!("http://127.0.0.1:{port}/#t={token}");
        let site = Arc::new(site::Site { inspectors: inspectors.clone(), apps: Arc::clone(&apps), token });
        let serving = tokio::spawn(http::serve(listener, site));
        let serving_apps = tokio::spawn(http::serve(apps_listener, apps));
        let linger = |(_, inspector): &(_, Arc<Inspector>)| tokio::spawn(linger(Arc::clone(inspector), self.linger));
        let lingering: Vec<_> = inspectors.iter().map(linger).collect();
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
        let command = inspectors.iter().find_map(|(_, inspector)| repeat::of_last_call(inspector)).unwrap_or(again);
        inspectors.iter().for_each(|(_, inspector)| inspector.hub.end(&command));
        tokio::time::sleep(GOODBYE).await;
        serving.abort();
        serving_apps.abort();
        lingering.iter().for_each(JoinHandle::abort);
        servers::close(inspectors).await;
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

/// Closes the connections a while after the last tab, and opens them again for the next one.
async fn linger(inspector: Arc<Inspector>, pause: Duration) {
    let mut tabs = inspector.hub.shared.tabs.subscribe();
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
