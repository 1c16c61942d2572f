//! Unknown members of descriptors.

use super::{access_options::AccessOptions, register_error::RegisterError};
use crate::protocol::{
    describe::{Described, Type},
    fault,
    known_names::nearest,
    options::Options,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Options that have no JSON form, or another name in Rust; and `requires` of tools, because it
/// restricts access and so must not be ignored elsewhere.
const OTHER_OPTIONS: [&str; 4] = ["enabled", "requires", "timeout", "visible"];

/// Deserializes a descriptor, and checks its members and the access to its feature. The error names
/// the invalid member. `kind` is the noun that error messages begin with.
pub(super) fn read<T: Described + DeserializeOwned, O: Options>(
    kind: &str,
    name: &str,
    descriptor: &Value,
    access: &AccessOptions,
) -> Result<T, RegisterError> {
    let wrong = |problem: String| RegisterError(format!("{kind} {name}: {problem}"));
    let model = fault::read(descriptor).map_err(|fault| {
        wrong(if fault.path.is_empty() { format!("the descriptor: {fault}") } else { fault.to_string() })
    })?;
    check_members::<T, O>(&kind.to_lowercase(), name, descriptor)?;
    access.check().map_err(wrong)?;
    Ok(model)
}

/// Refuses misspelled members, and options, which are set next to a descriptor: inside, an option
/// or a misspelling of one would have no effect, although the program may rely on it for access
/// control. Other unknown members may belong to a newer revision or an extension: they are sent
/// unchanged, with a warning in the log.
fn check_members<T: Described, O: Options>(what: &str, name: &str, descriptor: &Value) -> Result<(), RegisterError> {
    let options: Vec<_> = O::OBJECT.fields.iter().map(|field| field.json).chain(OTHER_OPTIONS).collect();
    check(T::TYPE, &options, "", descriptor).map_err(|(path, known)| {
        RegisterError(if path.strip_prefix('/') == Some(known) {
            format!(
                "The {what} {name} has the member {path} in its descriptor, where it has no effect: set {known} as an option next to the descriptor"
            )
        } else {
            format!("The {what} {name} has an unknown member {path}: did you mean {known}?")
        })
    })?;
    let Type::Model(model) = T::TYPE else { return Ok(()) };
    for member in descriptor.as_object().into_iter().flat_map(|members| members.keys()) {
        if !model.fields.iter().any(|field| field.json == member) {
            tracing::warn!(
                target: "trunkline::server::registry",
                kind = what,
                name,
                member,
                "a descriptor has an unknown member"
            );
        }
    }
    Ok(())
}

/// Returns the path of a misspelled member, at any depth, or of an option, and the correct name.
fn check(ty: Type, options: &[&'static str], path: &str, value: &Value) -> Result<(), (String, &'static str)> {
    let (Type::Model(model), Some(members)) = (ty, value.as_object()) else { return Ok(()) };
    for (name, value) in members {
        let path = format!("{path}/{name}");
        match model.fields.iter().find(|field| field.json == name) {
            Some(field) => check(field.ty, &[], &path, value)?,
            None => {
                let known = model.fields.iter().map(|field| field.json).chain(options.iter().copied());
                if let Some(known) = nearest(name, known) {
                    return Err((path, known));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::server::{
        Call, PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition, tests::server,
    };
    use serde_json::json;

    #[cfg(feature = "full")]
    #[test]
    fn unknown_members_of_descriptors_are_warned_of() {
        let kept = crate::tests::kept_log::KeptLog::default();
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
    fn errors_name_the_member() {
        let server = server().build();
        let tool = |descriptor| server.add_tool(ToolDefinition::new(descriptor, drop::<Call>)).err();
        let resource = |descriptor| server.add_resource(ResourceDefinition::new(descriptor, drop::<Call>)).err();
        let template = json!({"uriTemplate": "a:{b}", "name": "t", "description": ["?"]});
        let template = server.add_resource_template(ResourceTemplateDefinition::new(template, drop::<Call>)).err();
        let prompt = |descriptor| server.add_prompt(PromptDefinition::new(descriptor, drop::<Call>)).err();
        for (refused, text) in [
            (tool(json!({"name": "q", "title": 3})), "Tool q: title: must be a string, not 3"),
            (
                tool(json!({"name": "q", "annotations": {"readOnlyHint": "yes"}})),
                r#"Tool q: annotations.readOnlyHint: must be true or false, not "yes""#,
            ),
            (
                resource(json!({"uri": "a:b", "name": "b", "mimeType": 3})),
                "Resource a:b: mimeType: must be a string, not 3",
            ),
            (template, "Resource template a:{b}: description: must be a string, not a list"),
            (
                prompt(json!({"name": "p", "arguments": [{"name": "a", "required": 1}]})),
                "Prompt p: arguments[0].required: must be true or false, not 1",
            ),
        ] {
            assert_eq!(refused.unwrap().to_string(), text);
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
                "The tool q has an unknown member /descripton: did you mean description?",
            ),
            (
                tool(json!({"name": "q", "inputschema": {}})),
                "The tool q has an unknown member /inputschema: did you mean inputSchema?",
            ),
            (
                tool(json!({"name": "q", "annotations": {"readOnlyHnt": true}})),
                "The tool q has an unknown member /annotations/readOnlyHnt: did you mean readOnlyHint?",
            ),
            (
                server.add_resource(resource).err(),
                "The resource a:b has an unknown member /MimeType: did you mean mimeType?",
            ),
            (
                tool(json!({"name": "q", "scope": ["a"]})),
                "The tool q has an unknown member /scope: did you mean scopes?",
            ),
            (
                tool(json!({"name": "q", "scops": ["a"]})),
                "The tool q has an unknown member /scops: did you mean scopes?",
            ),
            (
                tool(json!({"name": "q", "timout": 3})),
                "The tool q has an unknown member /timout: did you mean timeout?",
            ),
            (
                tool(json!({"name": "q", "require": {}})),
                "The tool q has an unknown member /require: did you mean requires?",
            ),
            (
                tool(json!({"name": "q", "visibel": 1})),
                "The tool q has an unknown member /visibel: did you mean visible?",
            ),
            (
                tool(json!({"name": "q", "enable": 1})),
                "The tool q has an unknown member /enable: did you mean enabled?",
            ),
            (
                tool(json!({"name": "q", "ui": "ui://q"})),
                "The tool q has the member /ui in its descriptor, where it has no effect: set ui as an option next to the descriptor",
            ),
            (
                tool(json!({"name": "q", "scopes": ["a"]})),
                "The tool q has the member /scopes in its descriptor, where it has no effect: set scopes as an option next to the descriptor",
            ),
        ] {
            assert_eq!(refused.unwrap().to_string(), text);
        }
    }
}
