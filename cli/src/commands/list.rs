//! `trunkline list`: what a server offers, or which servers are configured.

use super::configured;
use crate::{
    completion,
    connection::Connection,
    exit::Exit,
    failure::Failure,
    flags::ConnectionFlags,
    output::{BOLD, Output},
    signature,
    table::{Table, one_line},
    target,
};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use serde_json::{Map, Value, json, value::RawValue};
use trunkline::{
    RequestOptions,
    protocol::{
        RawJson, method,
        model::{Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool, ToolAnnotations},
        wildcard,
    },
};

/// List what a server offers; without a server, list the configured servers.
#[derive(Args)]
#[command(override_usage = "trunkline list [OPTIONS] [SERVER] [KIND] [PATTERN] [-- COMMAND...]")]
#[command(after_help = "\
Examples:
  trunkline list                                   the configured servers
  trunkline list --status                          and which of them work
  trunkline list https://mcp.example.com/mcp       all that a server offers
  trunkline list github tools 'issue*'             tools of a configured server
  trunkline list tools -- python server.py         tools of a server that is started")]
pub(crate) struct List {
    /// The server, unless a command follows `--`; then `tools`, `resources`, `templates`, `prompts`
    /// or `all`, and a pattern of names with `*` and `?`.
    #[arg(value_name = "WORD", add = ArgValueCompleter::new(completion::servers))]
    words: Vec<String>,
    /// Print the schemas of tools.
    #[arg(long)]
    schema: bool,
    /// Print only the signatures.
    #[arg(long, conflicts_with = "schema")]
    signatures: bool,
    /// Connect to each configured server, and say whether it works.
    #[arg(long, conflicts_with_all = ["schema", "signatures"])]
    status: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The command of a server to start.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

/// A kind of feature.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

const KINDS: [Kind; 4] = [Kind::Tools, Kind::Resources, Kind::Templates, Kind::Prompts];

impl Kind {
    /// The method of the list, and the member of its result.
    fn list(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => (method::TOOLS_LIST, "tools"),
            Self::Resources => (method::RESOURCES_LIST, "resources"),
            Self::Templates => (method::RESOURCES_TEMPLATES_LIST, "resourceTemplates"),
            Self::Prompts => (method::PROMPTS_LIST, "prompts"),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Prompts => "prompts",
        }
    }

    fn is_declared(self, declared: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => declared.tools.is_some(),
            Self::Resources | Self::Templates => declared.resources.is_some(),
            Self::Prompts => declared.prompts.is_some(),
        }
    }
}

/// The items of one list, as the server wrote them.
struct Listed {
    kind: Kind,
    items: Vec<Box<RawValue>>,
}

impl List {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let has_target = !self.words.is_empty() || !self.command.is_empty() || self.connection.command_line.is_some();
        if !has_target {
            configured::print(self.status, self.connection, output).await;
            return Ok(Exit::Done);
        }
        if self.status {
            return Err(Failure::usage("--status is for the configured servers").hint("trunkline list --status"));
        }
        let (server, words) = target::find(self.words.clone(), self.command.clone(), &self.connection)?;
        let (wanted, pattern) = selection(&words)?;
        let connection = Connection::open(server, &self.connection).await?;
        let mut lists = Vec::new();
        for kind in wanted.map_or_else(|| KINDS.to_vec(), |kind| vec![kind]) {
            if wanted.is_none() && !kind.is_declared(&connection.client.server_capabilities()) {
                continue;
            }
            let list = fetch(&connection, kind, pattern.as_deref()).await?;
            // No capability says whether there are any.
            if wanted.is_some() || output.json || kind != Kind::Templates || !list.items.is_empty() {
                lists.push(list);
            }
        }
        match output.json {
            true => print_json(&connection, &lists, output)?,
            false => self.print(&connection, &lists, output)?,
        }
        connection.close().await;
        Ok(Exit::Done)
    }

    fn print(&self, connection: &Connection, lists: &[Listed], output: &Output) -> Result<(), Failure> {
        let milliseconds = connection.took.as_millis();
        output.note(&format!("{} · {milliseconds} ms", one_line(&connection.identity())));
        for Listed { kind, items } in lists {
            output.line(&format!("{BOLD}{}{BOLD:#} ({})", kind.title(), items.len()));
            let mut table = Table::default();
            for item in items {
                self.add(&mut table, *kind, item)?;
                if self.schema && *kind == Kind::Tools {
                    table.lines("  ").iter().for_each(|line| output.line(line));
                    table = Table::default();
                    output.raw(&schema_of(item)?);
                }
            }
            table.lines("  ").iter().for_each(|line| output.line(line));
        }
        Ok(())
    }

    fn add(&self, table: &mut Table, kind: Kind, item: &RawValue) -> Result<(), Failure> {
        let (signature, hints, description) = match kind {
            Kind::Tools => {
                let tool: Tool = read(item)?;
                let hints = tool.annotations.as_ref().map(hints).unwrap_or_default();
                (signature::of_tool(&tool), hints, tool.description)
            }
            Kind::Resources => {
                let resource: Resource = read(item)?;
                (resource.uri, resource.name, resource.description)
            }
            Kind::Templates => {
                let template: ResourceTemplate = read(item)?;
                (template.uri_template, template.name, template.description)
            }
            Kind::Prompts => {
                let prompt: Prompt = read(item)?;
                (signature::of_prompt(&prompt), String::new(), prompt.description)
            }
        };
        match self.signatures {
            true => table.add([&*signature]),
            false => table.add([&*signature, &hints, description.as_deref().unwrap_or_default()]),
        }
        Ok(())
    }
}

