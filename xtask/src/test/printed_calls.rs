//! Compiles and runs the programs that `trunkline call --code LANGUAGE` prints. No test of a single
//! language could compare them with the call itself.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::language::Language;
use crate::process::{must, run};
use crate::stamp::write_if_changed;
use crate::test::{Count, Selection};
use crate::workers;
use crate::workspace::Workspace;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Characters that begin an expression, end a string, or are not ASCII in some language.
const TEXT: &str = r#"message="a" \b ${HOME} #{c} $d %s 'é' ??/"#;
/// Each kind of JSON.
const ADDRESS: &str = r#"address:={"street":"A 1","city":"B","more":[1,-2.5,true,null,[],{}]}"#;

/// The calls: the name of the program, how it connects, and the words about the tool.
const CALLS: [(&str, Place, &[&str]); 2] = [
    ("Url", Place::Url, &["echo", TEXT]),
    ("Command", Place::Command, &["json_schema_2020_12_tool", "contactMethod=email", "email=a@b.example", ADDRESS]),
];

#[derive(Clone, Copy)]
enum Place {
    /// A URL alone.
    Url,
    /// An entry of a configuration.
    Command,
}

pub(crate) fn check(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut server = workspace.command(workspace.built("fixture-server"));
    server.args(["--http", "0"]);
    let (servers, urls) = crate::http_servers::start([("fixture".to_owned(), server)]);
    let url = urls.of("fixture").map_err(anyhow::Error::msg)?;
    let calls = CALLS.map(|(name, place, words)| Call { name, place, words, url });
    let mut expected = Vec::new();
    for call in &calls {
        expected.push(must(call.command(workspace, None), TIMEOUT)?.stdout);
    }
    ensure!(expected[0].contains("${HOME}"), "the call printed {:?}", expected[0]);
    let mut count = Count::default();
    workers::run(
        2,
        &selection.languages,
        |&language| {
            let printed = |call: &Call<'_>| call.printed(workspace, language).map_err(|error| format!("{error:#}"));
            // All are written before the first one is compiled: some compilers read the folder.
            let written: Result<Vec<_>> = calls.iter().map(|call| call.write(workspace, language)).collect();
            match written {
                Ok(_) => calls.iter().map(printed).collect(),
                Err(error) => vec![Err(format!("{error:#}"))],
            }
        },
        |index, outcomes: Vec<Result<String, String>>| {
            for ((outcome, call), expected) in outcomes.into_iter().zip(&calls).zip(&expected) {
                let fault = match outcome {
                    Ok(printed) if printed == *expected => None,
                    Ok(printed) => Some(format!("it printed {printed:?} instead of {expected:?}")),
                    Err(fault) => Some(fault),
                };
                let name = selection.languages[index].name;
                count.add(fault.map(|fault| format!("not ok {} in {name}: {fault}", call.name)));
            }
        },
    );
    count.add(servers.stop(|_| true).err());
    Ok(count)
}

struct Call<'a> {
    name: &'static str,
    place: Place,
    words: &'static [&'static str],
    url: &'a str,
}

impl Call<'_> {
    /// The call, or its program in a language.
    fn command(&self, workspace: &Workspace, language: Option<Language>) -> std::process::Command {
        let mut command = workspace.command(workspace.built("trunkline"));
        command.env("TRUNKLINE_AUTH", "none").arg("call");
        if let Some(language) = language {
            command.args(["--code", language.name]);
        }
        match self.place {
            Place::Url => command.arg(self.url).args(self.words),
            Place::Command => command.args(self.words).arg("--").arg(workspace.built("fixture-server")).arg("--stdio"),
        };
        command
    }

    fn source(&self, workspace: &Workspace, language: Language) -> PathBuf {
        let folder = workspace.target.join("printed-calls").join(language.name);
        folder.join(format!("{}.{}", self.name, language.example_endings[0]))
    }

    fn write(&self, workspace: &Workspace, language: Language) -> Result<()> {
        let program = must(self.command(workspace, Some(language)), TIMEOUT)?.stdout;
        write_if_changed(&self.source(workspace, language), program.as_bytes())
    }

    /// Runs the program. Returns its output.
    fn printed(&self, workspace: &Workspace, language: Language) -> Result<String> {
        let source = self.source(workspace, language);
        let command = (language.start_pasted)(workspace, &source).context("it does not compile")?;
        let output = run(command, TIMEOUT)?;
        ensure!(output.success(), "{}\n[{}]", output.text, output.ending());
        Ok(output.stdout)
    }
}
