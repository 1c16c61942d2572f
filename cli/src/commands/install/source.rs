//! The server to enter.

use super::Install;
use crate::{
    edit::{self, Format},
    failure::Failure,
    flags::{ConnectionFlags, Transport},
    hosts::Server,
    known_servers::{self, text_of},
    target,
};
use std::{collections::BTreeMap, path::Path};

impl Install {
    /// The server that the command line names, and its name there.
    pub(super) fn source(&self) -> Result<(Option<String>, Server), Failure> {
        let (name, mut server) = match (&self.command[..], &self.command_line, &self.server) {
            ([], None, None) => {
                return Err(Failure::usage("no server is given").hint(
                    "name one: a URL, a configured server (`trunkline discover` shows them), a FILE or FILE:NAME, or a command after `--`",
                ));
            }
            ([], None, Some(word)) => self.of_word(word)?,
            (_, _, Some(word)) => {
                return Err(Failure::usage(format!("{word:?} is too much: the server is the command")));
            }
            ([], Some(line), None) => (None, of_words(target::split(line)?)),
            (words, _, None) => (None, of_words(words.to_vec())),
        };
        self.add_flags(&mut server)?;
        Ok((name, server))
    }

    fn of_word(&self, word: &str) -> Result<(Option<String>, Server), Failure> {
        if target::is_url(word) {
            let is_sse = self.transport == Transport::Sse;
            return Ok((None, Server::Url { url: word.to_owned(), headers: BTreeMap::new(), is_sse }));
        }
        if let Some((path, name)) = target::file_of(word)? {
            return of_file(path, name);
        }
        let known = target::configured(word)?;
        let entry = known.with_placeholders().map_err(|error| Failure::usage(error.to_string()))?;
        Ok((Some(known.name.clone()), Server::of_entry(entry)?))
    }

    /// Adds the variables and headers of the command line.
    fn add_flags(&self, server: &mut Server) -> Result<(), Failure> {
        let bearer = self.bearer_env.iter().map(|name| format!("Authorization: Bearer ${{{name}}}"));
        let lines = self.headers.iter().cloned().chain(bearer).collect();
        let all = ConnectionFlags { headers: lines, ..ConnectionFlags::default() }.all_headers()?;
        match server {
            Server::Command { .. } if !all.is_empty() => {
                Err(Failure::usage("--header and --bearer-env are for servers with a URL"))
            }
            Server::Url { .. } if !self.variables.is_empty() => {
                Err(Failure::usage("--env is for a server that is a command"))
            }
            Server::Command { variables, .. } => {
                for word in &self.variables {
                    let (name, value) = match word.split_once('=') {
                        Some((name, value)) => (name, value.to_owned()),
                        None => (&**word, format!("${{{word}}}")),
                    };
                    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
                    if name.is_empty() || !name.chars().all(is_name) {
                        return Err(Failure::usage("--env: a variable is NAME or NAME=VALUE").hint("--env API_KEY"));
                    }
                    variables.insert(name.to_owned(), value);
                }
                Ok(())
            }
            Server::Url { headers, .. } => {
                headers.extend(all);
                Ok(())
            }
        }
    }
}

fn of_words(words: Vec<String>) -> Server {
    Server::Command { words, variables: BTreeMap::new(), folder: None }
}

/// A server of a file: the only one, or the one of that name.
fn of_file(path: &Path, name: Option<&str>) -> Result<(Option<String>, Server), Failure> {
    let failed = |problem: &str| Failure::usage(format!("{}: {problem}", path.display()));
    let text = text_of(path).map_err(|error| failed(&error.to_string()))?;
    let text = text.ok_or_else(|| failed("there is no such file"))?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let format = if is_toml { Format::Toml } else { Format::Json };
    let value = edit::read(format, &text).map_err(|problem| failed(&problem.to_string()))?;
    let config = known_servers::with_placeholders(&value, &path.display().to_string());
    let config = config.map_err(|error| Failure::usage(error.to_string()))?;
    let names: Vec<String> = config.servers().map(|(name, _)| name.to_owned()).collect();
    let name = target::chosen(path, name, &names)?;
    let entry = config.into_iter().find(|(known, _)| *known == name).map(|(_, entry)| entry);
    let entry =
        entry.ok_or_else(|| failed("the server is gone"))?.map_err(|error| Failure::usage(error.to_string()))?;
    Ok((Some(name), Server::of_entry(entry)?))
}
