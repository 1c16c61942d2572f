//! Projection: what a value of the superset model looks like to a peer that speaks an older (or newer) revision.
//!
//! Fields that some revision defines and the peer's does not are removed; fields that no revision defines are the
//! application's own and stay. What can be said in older words is said in them.

use super::Revision;
use super::Revision::*;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;

/// The key in a result's `_meta` that names the server on 2026-07-28.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Tool,
    Block,
    ResourceLink,
    ResourceContents,
    Annotations,
    Implementation,
    CallToolResult,
    CacheableResult,
    ServerCapabilities,
    ClientCapabilities,
    Roots,
    Sampling,
    Elicitation,
}

/// The fields that not every revision has: since when, and until when (both inclusive).
#[rustfmt::skip]
const FIELDS: &[(Object, &str, Revision, Revision)] = &[
    (Object::Tool,               "annotations",       V2025_03_26, V2026_07_28),
    (Object::Tool,               "title",             V2025_06_18, V2026_07_28),
    (Object::Tool,               "outputSchema",      V2025_06_18, V2026_07_28),
    (Object::Tool,               "_meta",             V2025_06_18, V2026_07_28),
    (Object::Tool,               "icons",             V2025_11_25, V2026_07_28),
    (Object::Tool,               "execution",         V2025_11_25, V2025_11_25),
    (Object::Block,              "_meta",             V2025_06_18, V2026_07_28),
    (Object::ResourceLink,       "icons",             V2025_11_25, V2026_07_28),
    (Object::ResourceContents,   "_meta",             V2025_06_18, V2026_07_28),
    (Object::Annotations,        "lastModified",      V2025_06_18, V2026_07_28),
    (Object::Implementation,     "title",             V2025_06_18, V2026_07_28),
    (Object::Implementation,     "description",       V2025_11_25, V2026_07_28),
    (Object::Implementation,     "icons",             V2025_11_25, V2026_07_28),
    (Object::Implementation,     "websiteUrl",        V2025_11_25, V2026_07_28),
    (Object::CallToolResult,     "structuredContent", V2025_06_18, V2026_07_28),
    (Object::CallToolResult,     "resultType",        V2026_07_28, V2026_07_28),
    (Object::CacheableResult,    "resultType",        V2026_07_28, V2026_07_28),
    (Object::CacheableResult,    "ttlMs",             V2026_07_28, V2026_07_28),
    (Object::CacheableResult,    "cacheScope",        V2026_07_28, V2026_07_28),
    (Object::ServerCapabilities, "completions",       V2025_03_26, V2026_07_28),
    (Object::ServerCapabilities, "tasks",             V2025_11_25, V2025_11_25),
    (Object::ClientCapabilities, "elicitation",       V2025_06_18, V2026_07_28),
    (Object::ClientCapabilities, "tasks",             V2025_11_25, V2025_11_25),
    (Object::Roots,              "listChanged",       V2024_11_05, V2025_11_25),
    (Object::Sampling,           "context",           V2025_11_25, V2026_07_28),
    (Object::Sampling,           "tools",             V2025_11_25, V2026_07_28),
    (Object::Elicitation,        "form",              V2025_11_25, V2026_07_28),
    (Object::Elicitation,        "url",               V2025_11_25, V2026_07_28),
    // `capabilities.extensions` is only in the newest schema, but extensions are negotiated on every revision (APP-09).
];

/// Projects a tool of `tools/list`.
pub fn project_tool(tool: &mut Value, revision: Revision) {
    let Some(tool) = tool.as_object_mut() else { return };
    remove_fields(tool, Object::Tool, revision);
    if revision >= V2026_07_28 {
        return;
    }
    if tool.get("outputSchema").is_some_and(|schema| schema.get("type") != Some(&json!("object"))) {
        tool.remove("outputSchema");
    }
    for schema in ["inputSchema", "outputSchema"] {
        if let Some(properties) = tool.get_mut(schema).and_then(|schema| schema.get_mut("properties")) {
            spell_out_boolean_schemas(properties);
        }
    }
}

