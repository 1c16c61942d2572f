//! Checks the pages rendered by rustdoc, whose lint for missing examples needs nightly: the main
//! types must have examples, and no page may name requirement ids, which mean nothing to its
//! readers.

use anyhow::Result;

use crate::requirements;
use crate::stamp::files_with;
use crate::test::Count;
use crate::workspace::Workspace;

/// The published crates.
pub(crate) const CRATES: [&str; 5] =
    ["trunkline", "trunkline_core", "trunkline_gateway", "trunkline_proto", "trunkline_testing"];
/// The files whose re-exports are main types.
const MAIN: [&str; 2] = ["core/src/lib.rs", "core/src/prelude.rs"];
/// Main types that are only in modules.
const OF_MODULES: [&str; 19] = [
    "Authorization",
    "Channel",
    "ClientBuilder",
    "ClientHandlers",
    "FromContext",
    "FromRef",
    "HandlerError",
    "HttpService",
    "JwtOptions",
    "Lifespan",
    "MiddlewareDefinition",
    "Next",
    "OAuthOptions",
    "Page",
    "Provider",
    "Script",
    "ServerEntry",
    "Target",
    "Telemetry",
];

/// The arguments of cargo for the pages of the published crates, with all features: the bridge
/// needs all but one of them.
pub(crate) fn arguments() -> Vec<String> {
    let packages = CRATES.iter().chain(&["trunkline_bridge"]).map(|name| name.replace('_', "-"));
    let packages = packages.flat_map(|name| ["--package".to_owned(), name]);
    let features = ["doc", "--quiet", "--no-deps", "--features", "trunkline/opentelemetry"];
    features.into_iter().map(str::to_owned).chain(packages).collect()
}

pub(crate) fn check(workspace: &Workspace) -> Result<Count> {
    let mut count = Count::default();
    let mut pages = Vec::new();
    for name in CRATES {
        for file in files_with(&workspace.target.join("doc").join(name), "html")? {
            let text = workspace.text(&file)?;
            pages.push((file, text));
        }
    }
    for name in main_types(workspace)? {
        let is_page = |kind: &&str| format!("{kind}.{name}.html");
        let wanted = ["struct", "enum", "trait", "type"].iter().map(is_page).collect::<Vec<_>>();
        let is_of =
            |file: &std::path::Path| file.file_name().is_some_and(|of| wanted.iter().any(|name| of == name.as_str()));
        // Model types may have the same name as builders.
        let mut found = pages.iter().filter(|(file, _)| is_of(file)).peekable();
        let has_example = found.peek().is_none() || found.any(|(_, text)| text.contains("class=\"example-wrap"));
        count.add((!has_example).then(|| format!("the page of {name} has no example")));
    }
    let named = requirements::finder(workspace)?;
    for (file, text) in &pages {
        let found = named(text);
        count.add((!found.is_empty()).then(|| format!("{} names {}", file.display(), found.join(", "))));
    }
    Ok(count)
}

/// The types that the crate re-exports at its root and in its prelude, and those above.
fn main_types(workspace: &Workspace) -> Result<Vec<String>> {
    let mut names: Vec<String> = OF_MODULES.iter().map(|name| (*name).to_owned()).collect();
    for file in MAIN {
        let text = workspace.text(file)?;
        for list in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let words = list.split(|c: char| !c.is_alphanumeric() && c != '_');
            names.extend(words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_owned));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}
