//! `trunkline login`: logs in at a server, and keeps the tokens for the next commands.

use crate::{
    completion,
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    login::Asked,
    login_flags,
    output::{Output, tell},
    table::one_line,
    target,
};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use trunkline::{auth::AuthExchange, protocol::RawJson};

mod attempt;
mod import;

/// Log in at a server, with the browser, and keep the tokens for the next commands.
#[derive(Args)]
#[command(override_usage = "trunkline login [OPTIONS] <SERVER>")]
pub(crate) struct Login {
    /// The server: a URL, or the name of a configured server.
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(completion::servers), required_unless_present = "import_mcp_remote")]
    server: Option<String>,
    /// Take over the login that mcp-remote has kept; without a server, those of all configured
    /// servers.
    #[arg(long)]
    import_mcp_remote: bool,
    /// Print each step of the login, and the text that it must follow.
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
}

impl Login {
    pub(crate) async fn run(mut self, output: &Output) -> Result<Exit, Failure> {
        let Some(word) = self.server else { return import::all(&self.connection, output).await };
        let server = over_http(word, &self.connection)?;
        if self.import_mcp_remote {
            import::check(&server, &self.connection)?;
            self.connection.login.imports = true;
        }
        if self.connection.auth == Some(login_flags::Login::None) {
            return Err(Failure::usage("--auth none is for connections without a login"));
        }
        if self.trace {
            let quiet = output.json;
            self.connection.login.trace = Some(trunkline::auth::AuthObserver::new(move |step| print(&step, quiet)));
        }
        let login = attempt::log_in(server, &self.connection, Asked::ByLogin).await;
        let (connection, has_token) = login.map_err(|failure| advised(failure, self.connection.login.device_code))?;
        let identity = one_line(&connection.identity());
        if output.json {
            let report = json!({"server": connection.client.server_info(), "loggedIn": has_token});
            output.raw(&RawJson::from_value(&report).unwrap_or_else(|_| RawJson::empty_object()));
        } else if has_token {
            output.line(&format!("logged in at {identity}"));
        } else {
            output.line(&format!("{identity} asks for no login"));
        }
        connection.close().await;
        Ok(Exit::Done)
    }
}

/// A server with a URL: others ask for no login.
pub(super) fn over_http(word: String, flags: &ConnectionFlags) -> Result<target::Server, Failure> {
    let (server, _) = target::find(vec![word], Vec::new(), flags)?;
    match server.transport {
        "http" => Ok(server),
        _ => Err(Failure::usage(format!("{} is a command: only servers with a URL ask for a login", server.label))),
    }
}

/// Not "run `trunkline login`" once more.
fn advised(failure: Failure, by_code: bool) -> Failure {
    match failure.exit {
        Exit::Login if by_code => failure.hint(
            "--trace shows each step; --no-browser --callback-port 8912 prints a page for a browser on another machine, which needs `ssh -L 8912:127.0.0.1:8912 HOST` first",
        ),
        Exit::Login => failure.hint(
            "--trace shows each step, --no-browser prints the page, and --device-code works without a browser here",
        ),
        _ => failure,
    }
}

/// Prints a step to standard error: `401 POST https://… RFC 9728 section 5.1`, and its members.
fn print(step: &AuthExchange, as_json: bool) {
    let AuthExchange { method, url, status, members, clause, .. } = step;
    if as_json {
        let line = json!({"method": method, "url": url, "status": status, "members": members, "clause": clause});
        tell(&line.to_string());
        return;
    }
    let status = status.map_or_else(|| "web".to_owned(), |status| status.to_string());
    tell(&format!("{status} {method} {url}  ({clause})"));
    for member in members {
        tell(&format!("      {member}"));
    }
}