/// Projects a result of `tools/list`, its tools included.
pub fn project_tool_list(result: &mut Value, revision: Revision) {
    let Some(result) = result.as_object_mut() else { return };
    remove_fields(result, Object::CacheableResult, revision);
    remove_server_info(result, revision);
    for tool in result.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        project_tool(tool, revision);
    }
}

/// Projects a result of `tools/call`.
///
/// Structure that the revision cannot carry stays visible: as the text that is there already, or as a text block if there is none.
pub fn project_tool_result(result: &mut Value, revision: Revision) {
    let Some(result) = result.as_object_mut() else { return };
    let structured = match result.get("structuredContent") {
        Some(value) if revision < V2025_06_18 || (revision < V2026_07_28 && !value.is_object()) => {
            result.remove("structuredContent")
        }
        _ => None,
    };
    remove_fields(result, Object::CallToolResult, revision);
    remove_server_info(result, revision);
    if let Some(content) = result.get_mut("content").and_then(Value::as_array_mut) {
        for (index, block) in content.iter_mut().enumerate() {
            project_block(block, index, revision);
        }
        if let (Some(value), true) = (structured, content.is_empty()) {
            content.push(json!({"type": "text", "text": value.to_string()}));
        }
    }
}

/// Projects the name of a client or server.
pub fn project_implementation(implementation: &mut Value, revision: Revision) {
    if let Some(implementation) = implementation.as_object_mut() {
        remove_fields(implementation, Object::Implementation, revision);
    }
}

/// Projects the capabilities of a server.
pub fn project_server_capabilities(capabilities: &mut Value, revision: Revision) {
    if let Some(capabilities) = capabilities.as_object_mut() {
        remove_fields(capabilities, Object::ServerCapabilities, revision);
    }
}

/// Projects the capabilities of a client.
pub fn project_client_capabilities(capabilities: &mut Value, revision: Revision) {
    let Some(capabilities) = capabilities.as_object_mut() else { return };
    remove_fields(capabilities, Object::ClientCapabilities, revision);
    // Before modes existed, the capability meant forms: a client that only opens URLs does not have it.
    let url_only = |modes: &Value| modes.get("url").is_some() && modes.get("form").is_none();
    if revision < V2025_11_25 && capabilities.get("elicitation").is_some_and(url_only) {
        capabilities.remove("elicitation");
    }
    for (name, object) in
        [("roots", Object::Roots), ("sampling", Object::Sampling), ("elicitation", Object::Elicitation)]
    {
        if let Some(capability) = capabilities.get_mut(name).and_then(Value::as_object_mut) {
            remove_fields(capability, object, revision);
        }
    }
}

/// Whether [`project_tool_result`] could change this result, found in one pass over its JSON without building it.
///
/// `false` is certain; text, pictures and plain resources give it. Malformed JSON gives `true`.
pub fn tool_result_needs_projection(json: &[u8], revision: Revision) -> bool {
    if revision >= V2026_07_28 {
        return false;
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.deserialize_map(Glance::Result(revision)).unwrap_or(true)
}

fn project_block(block: &mut Value, index: usize, revision: Revision) {
    let Some(fields) = block.as_object_mut() else { return };
    remove_fields(fields, Object::Block, revision);
    if let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut) {
        remove_fields(annotations, Object::Annotations, revision);
    }
    match fields.get("type").and_then(Value::as_str) {
        Some("resource") => {
            if let Some(contents) = fields.get_mut("resource").and_then(Value::as_object_mut) {
                remove_fields(contents, Object::ResourceContents, revision);
            }
        }
        Some("resource_link") if revision < V2025_06_18 => link_to_text(fields),
        Some("resource_link") => remove_fields(fields, Object::ResourceLink, revision),
        Some("audio") if revision < V2025_03_26 => audio_to_resource(fields, index),
        _ => {}
    }
}

