//! The lists of a server, and how they change.

use serde_json::Value;
use std::{cmp::Reverse, collections::BTreeMap, fmt};
pub use trunkline_core::protocol::schema::ChangeClass;
use trunkline_core::{
    client::{Client, ClientError, RequestOptions, readable},
    protocol::{method, schema},
};

/// The lists of a server, for comparison with later ones.
///
/// ```no_run
/// use trunkline::{Client, Surface};
///
/// # async fn run(client: &Client) -> Result<(), trunkline::ClientError> {
/// let before = Surface::of(client).await?;
/// // … the server changes …
/// for change in before.changes_to(&Surface::of(client).await?) {
///     println!("{change}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// The items by list and by name or URI.
    items: BTreeMap<(SurfaceList, String), Value>,
}

/// The kinds of items of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SurfaceList {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Resource templates.
    ResourceTemplates,
    /// Prompts.
    Prompts,
}

impl SurfaceList {
    const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::ResourceTemplates, Self::Prompts];

    /// One of its items, in words.
    pub const fn item(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources => "resource",
            Self::ResourceTemplates => "resource template",
            Self::Prompts => "prompt",
        }
    }

    /// The method, the member of its result, and the member that identifies an item.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Tools => [method::TOOLS_LIST, "tools", "name"],
            Self::Resources => [method::RESOURCES_LIST, "resources", "uri"],
            Self::ResourceTemplates => [method::RESOURCES_TEMPLATES_LIST, "resourceTemplates", "uriTemplate"],
            Self::Prompts => [method::PROMPTS_LIST, "prompts", "name"],
        }
    }
}

/// A difference between two surfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurfaceChange {
    /// The list of the item.
    pub list: SurfaceList,
    /// Its name or URI.
    pub name: String,
    /// How it differs.
    pub kind: SurfaceChangeKind,
}

/// How an item of a server differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SurfaceChangeKind {
    /// The item is new.
    Added,
    /// The item is gone.
    Removed,
    /// The item has changed: the class of the change, and the differences, worst first.
    Changed(ChangeClass, Vec<String>),
}

impl SurfaceChange {
    /// The consequence for callers.
    pub fn class(&self) -> ChangeClass {
        match self.kind {
            SurfaceChangeKind::Added => ChangeClass::Compatible,
            SurfaceChangeKind::Removed => ChangeClass::Breaking,
            SurfaceChangeKind::Changed(class, _) => class,
        }
    }
}

/// On one line: `+ tool a`, `- tool b` or `~ tool c: breaking, "x" is now required`.
impl fmt::Display for SurfaceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (item, name) = (self.list.item(), &self.name);
        match &self.kind {
            SurfaceChangeKind::Added => write!(f, "+ {item} {name}"),
            SurfaceChangeKind::Removed => write!(f, "- {item} {name}"),
            SurfaceChangeKind::Changed(class, differences) => {
                write!(f, "~ {item} {name}: {}", class.as_str())?;
                differences.iter().try_for_each(|difference| write!(f, ", {difference}"))
            }
        }
    }
}

impl Surface {
    /// Requests all lists that the server has, past the cache of the client.
    ///
    /// # Errors
    /// As for [`Client::list_all`].
    pub async fn of(client: &Client) -> Result<Self, ClientError> {
        let declared = client.described().await?.declared().unwrap_or_default();
        let mut surface = Self::default();
        for list in SurfaceList::ALL {
            let has = match list {
                SurfaceList::Tools => declared.tools.is_some(),
                SurfaceList::Resources | SurfaceList::ResourceTemplates => declared.resources.is_some(),
                SurfaceList::Prompts => declared.prompts.is_some(),
            };
            if !has {
                continue;
            }
            let [method, member, key] = list.words();
            let result = client.list_all(method, None, &RequestOptions::default().with_fresh(true)).await?;
            let result: Value = readable(&result).map_err(ClientError::InvalidResponse)?;
            for item in result[member].as_array().into_iter().flatten() {
                let name = item[key].as_str().unwrap_or_default().to_owned();
                surface.items.insert((list, name), item.clone());
            }
        }
        Ok(surface)
    }

