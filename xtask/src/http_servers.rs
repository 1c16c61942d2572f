//! HTTP server processes: each is started once and serves all clients.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::Process;

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A port for a process that is yet to listen: the system chooses none of these for another one
/// meanwhile.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = 20_000 + (RandomState::new().hash_one(0) % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The running servers. They are stopped by `stop`, or on drop.
pub(crate) struct HttpServers(Vec<(String, Process)>);

/// The URL of each server, or why it failed to start.
pub(crate) struct Urls(Vec<(String, Result<String, String>)>);

/// Starts servers concurrently. They print `listening URL` when they are ready; `trunkline bridge`
/// prints its URL to stderr.
pub(crate) fn start(commands: impl IntoIterator<Item = (String, Command)>) -> (HttpServers, Urls) {
    let started: Vec<_> = commands.into_iter().map(|(name, command)| (name, Process::start(command))).collect();
    let until = Instant::now() + START_TIMEOUT;
    let (mut servers, mut urls) = (HttpServers(Vec::new()), Urls(Vec::new()));
    for (name, process) in started {
        let url = process.map_err(|error| format!("{error:#}")).and_then(|mut process| {
            let url = wait_for_url(&mut process, until);
            servers.0.push((name.clone(), process));
            url
        });
        urls.0.push((name, url));
    }
    (servers, urls)
}

fn wait_for_url(process: &mut Process, until: Instant) -> Result<String, String> {
    while let Some(line) = process.next_line(until) {
        if let Some(url) = url_in(&line) {
            return Ok(url.to_owned());
        }
    }
    let ended = process.wait(Instant::now());
    let (name, last_words) = (process.name().to_owned(), process.last_words());
    Err(match ended {
        Some(status) => {
            format!("the server {name} ended with {status} before it listened\n{last_words}")
        }
        None => format!(
            "the server {name} did not print `listening URL` within {} s\n{last_words}",
            START_TIMEOUT.as_secs()
        ),
    })
}

fn url_in(line: &str) -> Option<&str> {
    let of_bridge = || line.strip_prefix("bridge: ")?.split_once(" on ")?.1.split_whitespace().next();
    let url = line.strip_prefix("listening ").map(str::trim).or_else(of_bridge)?;
    url.starts_with("http").then_some(url)
}

impl HttpServers {
    /// Stops the servers whose names `must_obey` accepts gracefully, and kills the others. The
    /// error names those that did not stop.
    pub(crate) fn stop(self, must_obey: impl Fn(&str) -> bool) -> Result<(), String> {
        let asked = self.0.into_iter().filter(|(name, _)| must_obey(name));
        let stubborn: Vec<String> = asked.filter_map(|(_, process)| process.stop().err()).collect();
        if stubborn.is_empty() { Ok(()) } else { Err(stubborn.join("\n")) }
    }
}

impl Urls {
    pub(crate) fn of(&self, name: &str) -> Result<&str, String> {
        match self.0.iter().find(|(started, _)| started == name) {
            Some((_, Ok(url))) => Ok(url),
            Some((_, Err(error))) => Err(error.clone()),
            None => Err(format!("the server {name} was not started")),
        }
    }
}
