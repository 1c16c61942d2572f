//! Checks the files in `examples/deployment`, and runs what they run, without a container: the
//! server, its health check, and its end by SIGTERM. Linters of container files do not start
//! servers, and containers are not built here.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::build::python;
use crate::http_servers;
use crate::language::Language;
use crate::pages;
use crate::process::{Process, must, run};
use crate::test::{Count, Selection, programs};
use crate::workspace::Workspace;

const FOLDER: &str = "examples/deployment";
const START_TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(30);
/// The port of the container files.
const PORT: &str = "8000";
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let mut note = |name: &str, outcome: Result<()>| count.add(outcome.err().map(|error| format!("{name}: {error:#}")));
    note("the files next to the container files", of_orchestrators(workspace));
    for &language in &selection.languages {
        let name = format!("{FOLDER}/{}.Dockerfile", language.name);
        let outcome = workspace.text(&name).and_then(|text| ContainerFile::parse(&text)).and_then(|file| {
            file.check(language)?;
            // Other systems have no signals.
            if cfg!(unix) { runs(workspace, language, &file) } else { Ok(()) }
        });
        note(&name, outcome);
    }
    Ok(count)
}

/// The instructions of a container file, in order.
struct ContainerFile(Vec<(String, String)>);

impl ContainerFile {
    fn parse(text: &str) -> Result<Self> {
        let text: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let joined = text.replace("\\\n", " ");
        let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty());
        let instruction = |line: &str| {
            let (name, rest) = line.split_once(' ').with_context(|| format!("{line:?} is not an instruction"))?;
            Ok((name.to_owned(), rest.trim().to_owned()))
        };
        lines.map(instruction).collect::<Result<_>>().map(Self)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, rest)| rest.as_str())
    }

    /// The only instruction with that name in the final stage.
    fn shipped(&self, name: &str) -> Result<&str> {
        let last = self.0.iter().rposition(|(known, _)| known == "FROM").context("there is no FROM")?;
        let mut found = self.0[last..].iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, rest)), None) => Ok(rest),
            _ => bail!("the last stage has {name} more than once, or not at all"),
        }
    }

    /// A command as a list, which needs no shell that would intercept signals.
    fn command(&self, name: &str) -> Result<Vec<String>> {
        let rest = self.shipped(name)?;
        let list = &rest[rest.find('[').with_context(|| format!("{name} is not a list"))?..];
        serde_json::from_str(list).with_context(|| format!("{name} is not a list of texts: {list}"))
    }

    fn check(&self, language: Language) -> Result<()> {
        for image in self.all("FROM") {
            let image = image.split(' ').next().unwrap_or(image);
            match image.split_once(':') {
                Some((_, tag)) if tag != "latest" && (tag.contains("slim") || tag.contains("alpine")) => {}
                _ => bail!("the image {image} has no tag of a slim one"),
            }
        }
        let user = self.shipped("USER")?;
        if ["root", "0"].contains(&user) {
            bail!("the server runs as {user}");
        }
        if self.shipped("EXPOSE")? != PORT {
            bail!("the port is not {PORT}");
        }
        let command = self.command("CMD")?;
        let expected = language.container_command;
        if command != expected {
            bail!("CMD is {command:?} instead of {expected:?}");
        }
        Ok(())
    }
}

/// Runs the server with its health check, and stops it as an orchestrator does.
fn runs(workspace: &Workspace, language: Language, file: &ContainerFile) -> Result<()> {
    let port = http_servers::free_port();
    let source = format!("{}/deployed_server.{}", programs::FOLDER, language.snippet_ending);
    let mut command = (language.start)(workspace, &workspace.path(&source))?;
    command.env("PORT", port.to_string()).env("STORE", "memory:");
    let check = file.command("HEALTHCHECK")?;
    let check: Vec<String> = check.into_iter().map(|word| word.replace(PORT, &port.to_string())).collect();
    let is_healthy = || Ok::<_, anyhow::Error>(run(health_check(workspace, &check)?, TIMEOUT)?.success());
    if is_healthy()? {
        bail!("the health check passes before the server is there");
    }
    let mut server = Process::start(command)?;
    let until = Instant::now() + START_TIMEOUT;
    while !is_healthy()? {
        if let Some(status) = server.wait(Instant::now()) {
            bail!("the server ended with {status}\n{}", server.last_words());
        }
        if Instant::now() > until {
            bail!("the server is not healthy\n{}", server.last_words());
        }
    }
    for path in PROBES {
        let status = status_of(port, path)?;
        if status != 200 {
            bail!("{path} is answered with {status}");
        }
    }
    let status = server.stop().map_err(anyhow::Error::msg)?;
    if !status.success() {
        bail!("SIGTERM ends the server with {status}");
    }
    Ok(())
}

fn health_check(workspace: &Workspace, words: &[String]) -> Result<Command> {
    let (program, rest) = words.split_first().context("the health check is empty")?;
    let mut command = match program.as_str() {
        "python" => workspace.command(workspace.venv_program(python::VENV, "python")),
        "node" | "ruby" | "bash" => workspace.command(program),
        _ => bail!("slim images have no {program}"),
    };
    command.args(rest);
    Ok(command)
}

