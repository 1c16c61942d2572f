//! Arguments on the command line: `key=value`, `key:=json`, `key=@file`, `key:=@file`, and a whole
//! JSON object from a file or standard input. Their types are the business of the library.

use crate::failure::Failure;
use clap::Args;
use serde_json::{Map, Value};
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};
use trunkline::protocol::schema::{WrittenArgument, WrittenValue};

/// The word for standard input.
const STDIN: &str = "-";

/// The flags of commands with arguments.
#[derive(Args, Debug)]
pub(crate) struct InputFlags {
    /// Read all arguments from a file with a JSON object; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

/// The arguments of a command line.
#[derive(Debug, PartialEq)]
pub(crate) enum Arguments {
    /// Words, whose values are read by a schema.
    Written(Vec<WrittenArgument>),
    /// An object.
    Whole(Map<String, Value>),
}

impl Arguments {
    /// Reads the words after the name of a tool or prompt.
    pub(crate) fn read(words: &[String], flags: &InputFlags) -> Result<Self, Failure> {
        let file = match (&flags.input, words) {
            (Some(file), []) => Some(file.clone()),
            (None, [only]) if only == STDIN => Some(STDIN.into()),
            (Some(_), _) => return Err(Failure::usage("--input has all arguments: give no others")),
            _ => None,
        };
        let Some(file) = file else {
            return words.iter().map(|word| written(word)).collect::<Result<_, _>>().map(Self::Written);
        };
        let text = match file.to_str() {
            Some(STDIN) => from_stdin()?,
            _ => from_file(&file)?,
        };
        match parse(&text, &format!("the input {}", file.display()))? {
            Value::Object(members) => Ok(Self::Whole(members)),
            other => Err(Failure::usage(format!("the input must be a JSON object, and is {}", kind_of(&other)))),
        }
    }

    /// The arguments as strings, as prompts have them.
    pub(crate) fn into_strings(self) -> Result<Vec<(String, String)>, Failure> {
        let text = |(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            _ => Err(Failure::usage(format!("{name} must be a string"))),
        };
        match self {
            Self::Written(written) => written
                .into_iter()
                .map(|WrittenArgument { name, value }| match value {
                    WrittenValue::Text(text) => Ok((name, text)),
                    WrittenValue::Json(value) => text((name, value)),
                })
                .collect(),
            Self::Whole(members) => members.into_iter().map(text).collect(),
        }
    }
}

/// One word: `key=value` or `key:=json`.
fn written(word: &str) -> Result<WrittenArgument, Failure> {
    let parts = word.split_once('=').filter(|(name, _)| !name.trim_end_matches(':').is_empty());
    let (name, value) = parts.ok_or_else(|| {
        Failure::usage(format!("{word:?} is no argument")).hint("an argument is NAME=VALUE, or NAME:=JSON")
    })?;
    let text = match value.strip_prefix('@') {
        None => value.to_owned(),
        Some(escaped) if escaped.starts_with('@') => escaped.to_owned(),
        Some(file) => from_file(Path::new(file))?,
    };
    let value = match name.strip_suffix(':') {
        None => WrittenValue::Text(text),
        Some(name) => WrittenValue::Json(parse(&text, name)?),
    };
    Ok(WrittenArgument { name: name.trim_end_matches(':').to_owned(), value })
}

fn parse(text: &str, what: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::usage(format!("{what} is not JSON: {error}")))
}

fn from_file(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_is_a_name_and_a_value() {
        let text = |text: &str| WrittenValue::Text(text.to_owned());
        for (word, name, value) in [
            ("a=1", "a", text("1")),
            ("a=", "a", text("")),
            ("a=b=c", "a", text("b=c")),
            ("a.b=1", "a.b", text("1")),
            ("a:=[1]", "a", WrittenValue::Json(json!([1]))),
            ("a=@@home", "a", text("@home")),
            ("a=x@y", "a", text("x@y")),
        ] {
            let read = written(word).unwrap();
            assert_eq!((read.name.as_str(), read.value), (name, value), "{word}");
        }
        for word in ["a", "=1", ":=1", "a:={", "a=@/none/such"] {
            assert!(written(word).is_err(), "{word}");
        }
    }

    #[test]
    fn values_come_from_files() {
        let path = std::env::temp_dir().join(format!("trunkline-cli-arguments-{}", std::process::id()));
        std::fs::write(&path, "{\"b\": 2}").unwrap();
        let file = path.to_str().unwrap();
        assert_eq!(written(&format!("a=@{file}")).unwrap().value, WrittenValue::Text("{\"b\": 2}".to_owned()));
        assert_eq!(written(&format!("a:=@{file}")).unwrap().value, WrittenValue::Json(json!({"b": 2})));
        let flags = InputFlags { input: Some(path.clone()) };
        let whole = Arguments::read(&[], &flags).unwrap();
        assert_eq!(whole, Arguments::Whole(json!({"b": 2}).as_object().unwrap().clone()));
        assert!(Arguments::read(&["c=1".to_owned()], &flags).is_err());
        std::fs::remove_file(path).unwrap();
    }
}