fn link_to_text(link: &mut Map<String, Value>) {
    let field = |key: &str| link.get(key).and_then(Value::as_str).unwrap_or_default();
    let text = format!("{}: {}", field("name"), field("uri"));
    for key in ["uri", "name", "title", "description", "mimeType", "size", "icons"] {
        link.remove(key);
    }
    link.insert("type".to_owned(), json!("text"));
    link.insert("text".to_owned(), Value::String(text));
}

fn audio_to_resource(audio: &mut Map<String, Value>, index: usize) {
    let mut resource = Map::new();
    // Nothing can be read at this URI; it only tells the blocks of one result apart.
    resource.insert("uri".to_owned(), Value::String(format!("audio:{}", index + 1)));
    resource.extend(audio.remove("mimeType").map(|mime_type| ("mimeType".to_owned(), mime_type)));
    resource.insert("blob".to_owned(), audio.remove("data").unwrap_or_default());
    audio.insert("type".to_owned(), json!("resource"));
    audio.insert("resource".to_owned(), Value::Object(resource));
}

/// Before 2026-07-28 the schema of a property is an object.
fn spell_out_boolean_schemas(properties: &mut Value) {
    for schema in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        match schema {
            Value::Bool(true) => *schema = json!({}),
            Value::Bool(false) => *schema = json!({"not": {}}),
            _ => {}
        }
    }
}

fn remove_server_info(result: &mut Map<String, Value>, revision: Revision) {
    if revision >= V2026_07_28 {
        return;
    }
    if let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut)
        && meta.remove(SERVER_INFO).is_some()
        && meta.is_empty()
    {
        result.remove("_meta");
    }
}

fn remove_fields(value: &mut Map<String, Value>, object: Object, revision: Revision) {
    for (_, field, since, until) in FIELDS.iter().filter(|row| row.0 == object) {
        if revision < *since || *until < revision {
            value.remove(*field);
        }
    }
}

/// Looks for anything that projection would change, skipping over the rest.
#[derive(Clone, Copy)]
enum Glance {
    Result(Revision),
    Content,
    Block,
    Contents,
}

impl<'de> serde::de::DeserializeSeed<'de> for Glance {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self {
            Self::Content => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Glance {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the result of a tool")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(block) = blocks.next_element_seed(Glance::Block)? {
            found |= block;
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            found |= match (self, key.0.as_ref()) {
                (Self::Result(revision), "content") if revision < V2025_11_25 => {
                    map.next_value_seed(Glance::Content)?
                }
                (Self::Result(_), "structuredContent" | "resultType" | "_meta") => skip(&mut map)?,
                (Self::Block, "type") => {
                    let kind = map.next_value::<Key<'de>>()?;
                    !matches!(kind.0.as_ref(), "text" | "image" | "resource")
                }
                (Self::Block, "resource") => map.next_value_seed(Glance::Contents)?,
                (Self::Block, "annotations" | "_meta") | (Self::Contents, "_meta") => skip(&mut map)?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
        }
        Ok(found)
    }
}

fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<bool, A::Error> {
    map.next_value::<IgnoredAny>().map(|_| true)
}

/// A string, borrowed from the input unless it has escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projected(project: fn(&mut Value, Revision), value: &Value, revision: Revision) -> Value {
        let mut value = value.clone();
        project(&mut value, revision);
        value
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn tools_keep_what_each_revision_defines_and_what_no_revision_defines() {
        let tool = json!({
            "name": "t", "title": "T", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
            "annotations": {"title": "A"}, "icons": [], "execution": {"taskSupport": "optional"}, "_meta": {}, "x-own": 1,
        });
        let fields = |revision| keys(&projected(project_tool, &tool, revision)).join(" ");
        assert_eq!(fields(V2024_11_05), "description inputSchema name x-own");
        assert_eq!(fields(V2025_03_26), "annotations description inputSchema name x-own");
        assert_eq!(fields(V2025_06_18), "_meta annotations description inputSchema name outputSchema title x-own");
        assert_eq!(
            fields(V2025_11_25),
            "_meta annotations description execution icons inputSchema name outputSchema title x-own"
        );
        assert_eq!(
            fields(V2026_07_28),
            "_meta annotations description icons inputSchema name outputSchema title x-own"
        );
    }

