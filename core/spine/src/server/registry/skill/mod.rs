//! Agent skills: folders of instructions that a server exposes as resources (the skills extension,
//! SEP-2640).

mod skill_files;

pub use skill_files::SkillFile;

pub(super) use skill_files::StoredFile;

use super::{
    RegisterError,
    list::{Descriptor, listed},
    resource::{RegisteredResource, ResourceDefinition},
};
use crate::{
    protocol::{RawJson, Revision, uri},
    server::{
        handlers::{Call, Outcome},
        result::CacheHints,
    },
    skills::{Frontmatter, frontmatter},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// The file that marks a folder as a skill.
const MANIFEST: &str = "SKILL.md";
/// The number of files that every client accepts (SKL-34). Skills with more files are refused
/// (SKL-35).
const MAX_FILES: usize = 512;
const MAX_BYTES: usize = 16 * 1024 * 1024;

trunkline_proto::options! {
    /// Options of an agent skill.
    #[derive(Debug, Clone)]
    pub struct SkillOptions {
        /// URI of its folder, such as `skill://team/pdf-tools`; the last segment is the name of the
        /// skill. Without it, `skill://` and the name.
        @some(String) root: Option<String> => "root" = None,
        ;
        /// Cache hints for clients.
        cache: CacheHints,
    }
    setters skill_setters
}

/// A skill to register: its files, including `SKILL.md`.
///
/// ```
/// use trunkline::server::{SkillDefinition, SkillFile};
///
/// let manifest = "---\nname: reports\ndescription: Reads reports.\n---\nFrom the top.\n";
/// let skill = SkillDefinition::new([SkillFile::new("SKILL.md", manifest)]);
/// ```
#[must_use = "a skill does nothing until it is added to a server"]
pub struct SkillDefinition {
    files: Vec<SkillFile>,
    options: SkillOptions,
}

impl SkillDefinition {
    /// Creates a skill from its files. Its URI is `skill://` followed by its name, unless you set
    /// [`Self::root`].
    pub fn new(files: impl IntoIterator<Item = SkillFile>) -> Self {
        Self { files: files.into_iter().collect(), options: SkillOptions::default() }
    }

    /// Sets all options at once.
    pub fn options(mut self, options: SkillOptions) -> Self {
        self.options = options;
        self
    }

    skill_setters!(self, self.options);

    /// Sets for how long clients may cache the contents.
    pub fn cache(mut self, hints: CacheHints) -> Self {
        self.options.cache = hints;
        self
    }

    pub(in crate::server) fn compile(self) -> Result<RegisteredSkill, RegisterError> {
        let Self { files, options: SkillOptions { root, cache } } = self;
        let manifest = files.iter().find(|file| file.path == MANIFEST);
        let manifest =
            manifest.ok_or_else(|| RegisterError(format!("A skill needs the file {MANIFEST} at its root")))?;
        let text = std::str::from_utf8(&manifest.bytes)
            .map_err(|_| RegisterError(format!("{MANIFEST} of a skill must be text in UTF-8")))?;
        let front = frontmatter(text).map_err(RegisterError)?;
        let wrong = |problem: String| RegisterError(format!("Skill {}: {problem}", front.name));
        let root = root.unwrap_or_else(|| format!("skill://{}", front.name));
        uri::check(&root).map_err(|problem| wrong(problem.to_string()))?;
        if root.rsplit('/').next() != Some(front.name.as_str()) {
            return Err(wrong(format!("its root {root} must end with its name")));
        }
        if files.len() > MAX_FILES || files.iter().map(|file| file.bytes.len()).sum::<usize>() > MAX_BYTES {
            return Err(wrong(format!("more than {MAX_FILES} files, or {MAX_BYTES} bytes in all")));
        }
        let mut stored = BTreeMap::new();
        for file in &files {
            let place = file.uri(&root).map_err(wrong)?;
            if stored.insert(place.clone(), Arc::new(StoredFile::new(&place, file, cache))).is_some() {
                return Err(wrong(format!("the file {} is given twice", file.path)));
            }
        }
        let uri = format!("{root}/{MANIFEST}");
        let resources: Vec<_> = stored.values().map(|file| file.manifest_row()).collect();
        let entry = json!({"uri": uri, "frontmatter": front.fields, "resources": resources});
        let resource = manifest_resource(&uri, &front, &stored[&uri], cache)?;
        let descriptor = Descriptor::new(entry, as_it_is);
        Ok(RegisteredSkill { uri, root, descriptor, cache, files: stored, resource: Arc::new(resource) })
    }
}

/// Skills exist on one revision only, so there is nothing to convert.
fn as_it_is(_: &mut Value, _: Revision) {}

/// Returns the entry of a skill in `resources/list` (SKL-15).
fn manifest_resource(
    uri: &str,
    front: &Frontmatter,
    file: &StoredFile,
    cache: CacheHints,
) -> Result<RegisteredResource, RegisterError> {
    let contents = RawJson::from_value(&file.contents).map_err(|error| RegisterError(error.to_string()))?;
    let descriptor =
        json!({"uri": uri, "name": front.name, "description": front.description, "mimeType": file.mime_type()});
    let handler = move |call: Call| {
        call.complete(Outcome::Content(contents.clone()));
    };
    ResourceDefinition::new(descriptor, handler).cache(cache).compile()
}

/// A registered skill.
pub(crate) struct RegisteredSkill {
    uri: String,
    pub(in crate::server) root: String,
    descriptor: Descriptor,
    pub(in crate::server) cache: CacheHints,
    pub(in crate::server) files: BTreeMap<String, Arc<StoredFile>>,
    /// Its `SKILL.md`, as listed in `resources/list`.
    pub(in crate::server) resource: Arc<RegisteredResource>,
}

impl RegisteredSkill {
    /// Checks nested skills: the inner one is a part of the outer one, so both must list the same
    /// files there (SKL-22, SKL-23).
    pub(in crate::server) fn check_nesting(&self, other: &Self) -> Result<(), RegisterError> {
        let inside = |inner: &Self, outer: &Self| inner.root.starts_with(&format!("{}/", outer.root));
        let (inner, outer) = match (inside(self, other), inside(other, self)) {
            (true, _) => (self, other),
            (_, true) => (other, self),
            _ => return Ok(()),
        };
        let folder = format!("{}/", inner.root);
        let shared = outer.files.range(folder.clone()..).take_while(|(place, _)| place.starts_with(&folder));
        if shared.map(|(_, file)| file.manifest_row()).eq(inner.files.values().map(|file| file.manifest_row())) {
            return Ok(());
        }
        Err(RegisterError(format!(
            "The skill {} is inside the skill {}, which must contain exactly the same files there",
            inner.root, outer.root
        )))
    }

    /// Warns if both skills have the same name. Names should be unique within a list (SKL-30), but
    /// skills in different folders may share one.
    pub(in crate::server) fn warn_of_same_name(&self, other: &Self) {
        let name = |skill: &Self| skill.root.rsplit('/').next().map(str::to_owned);
        if name(self) == name(other) {
            tracing::warn!(target: "trunkline::server::registry", skill = other.root, other = self.root, "two skills have the same name: clients that identify skills by name will confuse them");
        }
    }
}

listed!(RegisteredSkill, "A skill", uri, resource.read.options.access);

#[cfg(all(test, feature = "full"))]
mod tests {
    use crate::{
        server::{SkillDefinition, SkillFile, tests::server},
        tests::kept_log::KeptLog,
    };

    #[test]
    fn skl_30_skills_of_one_name_are_warned_of() {
        let skill = |root: &str| {
            let text = format!("---\nname: {}\ndescription: A skill\n---\n", root.rsplit('/').next().unwrap());
            SkillDefinition::new([SkillFile::new("SKILL.md", text)]).root(root)
        };
        let kept = KeptLog::default();
        tracing::subscriber::with_default(kept.clone(), || {
            let server = server().add_skill(skill("skill://a/pdf")).add_skill(skill("skill://a/web")).build();
            assert_eq!(kept.take(), [] as [String; 0]);
            server.add_skill(skill("skill://b/pdf")).unwrap();
        });
        let told = kept.take();
        assert!(told.len() == 1 && told[0].contains("skill://a/pdf") && told[0].contains("skill://b/pdf"), "{told:?}");
    }
}
