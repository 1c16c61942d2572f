//! Members of descriptors that no revision knows.

use super::error::RegisterError;
use crate::protocol::{
    describe::{Described, Type},
    options::nearest,
};
use serde_json::Value;

/// Refuses members that are known ones misspelt, and warns of others that the type does not have:
/// these are sent as they are, for a newer revision or an extension may have them.
pub(super) fn check_members<T: Described>(what: &str, name: &str, descriptor: &Value) -> Result<(), RegisterError> {
    check(T::TYPE, "", descriptor).map_err(|(path, known)| {
        RegisterError(format!("The {what} {name} has an unknown member {path}: is it {known}?"))
    })?;
    let Type::Model(model) = T::TYPE else { return Ok(()) };
    for member in descriptor.as_object().into_iter().flat_map(|members| members.keys()) {
        if !model.fields.iter().any(|field| field.json == member) {
            tracing::warn!(
                target: "trunkline::server::registry",
                kind = what,
                name,
                member,
                "a descriptor has a member that the protocol does not know"
            );
        }
    }
    Ok(())
}

/// The path of a misspelt member and the name that was meant, at any depth.
fn check(ty: Type, path: &str, value: &Value) -> Result<(), (String, &'static str)> {
    let (Type::Model(model), Some(members)) = (ty, value.as_object()) else { return Ok(()) };
    for (name, value) in members {
        let path = format!("{path}/{name}");
        match model.fields.iter().find(|field| field.json == name) {
            Some(field) => check(field.ty, &path, value)?,
            None => {
                if let Some(known) = nearest(name, model.fields.iter().map(|field| field.json)) {
                    return Err((path, known));
                }
            }
        }
    }
    Ok(())
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
    fn unknown_members_of_descriptors_are_warned_of() {
        let kept = KeptLog::default();
        tracing::subscriber::with_default(kept.clone(), || {
            let right = json!({"name": "r", "title": "R", "inputSchema": {"type": "object"}, "_meta": {"x": 1}});
            server()
                .add_tool(ToolDefinition::new(right, drop::<Call>))
                .add_prompt(PromptDefinition::new(json!({"name": "p", "args": []}), drop::<Call>))
                .add_resource_template(ResourceTemplateDefinition::new(
                    json!({"uriTemplate": "a:{b}", "name": "t", "annotations": {}, "size": 1}),
                    drop::<Call>,
                ))
                .build();
        });
        let kept = kept.take();
        let expected = ["(kind=prompt, name=p, member=args)", r#"(kind="resource template", name=a:{b}, member=size)"#];
        assert_eq!(kept.len(), expected.len(), "{kept:?}");
        for (record, part) in kept.iter().zip(expected) {
            assert!(record.contains(part), "{record}");
        }
    }

    #[test]
    fn misspelt_members_of_descriptors_are_refused() {
        let server = server().build();
        let tool = |descriptor| server.add_tool(ToolDefinition::new(descriptor, drop::<Call>)).err();
        let resource = ResourceDefinition::new(json!({"uri": "a:b", "name": "b", "MimeType": "a/b"}), drop::<Call>);
        for (refused, text) in [
            (
                tool(json!({"name": "q", "descripton": "?"})),
                "The tool q has an unknown member /descripton: is it description?",
            ),
            (
                tool(json!({"name": "q", "inputschema": {}})),
                "The tool q has an unknown member /inputschema: is it inputSchema?",
            ),
            (
                tool(json!({"name": "q", "annotations": {"readOnlyHnt": true}})),
                "The tool q has an unknown member /annotations/readOnlyHnt: is it readOnlyHint?",
            ),
            (server.add_resource(resource).err(), "The resource a:b has an unknown member /MimeType: is it mimeType?"),
        ] {
            assert_eq!(refused.unwrap().to_string(), text);
        }
    }
}
