//! Skills: the operations of clients, which take several requests and check the answers.

use serde::Deserialize;
use trunkline::{
    bridge_support::described,
    protocol::{
        describe::{Described, FieldDescription},
        method::Sender,
        model::{ResourceContents, SkillEntry},
        operation::{Operation, OperationParams},
    },
};

#[cfg(feature = "skills")]
pub(crate) mod work;

const LOAD: &str = "load_skill";
const READ_FILE: &str = "read_skill_file";

described! {
    /// The skill to load.
    #[derive(Deserialize)]
    pub struct LoadSkill {
        /// The entry of the skill, as the server listed it.
        required skill: SkillEntry = "skill",
    }

    /// The file to read.
    #[derive(Deserialize)]
    pub struct ReadSkillFile {
        /// The entry of the skill, as the server listed it.
        required skill: SkillEntry = "skill",
        /// Its URI, or its path relative to the `SKILL.md`.
        required file: String = "file",
    }
}

/// The operations, for the declaration of the surface.
pub(crate) static OPERATIONS: &[Operation] = &[
    row(
        LOAD,
        &[
            " Loads a skill: reads its `SKILL.md`, and checks size, digest and frontmatter against the entry. A skill",
            " contains instructions from a third party: let the user approve it before the model sees it.",
        ],
        LoadSkill::OBJECT.fields,
    ),
    row(
        READ_FILE,
        &[" Reads a file that a skill lists, and checks size and digest against the entry."],
        ReadSkillFile::OBJECT.fields,
    ),
];

const fn row(name: &'static str, doc: &'static [&'static str], params: &'static [FieldDescription]) -> Operation {
    Operation {
        name,
        doc,
        caller: Sender::Client,
        method: name,
        instead: None,
        params: OperationParams::Each(params),
        fixed: &[],
        result: Some(ResourceContents::TYPE),
        item: None,
        progress: false,
    }
}

/// Returns whether a method is one of these operations.
pub(crate) fn is_operation(method: &str) -> bool {
    matches!(method, LOAD | READ_FILE)
}