    #[test]
    fn tool_16_schemas_are_objects_before_2026_07_28() {
        let tool = json!({
            "name": "t",
            "inputSchema": {"type": "object", "properties": {"any": true, "none": false, "n": {"type": "integer"}}},
            "outputSchema": {"type": "array"},
        });
        let legacy = projected(project_tool, &tool, V2025_11_25);
        assert_eq!(
            legacy["inputSchema"]["properties"],
            json!({"any": {}, "none": {"not": {}}, "n": {"type": "integer"}})
        );
        assert_eq!(legacy.get("outputSchema"), None);
        assert_eq!(projected(project_tool, &tool, V2026_07_28), tool);
    }

    #[test]
    fn tool_16_structured_content_goes_where_the_revision_has_room_for_it() {
        let object = json!({"content": [{"type": "text", "text": "kept"}], "structuredContent": {"a": 1}});
        assert_eq!(projected(project_tool_result, &object, V2025_06_18), object);
        let text_only = json!({"content": [{"type": "text", "text": "kept"}]});
        assert_eq!(projected(project_tool_result, &object, V2025_03_26), text_only);

        let array = json!({"content": [], "structuredContent": [1, 2], "isError": false});
        assert_eq!(projected(project_tool_result, &array, V2026_07_28), array);
        let as_text = json!({"content": [{"type": "text", "text": "[1,2]"}], "isError": false});
        for revision in [V2024_11_05, V2025_06_18, V2025_11_25] {
            assert_eq!(projected(project_tool_result, &array, revision), as_text);
        }
    }

