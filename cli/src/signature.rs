//! How tools and prompts are called, for people.

use trunkline::protocol::{
    model::{Prompt, Tool},
    schema::{ArgumentDescription, describe_arguments},
};

/// A tool with its arguments, such as `echo(message: string, times?: integer)`.
pub(crate) fn of_tool(tool: &Tool) -> String {
    let argument = |argument: &ArgumentDescription| {
        format!("{}{}: {}", argument.name, if argument.is_required { "" } else { "?" }, argument.kind)
    };
    let arguments: Vec<_> = describe_arguments(&tool.input_schema).iter().map(argument).collect();
    format!("{}({})", tool.name, arguments.join(", "))
}

/// A prompt with its arguments, such as `review(code, language?)`.
pub(crate) fn of_prompt(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten();
    let arguments: Vec<_> =
        arguments.map(|one| format!("{}{}", one.name, if one.required { "" } else { "?" })).collect();
    format!("{}({})", prompt.name, arguments.join(", "))
}