    /// The differences of a later surface.
    pub fn changes_to(&self, later: &Self) -> Vec<SurfaceChange> {
        let change =
            |(list, name): &(SurfaceList, String), kind| SurfaceChange { list: *list, name: name.clone(), kind };
        let removed = self.items.keys().filter(|key| !later.items.contains_key(*key));
        let mut all: Vec<_> = removed.map(|key| change(key, SurfaceChangeKind::Removed)).collect();
        for (key, new) in &later.items {
            match self.items.get(key) {
                None => all.push(change(key, SurfaceChangeKind::Added)),
                Some(old) if old == new => {}
                Some(old) => {
                    let (class, differences) = differences(old, new);
                    all.push(change(key, SurfaceChangeKind::Changed(class, differences)));
                }
            }
        }
        all.sort_by(|one, other| (one.list, &one.name).cmp(&(other.list, &other.name)));
        all
    }
}

/// The class of the change of an item, and its differences, worst first.
fn differences(old: &Value, new: &Value) -> (ChangeClass, Vec<String>) {
    let mut found: Vec<(ChangeClass, String)> = schema::changes(&old["inputSchema"], &new["inputSchema"])
        .into_iter()
        .map(|change| (change.class, change.text))
        .collect();
    found.extend(arguments(old, new));
    // Readers of results break where writers of arguments do not.
    let results = schema::changes(&new["outputSchema"], &old["outputSchema"]);
    if let Some(class) = results.iter().map(|change| change.class).max() {
        found.push((class, "its result has another schema".to_owned()));
    }
    let members = [old, new].map(|item| item.as_object().into_iter().flatten());
    let mut others: Vec<_> = members.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    others.sort_unstable();
    others.dedup();
    let compared = ["inputSchema", "outputSchema", "arguments"];
    for name in others.into_iter().filter(|name| !compared.contains(name) && old[name] != new[name]) {
        found.push((ChangeClass::Text, format!("{name} has changed")));
    }
    found.sort_by_key(|change| Reverse(change.0));
    let worst = found.first().map_or(ChangeClass::Text, |(class, _)| *class);
    (worst, found.into_iter().map(|(_, text)| text).collect())
}

/// The differences in the arguments of a prompt.
fn arguments(old: &Value, new: &Value) -> Vec<(ChangeClass, String)> {
    let as_schema = |prompt: &Value| {
        let all = prompt["arguments"].as_array().into_iter().flatten();
        let named = all.filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), argument)));
        let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
        for (name, argument) in named {
            if argument["required"] == true {
                required.push(Value::from(name.as_str()));
            }
            properties
                .insert(name, serde_json::json!({"title": argument["title"], "description": argument["description"]}));
        }
        serde_json::json!({"properties": properties, "required": required})
    };
    schema::changes(&as_schema(old), &as_schema(new)).into_iter().map(|change| (change.class, change.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn surface(items: Value) -> Surface {
        let item = |item: &Value| ((SurfaceList::Tools, item["name"].as_str().unwrap().to_owned()), item.clone());
        Surface { items: items.as_array().unwrap().iter().map(item).collect() }
    }

    #[test]
    fn changes_are_lines_in_the_order_of_the_names() {
        let tool = |name: &str, required: Value, description: &str| {
            json!({"name": name, "description": description,
                   "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": required}})
        };
        let none = json!([]);
        let before = surface(json!([
            tool("add", none.clone(), "Adds."),
            tool("gone", none.clone(), ""),
            tool("same", none.clone(), "")
        ]));
        let after = surface(json!([
            tool("add", json!(["name"]), "Adds one."),
            tool("new", none.clone(), ""),
            tool("same", none, "")
        ]));
        let lines: Vec<_> = before.changes_to(&after).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            ["~ tool add: breaking, \"name\" is now required, description has changed", "- tool gone", "+ tool new",]
        );
        assert!(after.changes_to(&after).is_empty());
    }

    #[test]
    fn results_are_compared_as_their_readers_see_them() {
        let tool = |schema: Value| json!({"name": "a", "outputSchema": schema});
        let (wide, narrow) = (json!({"type": ["string", "null"]}), json!({"type": "string"}));
        for (old, new, class) in [(&wide, &narrow, ChangeClass::Compatible), (&narrow, &wide, ChangeClass::Breaking)] {
            let found = surface(json!([tool(old.clone())])).changes_to(&surface(json!([tool(new.clone())])));
            assert_eq!(found[0].class(), class, "{found:?}");
        }
    }

    #[test]
    fn arguments_of_prompts_are_compared() {
        let prompt = |required: bool| json!({"name": "a", "arguments": [{"name": "city", "required": required}]});
        let (class, texts) = differences(&prompt(false), &prompt(true));
        assert_eq!((class, &*texts), (ChangeClass::Breaking, &["\"city\" is now required".to_owned()][..]));
    }
}
