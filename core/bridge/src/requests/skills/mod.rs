//! Skills: the operations of clients, which take several requests and check the answers.

use trunkline::protocol::{
    describe::{Described, FieldDescription, Presence, Type},
    method::Sender,
    model::{ResourceContents, SkillEntry},
    operation::{Operation, OperationParams},
};

#[cfg(feature = "skills")]
pub(crate) mod work;
#[cfg(not(feature = "skills"))]
#[path = "no_work.rs"]
pub(crate) mod work;

const LOAD: &str = "load_skill";
const READ_FILE: &str = "read_skill_file";

const SKILL: FieldDescription = FieldDescription {
    name: "skill",
    json: "skill",
    doc: &[" The entry of the skill, as the server listed it."],
    presence: Presence::Required,
    ty: SkillEntry::TYPE,
    unit: None,
    limit: None,
    default: None,
};

/// The operations, for the declaration of the surface.
pub(crate) static OPERATIONS: &[Operation] = &[
    Operation {
        name: LOAD,
        doc: &[
            " Loads a skill: reads its `SKILL.md`, and checks size, digest and frontmatter against the entry. A skill is",
            " instructions of a stranger: let the user approve it before the model gets its text.",
        ],
        params: OperationParams::Each(&[SKILL]),
        result: Some(ResourceContents::TYPE),
        ..several_requests(LOAD)
    },
    Operation {
        name: READ_FILE,
        doc: &[" Reads a file that a skill lists, and checks size and digest against the entry."],
        params: OperationParams::Each(&[
            SKILL,
            FieldDescription {
                name: "file",
                json: "file",
                doc: &[" Its URI, or its path relative to the `SKILL.md`."],
                presence: Presence::Required,
                ty: Type::String,
                unit: None,
                limit: None,
                default: None,
            },
        ]),
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
