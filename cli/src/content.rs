//! The content of results: shown as text, or saved.

use crate::{failure::Failure, output::Output};
use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Args;
use serde_json::{Map, Value};
use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
};
use trunkline::protocol::model::{ContentBlock, ResourceContents};

/// The flags of commands whose results have binary content.
#[derive(Args, Debug)]
pub(crate) struct SaveFlags {
    /// Write images, sounds and other binary content to files in this folder.
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
}

/// Shows the content of one result.
pub(crate) struct Content<'a> {
    output: &'a Output,
    folder: Option<PathBuf>,
    saved: usize,
}

impl<'a> Content<'a> {
    pub(crate) fn new(output: &'a Output, flags: &SaveFlags) -> Self {
        Self { output, folder: flags.save.clone(), saved: 0 }
    }

    /// Shows a block.
    pub(crate) fn block(&mut self, block: &ContentBlock) -> Result<(), Failure> {
        match block {
            ContentBlock::Text(block) => self.output.text(&block.text),
            ContentBlock::Image(block) => self.binary("image", Some(&block.mime_type), &block.data)?,
            ContentBlock::Audio(block) => self.binary("audio", Some(&block.mime_type), &block.data)?,
            ContentBlock::Resource(block) => self.resource(&block.resource, false)?,
            ContentBlock::ResourceLink(link) => self.output.text(&format!("{} {}", link.name, link.uri)),
            other => self.output.text(&serde_json::to_string(other).unwrap_or_default()),
        }
        Ok(())
    }

    /// Shows the contents of a resource. If they are `alone`, bytes go to standard output unless
    /// that is a terminal.
    pub(crate) fn resource(&mut self, contents: &ResourceContents, alone: bool) -> Result<(), Failure> {
        match contents {
            ResourceContents::Text(contents) if alone => self.output.exactly(contents.text.as_bytes()),
            ResourceContents::Text(contents) => self.output.text(&contents.text),
            ResourceContents::Blob(contents) if alone && self.folder.is_none() && !io::stdout().is_terminal() => {
                self.output.exactly(&decoded(&contents.blob)?);
            }
            ResourceContents::Blob(contents) => {
                self.binary("resource", contents.mime_type.as_deref(), &contents.blob)?;
            }
        }
        Ok(())
    }

    /// Saves bytes, or says that there are some.
    fn binary(&mut self, what: &str, mime_type: Option<&str>, data: &str) -> Result<(), Failure> {
        let bytes = decoded(data)?;
        let mime_type = mime_type.unwrap_or("application/octet-stream");
        let Some(folder) = &self.folder else {
            self.output.text(&format!("[{what}: {mime_type}, {} bytes; --save FOLDER writes it]", bytes.len()));
            return Ok(());
        };
        self.saved += 1;
        let cannot =
            |error: io::Error| Failure::usage(format!("--save: {} cannot be written: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(cannot)?;
        let (path, mut file) = (self.saved..)
            .map(|number| folder.join(format!("{what}-{number}.{}", ending(mime_type))))
            .find_map(|path| match std::fs::File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                created => Some(created.map(|file| (path, file))),
            })
            .unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
            .map_err(cannot)?;
        file.write_all(&bytes).map_err(cannot)?;
        self.output.text(&format!("[{what}: {mime_type}, {} bytes in {}]", bytes.len(), path.display()));
        Ok(())
    }
}

fn decoded(data: &str) -> Result<Vec<u8>, Failure> {
    STANDARD
        .decode(data)
        .map_err(|error| Failure::invalid_response(format!("the server sent content that is not base64: {error}")))
}

/// The ending of a file: a server must not choose anything but letters and digits.
fn ending(mime_type: &str) -> String {
    let subtype = mime_type.split('/').nth(1).unwrap_or_default().split([';', '+']).next().unwrap_or_default();
    match subtype {
        "jpeg" => "jpg".to_owned(),
        "plain" => "txt".to_owned(),
        "mpeg" => "mp3".to_owned(),
        "svg" | "png" | "gif" | "webp" | "wav" | "pdf" | "json" | "html" => subtype.to_owned(),
        _ => "bin".to_owned(),
    }
}

/// The rows of a list of flat objects, the names of their members first; `None` for anything else.
/// The only member of an object stands for it.
pub(crate) fn rows(value: &Value) -> Option<Vec<Vec<String>>> {
    let items = match value {
        Value::Array(items) => items,
        Value::Object(members) if members.len() == 1 => members.values().next()?.as_array()?,
        _ => return None,
    };
    let objects: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    if objects.is_empty() || !objects.iter().all(|object| object.values().all(is_scalar)) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let row = |object: &&Map<String, Value>| names.iter().map(|name| cell(object.get(*name))).collect();
    let heading = names.iter().map(|name| (*name).to_owned()).collect();
    Some(std::iter::once(heading).chain(objects.iter().map(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_lists_of_flat_objects_are_tables() {
        let table = |rows: &[&[&str]]| {
            Some(rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect())
        };
        let rows_of = json!([{"a": 1, "b": "x"}, {"a": null, "c": true}]);
        let expected: Option<Vec<Vec<String>>> = table(&[&["a", "b", "c"], &["1", "x", ""], &["", "", "true"]]);
        assert_eq!(rows(&rows_of), expected);
        assert_eq!(rows(&json!({"result": rows_of})), expected);
        for other in [json!([]), json!([1]), json!([{"a": []}]), json!({"a": 1}), json!({"a": [], "b": 1}), json!("x")]
        {
            assert_eq!(rows(&other), None, "{other}");
        }
    }

    #[test]
    fn a_server_does_not_choose_the_ending_of_a_file() {
        for (mime_type, expected) in [
            ("image/png", "png"),
            ("image/svg+xml", "svg"),
            ("text/plain; charset=utf-8", "txt"),
            ("x/../../etc", "bin"),
            ("application/x-sh", "bin"),
            ("", "bin"),
        ] {
            assert_eq!(ending(mime_type), expected, "{mime_type}");
        }
    }
}
