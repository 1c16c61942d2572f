//! Completion: suggestions for the arguments of prompts and resource templates.

use std::collections::BTreeMap;

json_union! {
    /// The prompt or resource template that an argument belongs to.
    pub enum CompletionReference by "type", by default Prompt, else "`type` must be \"ref/prompt\" or \"ref/resource\"" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt",
        /// A resource template.
        Resource(ResourceTemplateReference) = "ref/resource",
    }
}

json_object! {
    /// An argument to complete.
    pub struct CompleteParams with meta {
        /// The prompt or resource template that has the argument.
        required reference: CompletionReference = "ref",
        /// The argument.
        required argument: CompleteArgument = "argument",
        /// Arguments that already have values (2025-06-18 and later).
        optional context: CompleteContext = "context" since V2025_06_18,
    }

    /// An argument, with the text typed so far.
    pub struct CompleteArgument {
        /// The name.
        required name: String = "name",
        /// The text typed so far.
        required value: String = "value",
    }

    /// Arguments that already have values.
    pub struct CompleteContext {
        /// The other arguments that have a value.
        optional arguments: BTreeMap<String, String> = "arguments",
    }

    /// A prompt, given by its name.
    pub struct PromptReference as "ref/prompt" {
        /// The name.
        required name: String = "name",
        /// Display name.
        optional title: String = "title" since V2025_06_18,
    }

    /// A resource template, given by its URI template.
    pub struct ResourceTemplateReference as "ref/resource" {
        /// The URI or URI template.
        required uri: String = "uri",
    }

    /// The result of a completion request.
    pub struct CompleteResult with result {
        /// The suggestions.
        required completion: Completion = "completion",
    }

    /// Suggestions.
    pub struct Completion {
        /// Suggestions, best first; at most [`Completion::MAX_VALUES`].
        list values: String = "values",
        /// Total number of suggestions.
        optional total: u64 = "total",
        /// `true` if there are more suggestions than these.
        optional has_more: bool = "hasMore",
    }
}

impl Completion {
    /// Maximum number of suggestions in a result.
    pub const MAX_VALUES: usize = 100;

    /// Creates a completion from all suggestions, best first. The result contains the first ones
    /// and the total number.
    pub fn of<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        let total = values.len();
        values.truncate(Self::MAX_VALUES);
        let has_more = total > values.len();
        Self { values, total: Some(total as u64), has_more: Some(has_more), ..Self::default() }
    }
}

impl From<Completion> for CompleteResult {
    fn from(completion: Completion) -> Self {
        Self { completion, ..Self::default() }
    }
}

impl CompletionReference {
    /// A prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference { name: name.into(), ..PromptReference::default() })
    }

    /// A resource template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference { uri: uri.into(), ..ResourceTemplateReference::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn cmp_02_a_result_has_at_most_a_hundred_values_and_their_total() {
        let completion = Completion::of((0..250).map(|n| n.to_string()));
        assert_eq!((completion.values.len(), completion.total, completion.has_more), (100, Some(250), Some(true)));
        let all = serde_json::to_value(CompleteResult::from(Completion::of(["a"]))).unwrap();
        assert_eq!(all, json!({"completion": {"values": ["a"], "total": 1, "hasMore": false}}));
    }

    #[test]
    fn parameters_round_trip_with_unknown_fields() {
        for wire in [
            json!({"ref": {"type": "ref/prompt", "name": "p", "title": "P"}, "argument": {"name": "a", "value": ""}, "x": 1}),
            json!({"ref": {"type": "ref/resource", "uri": "a:{b}", "y": 1}, "argument": {"name": "b", "value": "c"},
                   "context": {"arguments": {"d": "e"}}}),
        ] {
            let params: CompleteParams = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(serde_json::to_value(&params).unwrap(), wire);
        }
    }

    #[test]
    fn wrong_parameters_are_errors_that_name_the_field() {
        let error = |wire: Value| serde_json::from_value::<CompleteParams>(wire).unwrap_err().to_string();
        let argument = json!({"name": "a", "value": ""});
        assert!(error(json!({"argument": argument})).contains("`ref`"));
        assert!(error(json!({"ref": {"type": "ref/tool"}, "argument": argument})).contains("\"ref/prompt\""));
        assert!(error(json!({"ref": {"type": "ref/prompt"}, "argument": argument})).contains("`name`"));
        assert!(
            error(json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a"}})).contains("`value`")
        );
    }
}
