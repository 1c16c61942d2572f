//! The files of a skill.

use crate::{
    server::{media_type::file_contents, result::CacheHints},
    skills::digest,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a file does nothing until it is part of a skill"]
pub struct SkillFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    mime_type: Option<String>,
}

impl SkillFile {
    /// Creates a file from its path within the skill, with `/` as the separator.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), mime_type: None }
    }

    /// Sets the media type. By default, it is derived from the file name extension.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Returns the URI of the file under the root of its skill.
    pub(in crate::server) fn uri(&self, root: &str) -> Result<String, String> {
        /// The characters to percent-encode in a path segment (RFC 3986, section 3.3).
        const PATH_SEGMENT: &AsciiSet =
            &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'+');
        let mut uri = root.to_owned();
        for segment in self.path.split('/') {
            if matches!(segment, "" | "." | "..") || segment.contains('\\') {
                return Err(format!(
                    "the path {:?} must name a file inside the skill, with / between folders",
                    self.path
                ));
            }
            uri.push('/');
            uri.extend(utf8_percent_encode(segment, PATH_SEGMENT));
        }
        Ok(uri)
    }
}

/// A file of a registered skill.
pub(in crate::server) struct StoredFile {
    uri: String,
    name: String,
    size: usize,
    digest: String,
    /// The ResourceContents object.
    pub(in crate::server) contents: Value,
    pub(in crate::server) cache: CacheHints,
}

impl StoredFile {
    pub(in crate::server) fn new(uri: &str, file: &SkillFile, cache: CacheHints) -> Self {
        Self {
            uri: uri.to_owned(),
            name: file.path.rsplit('/').next().unwrap_or_default().to_owned(),
            size: file.bytes.len(),
            digest: digest(&file.bytes),
            contents: file_contents(uri, &file.path, &file.bytes, file.mime_type.as_deref()),
            cache,
        }
    }

    pub(in crate::server) fn mime_type(&self) -> &Value {
        &self.contents["mimeType"]
    }

    /// The entry in the skill's list of files (SKL-24).
    pub(in crate::server) fn manifest_row(&self) -> Value {
        json!({"uri": self.uri, "digest": self.digest, "size": self.size})
    }

    /// The entry in the list of a folder: a Resource object.
    pub(in crate::server) fn resource(&self) -> Value {
        json!({"uri": self.uri, "name": self.name, "mimeType": self.mime_type(), "size": self.size})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};

    #[test]
    fn skl_24_digest_and_size_are_of_the_raw_bytes() {
        let row = StoredFile::new("skill://a/x", &SkillFile::new("x", "abc"), CacheHints::default()).manifest_row();
        assert_eq!(row["size"], 3);
        assert_eq!(row["digest"], "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn files_lie_below_their_skill() {
        let uri = |path: &str| SkillFile::new(path, "").uri("skill://a");
        assert_eq!(uri("b/c d.txt").unwrap(), "skill://a/b/c%20d.txt");
        for bad in ["", "/a", "a/", "a//b", "../a", "a/./b", "a\\b"] {
            assert!(uri(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_text_is_a_blob() {
        let stored = |path: &str, bytes: &[u8]| {
            StoredFile::new("skill://a/x", &SkillFile::new(path, bytes), CacheHints::default()).contents
        };
        assert_eq!(stored("a.png", b"\x89PNG")["blob"], "iVBORw==".replace("iVBORw==", &STANDARD.encode(b"\x89PNG")));
        assert_eq!(stored("a.bin", b"\0")["mimeType"], "application/octet-stream");
        assert_eq!(stored("notes", b"hi")["mimeType"], "text/plain");
        assert_eq!(stored("a/SKILL.md", b"hi")["mimeType"], "text/markdown");
    }
}