/// The kind and the pattern that the words after the server name.
fn selection(words: &[String]) -> Result<(Option<Kind>, Option<String>), Failure> {
    let kind = |word: &String| Kind::from_str(word, true).ok();
    match words {
        [] => Ok((None, None)),
        [all] if all == "all" => Ok((None, None)),
        [all, pattern] if all == "all" => Ok((None, Some(pattern.clone()))),
        [only] => Ok(kind(only).map_or_else(|| (None, Some(only.clone())), |kind| (Some(kind), None))),
        [word, pattern] if kind(word).is_some() => Ok((kind(word), Some(pattern.clone()))),
        _ => Err(Failure::usage(format!("{:?} is too much for a list", words.join(" ")))
            .hint("trunkline list SERVER tools 'get*'")),
    }
}

/// Fetches a list.
async fn fetch(connection: &Connection, kind: Kind, pattern: Option<&str>) -> Result<Listed, Failure> {
    let (method, member) = kind.list();
    let list = connection.client.list_all(method, None, &RequestOptions::default()).await;
    let list = list.map_err(|error| connection.failure(error, &format!("listing {}", kind.title())))?;
    let mut members: std::collections::BTreeMap<String, Box<RawValue>> = read_json(list.as_str())?;
    let items: Vec<Box<RawValue>> =
        members.remove(member).map_or_else(|| Ok(Vec::new()), |items| read_json(items.get()))?;
    if kind == Kind::Tools {
        let tools: Vec<Tool> = items.iter().filter_map(|item| read(item).ok()).collect();
        completion::keep(&connection.server.label, &tools);
    }
    let is_wanted = |item: &RawValue| {
        let Some(pattern) = pattern else { return true };
        let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
        ["name", "uri", "uriTemplate"]
            .iter()
            .any(|name| item[*name].as_str().is_some_and(|text| wildcard::matches(pattern, text)))
    };
    let items = items.into_iter().filter(|item| is_wanted(item)).collect();
    Ok(Listed { kind, items })
}

fn read<T: serde::de::DeserializeOwned>(item: &RawValue) -> Result<T, Failure> {
    read_json(item.get())
}

fn read_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::invalid_response(format!("the list cannot be read: {error}")))
}

fn schema_of(tool: &RawValue) -> Result<RawJson, Failure> {
    let tool: Tool = read(tool)?;
    RawJson::from_value(&tool.input_schema).map_err(|error| Failure::invalid_response(error.to_string()))
}

/// One object: what is known of the server, and the lists as it wrote them.
fn print_json(connection: &Connection, lists: &[Listed], output: &Output) -> Result<(), Failure> {
    let client = &connection.client;
    let mut all: Map<String, Value> = Map::new();
    all.insert("revision".to_owned(), client.revision().as_str().into());
    all.insert("server".to_owned(), json!(client.server_info()));
    all.insert("capabilities".to_owned(), json!(client.server().capabilities));
    all.insert("instructions".to_owned(), json!(client.instructions()));
    let mut text = serde_json::to_string(&all).unwrap_or_default();
    text.pop();
    for Listed { kind, items } in lists {
        let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
        text += &format!(",\"{}\":[{}]", kind.list().1, items.join(","));
    }
    let json = RawJson::from_text((text + "}").into());
    output.raw(&json.map_err(|error| Failure::invalid_response(error.to_string()))?);
    Ok(())
}

/// The hints of a tool; the server promises nothing.
fn hints(annotations: &ToolAnnotations) -> String {
    let hints = [
        (annotations.read_only_hint == Some(true), "reads"),
        (annotations.read_only_hint != Some(true) && annotations.destructive_hint == Some(true), "destroys"),
        (annotations.idempotent_hint == Some(true), "repeatable"),
        (annotations.open_world_hint == Some(true), "open world"),
    ];
    hints.into_iter().filter_map(|(holds, name)| holds.then_some(name)).collect::<Vec<_>>().join(", ")
}
