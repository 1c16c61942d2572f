//! Members of descriptors that no revision knows.

use crate::protocol::describe::{Described, Type};
use serde_json::Value;

/// Warns of members that the type does not have. They are sent as they are, for a newer revision or
/// an extension may have them; most of them are misspelt.
pub(super) fn warn_of_unknown<T: Described>(what: &str, name: &str, descriptor: &Value) {
    let Type::Model(model) = T::TYPE else { return };
    let known = || model.fields.iter().map(|field| field.json);
    for member in descriptor.as_object().into_iter().flat_map(|members| members.keys()) {
        if known().any(|json| json == member) {
            continue;
        }
        let hint = known().find(|json| json.eq_ignore_ascii_case(member));
        let hint = hint.map(|json| format!("; did you mean {json}?")).unwrap_or_default();
        tracing::warn!(target: "trunkline", "the {what} {name} has the member {member}, which the protocol does not know{hint}");
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        kept_log::KeptLog,
        server::{
            Call, PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition, tests::server,
        },
    };
    use serde_json::json;

    #[test]
    fn misspelt_members_of_descriptors_are_warned_of() {
        let kept = KeptLog::default();
        tracing::subscriber::with_default(kept.clone(), || {
            let tool = json!({"name": "q", "inputschema": {"type": "object"}});
            let right = json!({"name": "r", "title": "R", "inputSchema": {"type": "object"}, "_meta": {"x": 1}});
            server()
                .add_tool(ToolDefinition::new(tool, drop::<Call>))
                .add_tool(ToolDefinition::new(right, drop::<Call>))
                .add_prompt(PromptDefinition::new(json!({"name": "p", "args": []}), drop::<Call>))
                .add_resource(ResourceDefinition::new(
                    json!({"uri": "a:b", "name": "b", "MimeType": "a/b"}),
                    drop::<Call>,
                ))
                .add_resource_template(ResourceTemplateDefinition::new(
                    json!({"uriTemplate": "a:{b}", "name": "t", "annotations": {}, "size": 1}),
                    drop::<Call>,
                ))
                .build();
        });
        let kept = kept.take();
        let expected = [
            "tool q has the member inputschema, which the protocol does not know; did you mean inputSchema?",
            "prompt p has the member args,",
            "resource a:b has the member MimeType, which the protocol does not know; did you mean mimeType?",
            "resource template a:{b} has the member size,",
        ];
        assert_eq!(kept.len(), expected.len(), "{kept:?}");
        for (record, part) in kept.iter().zip(expected) {
            assert!(record.contains(part), "{record}");
        }
    }
}