fn status_of(port: u16, path: &str) -> Result<u16> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    write!(socket, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut response = String::new();
    socket.read_to_string(&mut response)?;
    let status = response.split(' ').nth(1).with_context(|| format!("{path} is answered with {response:?}"))?;
    Ok(status.parse()?)
}

/// Checks that the files for Compose, Caddy, Kubernetes and the OpenTelemetry Collector use
/// matching names and health check paths.
fn of_orchestrators(workspace: &Workspace) -> Result<()> {
    let folder = workspace.path(FOLDER);
    let mut files = BTreeMap::new();
    for name in ["compose", "kubernetes", "collector"] {
        let documents = yaml(workspace, &folder.join(format!("{name}.yaml")))?;
        files.insert(name, documents);
    }
    let services = &files["compose"][0]["services"];
    let balancer = workspace.text(format!("{FOLDER}/Caddyfile"))?;
    let line =
        balancer.lines().find_map(|line| line.trim().strip_prefix("reverse_proxy ")).context("no reverse_proxy")?;
    for worker in line.trim_end_matches('{').split_whitespace() {
        let name = worker.strip_suffix(&format!(":{PORT}")).with_context(|| format!("{worker} has another port"))?;
        let built = services[name]["build"]["dockerfile"].as_str();
        let built = built.with_context(|| format!("there is no service {name} with a container file"))?;
        if !folder.join(built).exists() {
            bail!("there is no file {built}");
        }
    }
    if balancer.matches('{').count() != balancer.matches('}').count() || !balancer.contains("health_uri /readyz") {
        bail!("the Caddyfile has open braces, or does not look at /readyz");
    }
    let pod = &files["kubernetes"][0]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    for (probe, path) in ["livenessProbe", "readinessProbe"].into_iter().zip(PROBES) {
        if container[probe]["httpGet"]["path"] != path {
            bail!("{probe} does not look at {path}");
        }
    }
    let seconds = |value: &Value| value.as_u64().with_context(|| format!("{value} are not seconds"));
    let grace = seconds(&pod["terminationGracePeriodSeconds"])?;
    let pause = seconds(&container["lifecycle"]["preStop"]["sleep"]["seconds"])?;
    let server = workspace.text("docs/snippets/deployed_server.py")?;
    let drain = server.split("drain_deadline=").nth(1).and_then(|rest| rest.split(')').next());
    let drain: u64 = drain.context("the server has no drain deadline")?.parse()?;
    if grace < pause + drain {
        bail!("{grace} s are over before {pause} s and the {drain} s of the drain deadline are");
    }
    let collector = &files["collector"][0];
    let pipeline = &collector["service"]["pipelines"]["metrics"];
    for part in ["receivers", "processors", "exporters"] {
        for name in pipeline[part].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if collector[part][name].is_null() {
                bail!("the collector has no {part} of the name {name}");
            }
        }
    }
    Ok(())
}

/// The documents of a file, parsed with the site generator's YAML parser.
fn yaml(workspace: &Workspace, file: &Path) -> Result<Vec<Value>> {
    let read = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let mut command = workspace.command(workspace.venv_program(pages::VENV, "python"));
    command.args(["-c", read]).arg(file);
    let documents: Vec<Value> = serde_json::from_str(&must(command, TIMEOUT)?.stdout)?;
    match documents.iter().all(Value::is_object) {
        true => Ok(documents),
        false => bail!("{} has a document that is not a mapping", file.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# A comment.\nFROM node:24-slim AS build\nRUN a \\\n  && b\nFROM node:24-slim\nUSER node\nEXPOSE \
                        8000\nHEALTHCHECK --interval=1s \\\n  CMD [\"node\", \"-e\", \"\"]\nCMD [\"node\", \"server.ts\"]\n";

    fn node() -> Language {
        Language::parse_list("node").expect("a language")[0]
    }

    fn fault(text: &str) -> String {
        let file = ContainerFile::parse(text).expect("instructions");
        format!("{:#}", file.check(node()).expect_err("a fault"))
    }

    #[test]
    fn container_files_are_read_by_their_stages() {
        let file = ContainerFile::parse(GOOD).expect("instructions");
        file.check(node()).expect("no fault");
        assert_eq!(file.command("HEALTHCHECK").expect("a list"), ["node", "-e", ""]);
        assert_eq!(file.all("RUN").collect::<Vec<_>>(), ["a    && b"]);
    }

    #[test]
    fn faults_of_container_files_are_found() {
        assert!(fault(&GOOD.replace("node:24-slim AS", "node AS")).contains("no tag"));
        assert!(fault(&GOOD.replace("USER node", "USER root")).contains("runs as root"));
        assert!(fault(&GOOD.replace("USER node\n", "")).contains("USER"));
        assert!(fault(&GOOD.replace("CMD [\"node\", \"server.ts\"]", "CMD node server.ts")).contains("not a list"));
    }
}
