//! Skills: the operations of clients, which take several requests and check the answers.

use serde::Deserialize;
use trunkline::{
    bridge_support::described,
    protocol::{
        describe::Described,
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
    Operation {
        name: LOAD,
        doc: &[
            " Loads a skill: reads its `SKILL.md`, and checks size, digest and frontmatter against the entry. A skill",
            " contains instructions from a third party: let the user approve it before the model sees it.",
        ],
        params: OperationParams::Each(LoadSkill::OBJECT.fields),
        result: Some(ResourceContents::TYPE),
        ..several_requests(LOAD)
    },
    Operation {
        name: READ_FILE,
        doc: &[" Reads a file that a skill lists, and checks size and digest against the entry."],
        params: OperationParams::Each(ReadSkillFile::OBJECT.fields),
        result: Some(ResourceContents::TYPE),
        ..several_requests(READ_FILE)
    },
];

const fn several_requests(method: &'static str) -> Operation {
    Operation {
        name: method,
        doc: &[],
        caller: Sender::Client,
        method,
        instead: None,
        params: OperationParams::Each(&[]),
        fixed: &[],
        result: None,
        item: None,
        progress: false,
    }
}

/// Returns whether a method is one of these operations.
pub(crate) fn is_operation(method: &str) -> bool {
    matches!(method, LOAD | READ_FILE)
}
