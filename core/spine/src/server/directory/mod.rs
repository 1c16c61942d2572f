//! Folders whose files are resources: listed page by page, and read on request.

mod files;

use super::{
    handlers::{Call, Outcome},
    registry::{Category, ProviderDefinition, RegisterError},
};
use crate::protocol::{RawJson, options::Bytes, uri};
use files::Folder;
use serde::Deserialize;
use serde_json::json;
use std::{path::PathBuf, sync::Arc};

trunkline_proto::options! {
    /// Options of a folder whose files are resources.
    #[derive(Debug, Clone)]
    pub struct DirectoryOptions {
        /// Include files and folders whose names start with a dot.
        hidden: bool => "hidden" = false,
        /// Maximum size of a file to read. Larger files are listed, but reading them fails.
        max_file_bytes: usize => "maxFileBytes" as Bytes = 4 << 20,
    }
    setters directory_setters
}

/// A folder to register. Its files become resources, including those in subfolders. Each is read
/// when it is requested, so clients see changes. Files in UTF-8 without NUL are sent as text, all
/// others as blobs.
///
/// Nothing outside the folder can be read: neither through `..`, nor an absolute path, nor a
/// symbolic link that leads out. Only regular files are exposed. Files and folders whose names
/// start with a dot are hidden unless you set [`Self::hidden`].
///
/// ```
/// use trunkline::{Server, server::DirectoryDefinition};
///
/// let docs = DirectoryDefinition::new("docs://", ".").max_file_bytes(1 << 20);
/// let server = Server::builder("docs", "1.0.0").add_directory(docs).build();
/// ```
#[must_use = "a directory does nothing until it is added to a server"]
pub struct DirectoryDefinition {
    uri: String,
    path: PathBuf,
    options: DirectoryOptions,
}

impl DirectoryDefinition {
    /// Creates a definition for the folder at `path`. The URI of each file is `uri`, a `/` unless
    /// it ends with one, and the path within the folder.
    pub fn new(uri: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { uri: uri.into(), path: path.into(), options: DirectoryOptions::default() }
    }

    /// Sets all options at once.
    pub fn options(mut self, options: DirectoryOptions) -> Self {
        self.options = options;
        self
    }

    directory_setters!(self, self.options);

    pub(super) fn compile(self) -> Result<ProviderDefinition, RegisterError> {
        let Self { mut uri, path, options: DirectoryOptions { hidden, max_file_bytes } } = self;
        uri::check(&uri).map_err(|problem| RegisterError(format!("Directory {uri}: uri: {problem}")))?;
        if !uri.ends_with('/') {
            uri.push('/');
        }
        let folder = Folder::open(&path, hidden, u64::try_from(max_file_bytes).unwrap_or(u64::MAX))
            .map_err(|error| RegisterError(format!("Directory {uri}: path: {}: {error}", path.display())))?;
        let folder = Arc::new(folder);
        let serve = move |call: Call| serve(uri.clone(), Arc::clone(&folder), call);
        Ok(ProviderDefinition::new(Category::Resources, serve))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DirectoryRequest {
    List { cursor: Option<String> },
    Get { uri: String },
}

fn serve(uri: String, folder: Arc<Folder>, call: Call) {
    let info = call.info().clone();
    let page_size = info.backend.options().page_size.max(1);
    info.backend.runtime().run_blocking(Box::new(move || {
        let outcome = match call.input().parse::<DirectoryRequest>() {
            Ok(DirectoryRequest::List { cursor }) => list(&folder, &uri, cursor.as_deref(), page_size),
            Ok(DirectoryRequest::Get { uri: asked }) => read(&folder, &uri, &asked),
            Err(error) => Outcome::InvalidArguments(error.to_string()),
        };
        call.complete(outcome);
    }));
}

/// Returns a page of resources. The cursor is the path of the last file of the previous page.
fn list(folder: &Folder, base: &str, cursor: Option<&str>, size: usize) -> Outcome {
    let after = match cursor.map(files::decoded) {
        Some(None) => return Outcome::Protocol(crate::protocol::RpcError::invalid_cursor()),
        Some(Some(path)) => path,
        None => Vec::new(),
    };
    let mut found = folder.files_after(&after, size.saturating_add(1));
    let more = found.len() > size;
    found.truncate(size);
    let mut page = json!({"items": found.iter().map(|file| file.descriptor(base)).collect::<Vec<_>>()});
    if let Some(last) = found.last().filter(|_| more) {
        page["nextCursor"] = last.encoded_path().into();
    }
    Outcome::Value(RawJson::object(&page))
}

fn read(folder: &Folder, base: &str, uri: &str) -> Outcome {
    let path = uri.strip_prefix(base).and_then(files::decoded);
    path.map_or(Outcome::NotFound, |path| folder.read(uri, &path))
}

#[cfg(test)]
mod tests;
