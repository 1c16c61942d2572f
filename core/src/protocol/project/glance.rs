//! Seeing in one pass over JSON text that there is nothing to project, so that large results need not be taken apart.

use crate::protocol::Revision::{self, *};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Whether [`super::project_tool_result`] could change this result, found in one pass over its JSON without building it.
///
/// `false` is certain; text, pictures and plain resources give it. Malformed JSON gives `true`.
pub fn tool_result_needs_projection(json: &[u8], revision: Revision) -> bool {
    glance(json, Glance::ToolResult(revision), revision)
}

/// Whether [`super::project_read_result`] could change this result, found in the same way.
pub fn read_result_needs_projection(json: &[u8], revision: Revision) -> bool {
    glance(json, Glance::ReadResult(revision), revision)
}

fn glance(json: &[u8], what: Glance, revision: Revision) -> bool {
    if revision >= V2026_07_28 {
        return false;
    }
    serde_json::Deserializer::from_slice(json).deserialize_map(what).unwrap_or(true)
}

/// Looks for anything that projection would change, skipping over the rest.
#[derive(Clone, Copy)]
enum Glance {
    ToolResult(Revision),
    ReadResult(Revision),
    Blocks,
    Block,
    ManyContents,
    Contents,
}

impl<'de> serde::de::DeserializeSeed<'de> for Glance {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self {
            Self::Blocks | Self::ManyContents => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Glance {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<bool, A::Error> {
        let element = if matches!(self, Self::ManyContents) { Self::Contents } else { Self::Block };
        let mut found = false;
        while let Some(block) = blocks.next_element_seed(element)? {
            found |= block;
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            found |= match (self, key.0.as_ref()) {
                (Self::ToolResult(revision), "content") if revision < V2025_11_25 => {
                    map.next_value_seed(Self::Blocks)?
                }
                (Self::ToolResult(_), "structuredContent") => skip(&mut map)?,
                (Self::ReadResult(revision), "contents") if revision < V2025_06_18 => {
                    map.next_value_seed(Self::ManyContents)?
                }
                (Self::ToolResult(_) | Self::ReadResult(_), "resultType" | "ttlMs" | "cacheScope" | "_meta") => {
                    skip(&mut map)?
                }
                (Self::Block, "type") => {
                    let kind = map.next_value::<Key<'de>>()?;
                    !matches!(kind.0.as_ref(), "text" | "image" | "resource")
                }
                (Self::Block, "resource") => map.next_value_seed(Self::Contents)?,
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
    use super::super::{project_read_result, project_tool_result, testing::projected};
    use super::*;
    use crate::protocol::meta::SERVER_INFO;
    use serde_json::json;

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
    fn a_glance_at_contents_never_misses_what_projection_would_change() {
        let plain =
            br#"{"contents":[{"uri":"a:b","blob":"AA==","own":{"_meta":1}},{"uri":"a:c","text":"_meta"}],"own":1}"#;
        for revision in Revision::ALL {
            assert!(!read_result_needs_projection(plain, revision));
        }
        for changed in [
            json!({"contents": [], "ttlMs": 1}),
            json!({"contents": [], "cacheScope": "private"}),
            json!({"contents": [], "resultType": "complete"}),
            json!({"contents": [], "_meta": {SERVER_INFO: {}}}),
            json!({"contents": [{"uri": "a:b", "text": "", "_meta": {}}]}),
        ] {
            for revision in Revision::ALL {
                let moved = projected(project_read_result, &changed, revision) != changed;
                let glance = read_result_needs_projection(changed.to_string().as_bytes(), revision);
                assert!(glance || !moved, "{changed} on {revision}");
            }
        }
        assert!(read_result_needs_projection(b"{", V2025_11_25));
    }
}
