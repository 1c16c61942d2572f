//! Leaves out items of lists whose name or URI an earlier item has: some model APIs refuse such a
//! list, and a call would not say which of them it means.

use super::odd_results::Oddities;
use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{
        RawJson,
        members::members,
        method::{self, Method},
    },
};
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, collections::HashSet};

/// The lists whose items differ by a key (TOOL-09). Skills may share their names (SKL-31).
const DISTINCT: [&str; 4] =
    [method::TOOLS_LIST, method::PROMPTS_LIST, method::RESOURCES_LIST, method::RESOURCES_TEMPLATES_LIST];

/// The result of a server, which has this name in the log, without the items of a list that have
/// the key of an earlier one. Otherwise as written.
pub(in crate::client) fn distinct(server: Option<&str>, method: &str, result: RawJson) -> RawJson {
    let mut items = DistinctItems::of(server, method);
    items.of_page(&result).unwrap_or(result)
}

/// The keys of the items of a list so far.
pub(in crate::client) struct DistinctItems<'m> {
    /// The member of a page that holds the list, and the key of its items.
    keyed: Option<(&'static str, &'static str)>,
    seen: HashSet<String>,
    position: usize,
    oddities: Oddities<'m>,
    /// True if an item was left out.
    pub(in crate::client) has_left_out: bool,
}

impl<'m> DistinctItems<'m> {
    pub(in crate::client) fn of(server: Option<&'m str>, method: &'m str) -> Self {
        let keyed = DISTINCT.contains(&method).then(|| Some((Method::list_member(method)?, Method::item_key(method)?)));
        Self {
            keyed: keyed.flatten(),
            seen: HashSet::new(),
            position: 0,
            oddities: Oddities::new(server, method),
            has_left_out: false,
        }
    }

    /// Sets the sender of the next page, for the log: a server may say its name late.
    pub(in crate::client) fn sent_by(&mut self, server: Option<&'m str>) {
        self.oddities.server = server;
    }

    pub(in crate::client) fn server(&self) -> Option<&'m str> {
        self.oddities.server
    }

    /// Returns whether no earlier item has the key of this one, and logs it otherwise.
    pub(in crate::client) fn is_new(&mut self, item: &RawValue) -> bool {
        let Some((member, key)) = self.keyed else { return true };
        let index = self.position;
        self.position += 1;
        let Some(value) = text_of(item, key) else { return true };
        if !self.seen.contains(&*value) {
            return self.seen.insert(value.into_owned());
        }
        self.oddities
            .warn(Some(&value), format_args!("left out {member}[{index}]: an earlier one has the same `{key}`"));
        self.has_left_out = true;
        false
    }

    /// `None` if nothing is left out.
    fn of_page(&mut self, page: &RawJson) -> Option<RawJson> {
        let (member, _) = self.keyed?;
        let mut members: IndexMap<String, &RawValue> = page.parse().ok()?;
        let list = members.get_mut(member)?;
        let mut items: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
        items.retain(|item| self.is_new(item));
        if !self.has_left_out {
            return None;
        }
        let kept = to_raw_value(&items).ok()?;
        *list = &kept;
        RawJson::from_value(&members).ok()
    }
}

fn text_of<'i>(item: &'i RawValue, key: &str) -> Option<Cow<'i, str>> {
    match members(item.get().as_bytes(), [key]) {
        Ok([value]) => value?.as_str(),
        // Readers take the last one.
        Err(_) => {
            let members: ObjectMembers = serde_json::from_str(item.get()).ok()?;
            rewriting::text(&members, key).map(Cow::Owned)
        }
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;
    use crate::tests::kept_log::KeptLog;

    #[test]
    fn tool_09_the_first_item_with_a_key_is_kept() {
        let row = |method, list: &'static str, kept: &'static str, warnings: &'static [&'static str]| {
            (method, list, kept, warnings)
        };
        for (method, list, kept, warnings) in [
            row(
                method::TOOLS_LIST,
                r#"{"tools":[{"name":"a","n":1e999},{"name":"b"},{"name":"a"},{"name":"\u0061"}],"x":1}"#,
                r#"{"tools":[{"name":"a","n":1e999},{"name":"b"}],"x":1}"#,
                &["left out tools[2]: an earlier one has the same `name`", "left out tools[3]"],
            ),
            row(method::TOOLS_LIST, r#"{"tools":[{"name":"a"},{"name":"A"}]}"#, "", &[]),
            row(
                method::TOOLS_LIST,
                r#"{"tools":[{"name":"b","name":"a"},{"name":"a"}]}"#,
                r#"{"tools":[{"name":"b","name":"a"}]}"#,
                &["left out tools[1]"],
            ),
            row(
                method::PROMPTS_LIST,
                r#"{"prompts":[{"name":"a"},{"name":"a"}]}"#,
                r#"{"prompts":[{"name":"a"}]}"#,
                &["left out prompts[1]: an earlier one has the same `name` (server=odd, method=prompts/list, item=a)"],
            ),
            row(
                method::RESOURCES_LIST,
                r#"{"resources":[{"uri":"a:b","name":"r"},{"uri":"a:c","name":"r"}]}"#,
                "",
                &[],
            ),
            row(
                method::RESOURCES_LIST,
                r#"{"resources":[{"uri":"a:b","name":"r"},{"uri":"a:b","name":"s"}]}"#,
                r#"{"resources":[{"uri":"a:b","name":"r"}]}"#,
                &["the same `uri` (server=odd, method=resources/list, item=a:b)"],
            ),
            row(
                method::RESOURCES_TEMPLATES_LIST,
                r#"{"resourceTemplates":[{"uriTemplate":"a:{b}"},{"uriTemplate":"a:{b}"}]}"#,
                r#"{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}"#,
                &["the same `uriTemplate`"],
            ),
            row(method::SKILLS_LIST, r#"{"skills":[{"uri":"a:b"},{"uri":"a:b"}]}"#, "", &[]),
            row(method::TASKS_LIST, r#"{"tasks":[{"taskId":"a"},{"taskId":"a"}]}"#, "", &[]),
            row(method::TOOLS_CALL, r#"{"tools":[{"name":"a"},{"name":"a"}]}"#, "", &[]),
        ] {
            let log = KeptLog::default();
            let given = RawJson::from_text(list.into()).unwrap();
            let read = tracing::subscriber::with_default(log.clone(), || distinct(Some("odd"), method, given));
            assert_eq!(read.as_str(), if kept.is_empty() { list } else { kept });
            let texts = log.take();
            assert_eq!(texts.len(), warnings.len(), "{texts:?}");
            for (text, part) in texts.iter().zip(warnings) {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
