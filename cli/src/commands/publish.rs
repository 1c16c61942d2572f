//! `trunkline publish --check`: what the registry would refuse, without asking it.

use crate::{
    exit::Exit,
    failure::Failure,
    known_servers::text_of,
    output::Output,
    publishing::{Finding, check_server},
    table::Table,
};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trunkline::protocol::RawJson;

/// Check a `server.json` as the official registry would, offline.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline publish --check                  ./server.json, and the package files beside it
  trunkline publish --check mcp/server.json

`mcp-publisher publish` uploads it.")]
pub(crate) struct Publish {
    /// Check, and upload nothing.
    #[arg(long)]
    check: bool,
    /// The file.
    #[arg(default_value = "server.json")]
    file: PathBuf,
}

impl Publish {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        if !self.check {
            return Err(Failure::usage("this program uploads nothing")
                .hint("check the file with --check, and upload it with `mcp-publisher publish`"));
        }
        let failed = |problem: &str| Failure::usage(format!("{}: {problem}", self.file.display()));
        let text = text_of(&self.file).map_err(|error| failed(&error.to_string()))?;
        let text =
            text.ok_or_else(|| failed("there is no such file").hint("name the file: trunkline publish --check FILE"))?;
        // The registry reads no comments.
        let server = serde_json::from_str(&text).map_err(|error| failed(&error.to_string()))?;
        let folder = self.file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let found = check_server(&server, folder);
        print(&self.file, &found, output);
        Ok(if found.is_empty() { Exit::Done } else { Exit::Faulty })
    }
}

fn print(file: &Path, found: &[Finding], output: &Output) {
    if output.json {
        let finding =
            |finding: &Finding| json!({"rule": finding.rule, "place": finding.place, "problem": finding.problem});
        let all: Vec<Value> = found.iter().map(finding).collect();
        return output.raw(&RawJson::from_value(&json!({"findings": all})).unwrap_or_else(|_| RawJson::empty_object()));
    }
    let mut table = Table::default();
    for Finding { rule, place, problem } in found {
        table.add([*rule, &**place, &**problem]);
    }
    table.lines("").iter().for_each(|line| output.line(line));
    let count = match found.len() {
        0 => "nothing that the registry would refuse".to_owned(),
        1 => "1 refusal".to_owned(),
        count => format!("{count} refusals"),
    };
    output.note(&format!("{}: {count}", file.display()));
}
