//! Loading agent skills. Nothing of a skill is used unless it matches its entry.

use crate::{
    client::{Client, ClientError},
    protocol::model::{ResourceContents, SkillEntry},
    skills::{digest, frontmatter},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// Limits for loading a skill (SKL-34).
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 << 20;

/// A loaded agent skill, whose instructions matched its entry. Its files are read on demand, and
/// only those that the entry lists.
///
/// A skill is third-party instructions: let the user approve it before the model gets its text. A
/// matching digest means that it is what the server lists, not that it is safe. Names of skills may
/// collide, so identify a skill by its server and URI.
///
/// ```no_run
/// # async fn run(client: trunkline::Client) -> Result<(), trunkline::ClientError> {
/// for entry in client.list_skills().await? {
///     println!("{}: {}", entry.uri, entry.frontmatter["description"]);
/// }
/// let entry = client.get_skill("skill://pdf-tools/SKILL.md").await?.skill;
/// let skill = client.load_skill(entry).await?;
/// println!("{}", skill.text());
/// let script = skill.read("scripts/extract.py").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LoadedSkill {
    client: Client,
    entry: SkillEntry,
    text: String,
}

impl fmt::Debug for LoadedSkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedSkill").field("uri", &self.entry.uri).finish_non_exhaustive()
    }
}

/// The files of a skill by URI. `None`: they change dynamically, so there is nothing to compare
/// them with (SKL-25).
type Files = Option<BTreeMap<String, ListedFile>>;

#[derive(Deserialize)]
struct ListedFile {
    uri: String,
    size: u64,
    digest: String,
}

impl Client {
    /// Loads a skill: reads its `SKILL.md` and checks it against the entry from
    /// [`Client::list_skills`] or [`Client::get_skill`].
    ///
    /// # Errors
    /// [`ClientError::InvalidResponse`] if the entry cannot be loaded (its list of files is
    /// missing, or exceeds 512 files or 16 MiB), or if the size, digest or frontmatter of the file
    /// differs; fetch the entry again in that case. Otherwise as for [`Client::request`].
    pub async fn load_skill(&self, entry: SkillEntry) -> Result<LoadedSkill, ClientError> {
        let files = files_of(&entry)?;
        let bytes = self.read_listed(&files, &entry.uri).await?;
        let text = String::from_utf8(bytes).map_err(|_| refused(&entry.uri, "it is not UTF-8"))?;
        let found = frontmatter(&text).map_err(|problem| refused(&entry.uri, &problem))?;
        if let Some(field) = difference(&entry, &found.fields) {
            return Err(refused(&entry.uri, &format!("its frontmatter differs from its entry in {field:?}")));
        }
        Ok(LoadedSkill { client: self.clone(), entry, text })
    }

    /// Reads a file of a skill, given by URI or by path relative to the `SKILL.md`.
    ///
    /// # Errors
    /// [`ClientError::InvalidResponse`] if the entry does not list the file, or its size or digest
    /// differs. Otherwise as for [`Client::request`].
    pub async fn read_skill_file(&self, entry: &SkillEntry, file: &str) -> Result<Vec<u8>, ClientError> {
        let uri = skill_file_uri(entry, file).ok_or_else(|| {
            ClientError::Invalid(format!("{file:?} must be a path inside the skill, or the URI of one of its files"))
        })?;
        self.read_listed(&files_of(entry)?, &uri).await
    }

    /// Reads a file and compares it with the entry (SKL-50, SKL-51).
    async fn read_listed(&self, files: &Files, uri: &str) -> Result<Vec<u8>, ClientError> {
        let listed = files.as_ref().map(|files| files.get(uri).ok_or("its skill does not list it")).transpose();
        let listed = listed.map_err(|problem| refused(uri, problem))?;
        let contents = self.read_resource(uri).await?.contents;
        let bytes = contents.into_iter().find_map(|contents| match contents {
            ResourceContents::Text(text) if text.uri == uri => Some(Ok(text.text.into_bytes())),
            ResourceContents::Blob(blob) if blob.uri == uri => Some(STANDARD.decode(blob.blob)),
            _ => None,
        });
        let bytes = bytes.ok_or_else(|| refused(uri, "the server returned another resource"))?;
        let bytes = bytes.map_err(|_| refused(uri, "its blob is not Base64"))?;
        let Some(listed) = listed else { return Ok(bytes) };
        if bytes.len() as u64 != listed.size {
            return Err(refused(uri, &format!("it has {} bytes, but its entry says {}", bytes.len(), listed.size)));
        }
        if digest(&bytes) != listed.digest {
            return Err(refused(uri, "its digest differs from that of its entry"));
        }
        Ok(bytes)
    }
}

impl LoadedSkill {
    /// The entry that the skill was loaded from.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// The text of its `SKILL.md` after the frontmatter: the instructions for the model.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// See [`Client::read_skill_file`].
    pub async fn read(&self, file: &str) -> Result<Vec<u8>, ClientError> {
        self.client.read_skill_file(&self.entry, file).await
    }
}

/// The URI of a file of a skill, given by URI or by path relative to the `SKILL.md`. Returns `None`
/// if the file is not inside the skill.
pub fn skill_file_uri(entry: &SkillEntry, file: &str) -> Option<String> {
    let (folder, _) = entry.uri.rsplit_once('/')?;
    if file.contains("://") {
        let inside = file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        return inside.then(|| file.to_owned());
    }
    let mut segments = Vec::new();
    for segment in file.split('/') {
        match segment {
            "." => {}
            "" => return None,
            ".." => drop(segments.pop()?),
            other => segments.push(other),
        }
    }
    Some(format!("{folder}/{}", segments.join("/")))
}

/// SKL-26, SKL-36
fn files_of(entry: &SkillEntry) -> Result<Files, ClientError> {
    let files: Vec<ListedFile> = match &entry.resources {
        Some(Value::String(text)) if text == "dynamic" => return Ok(None),
        Some(list @ Value::Array(_)) => serde_json::from_value(list.clone())
            .map_err(|error| refused(&entry.uri, &format!("its list of files is invalid: {error}")))?,
        _ => return Err(refused(&entry.uri, "its entry has no list of files")),
    };
    let bytes = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
    if files.len() > MAX_FILES || bytes > MAX_BYTES {
        let text = format!(
            "it has {} files of {bytes} bytes; the maximum is {MAX_FILES} files of {MAX_BYTES} bytes",
            files.len()
        );
        return Err(refused(&entry.uri, &text));
    }
    Ok(Some(files.into_iter().map(|file| (file.uri.clone(), file)).collect()))
}

/// Returns a field of the frontmatter that differs (SKL-54, SKL-55).
fn difference(entry: &SkillEntry, found: &serde_json::Map<String, Value>) -> Option<String> {
    let mut names = entry.frontmatter.keys().chain(found.keys());
    names.find(|name| !entry.frontmatter.get(*name).zip(found.get(*name)).is_some_and(are_equal)).cloned()
}

/// Compares values. `1` and `1.0` are equal, as in YAML and JSON.
fn are_equal(values: (&Value, &Value)) -> bool {
    match values {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => one.len() == other.len() && one.iter().zip(other).all(are_equal),
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, value): (&String, &Value)| other.get(name).is_some_and(|it| are_equal((value, it)));
            one.len() == other.len() && one.iter().all(is_there)
        }
        (one, other) => one == other,
    }
}

fn refused(uri: &str, problem: &str) -> ClientError {
    ClientError::InvalidResponse(format!("{uri} of a skill was rejected: {problem}"))
}