    #[test]
    fn blocks_that_a_revision_lacks_are_said_in_older_words() {
        let result = json!({"content": [
            {"type": "resource_link", "uri": "a:b", "name": "n", "title": "T", "icons": [], "size": 1,
             "annotations": {"priority": 1, "lastModified": "2025-01-01T00:00:00Z"}, "_meta": {}},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "t", "_meta": {}}},
            {"type": "hologram", "depth": 1},
        ]});
        let at = |revision| projected(project_tool_result, &result, revision)["content"].take();
        let link = json!({"type": "text", "text": "n: a:b", "annotations": {"priority": 1}});
        let resource = json!({"type": "resource", "resource": {"uri": "a:b", "text": "t"}});
        let sound =
            json!({"type": "resource", "resource": {"uri": "audio:2", "mimeType": "audio/wav", "blob": "AA=="}});
        assert_eq!(at(V2024_11_05), json!([link, sound, resource, {"type": "hologram", "depth": 1}]));
        assert_eq!(at(V2025_03_26)[0], link);
        assert_eq!(at(V2025_03_26)[1], result["content"][1]);
        let mut without_icons = result["content"][0].clone();
        without_icons.as_object_mut().unwrap().remove("icons");
        assert_eq!(at(V2025_06_18)[0], without_icons);
        assert_eq!(at(V2025_11_25), result["content"]);
    }

    #[test]
    fn modern_result_fields_do_not_reach_legacy_peers() {
        let list = json!({
            "tools": [{"name": "t", "inputSchema": {"type": "object"}, "title": "T"}], "nextCursor": "c", "ttlMs": 0,
            "cacheScope": "private", "resultType": "complete", "_meta": {SERVER_INFO: {"name": "s", "version": "1"}},
        });
        assert_eq!(projected(project_tool_list, &list, V2026_07_28), list);
        assert_eq!(
            projected(project_tool_list, &list, V2025_03_26),
            json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "nextCursor": "c"})
        );
        let call = json!({"content": [], "resultType": "complete", "_meta": {SERVER_INFO: {}, "own/key": 1}});
        assert_eq!(projected(project_tool_result, &call, V2025_11_25), json!({"content": [], "_meta": {"own/key": 1}}));
    }

    #[test]
    fn names_and_capabilities_follow_the_revision() {
        let name =
            json!({"name": "n", "version": "1", "title": "T", "description": "d", "icons": [], "websiteUrl": "u"});
        assert_eq!(keys(&projected(project_implementation, &name, V2025_03_26)), ["name", "version"]);
        assert_eq!(keys(&projected(project_implementation, &name, V2025_06_18)), ["name", "title", "version"]);
        assert_eq!(projected(project_implementation, &name, V2025_11_25), name);

        let server =
            json!({"tools": {}, "completions": {}, "tasks": {}, "extensions": {"a/b": {}}, "experimental": {}});
        let server_at = |revision| projected(project_server_capabilities, &server, revision);
        assert_eq!(keys(&server_at(V2024_11_05)), ["experimental", "extensions", "tools"]);
        assert_eq!(server_at(V2025_11_25), server);
        assert_eq!(keys(&server_at(V2026_07_28)), ["completions", "experimental", "extensions", "tools"]);

        let client = json!({
            "roots": {"listChanged": true}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "tasks": {},
        });
        let client_at = |revision| projected(project_client_capabilities, &client, revision);
        assert_eq!(client_at(V2025_03_26), json!({"roots": {"listChanged": true}, "sampling": {}}));
        assert_eq!(client_at(V2025_06_18), json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}}));
        assert_eq!(client_at(V2025_11_25), client);
        assert_eq!(client_at(V2026_07_28)["roots"], json!({}));
        let url_only = json!({"elicitation": {"url": {}}});
        assert_eq!(projected(project_client_capabilities, &url_only, V2025_06_18), json!({}));
    }

    #[test]
    fn a_glance_never_misses_what_projection_would_change() {
        let plain = r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"a/b"},
            {"type":"resource","resource":{"uri":"a:b","text":"_meta"}}],"isError":true,"own":{"_meta":1}}"#;
        for revision in Revision::ALL {
            assert!(!tool_result_needs_projection(plain.as_bytes(), revision));
        }
        for changed in [
            json!({"content": [], "structuredContent": 1}),
            json!({"content": [], "resultType": "complete"}),
            json!({"content": [{"type": "audio", "data": "", "mimeType": "a/b"}]}),
            json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "n", "icons": []}]}),
            json!({"content": [{"type": "text", "text": "", "_meta": {}}]}),
            json!({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "", "_meta": {}}}]}),
            json!({"content": [{"type": "text", "text": "", "annotations": {"lastModified": "x"}}]}),
            json!({"content": [], "_meta": {SERVER_INFO: {}}}),
        ] {
            for revision in Revision::ALL {
                let moved = projected(project_tool_result, &changed, revision) != changed;
                let glance = tool_result_needs_projection(changed.to_string().as_bytes(), revision);
                assert!(glance || !moved, "{changed} on {revision}");
            }
        }
        let escaped = r#"{"content":[],"structured\u0043ontent":{}}"#;
        assert!(tool_result_needs_projection(escaped.as_bytes(), V2025_03_26));
        assert!(tool_result_needs_projection(b"{\"content\":[", V2025_03_26));
    }

    #[test]
    fn odd_values_are_left_alone() {
        for odd in [json!(null), json!([]), json!({"content": 1, "tools": {}}), json!({"content": [1, {"type": 2}]})] {
            for revision in Revision::ALL {
                for project in [project_tool, project_tool_list, project_tool_result, project_client_capabilities] {
                    assert_eq!(projected(project, &odd, revision), odd);
                }
            }
        }
    }
}
