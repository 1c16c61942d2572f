//! The pages about the requirements: `docs/requirements.md`, which is a summary, and the full list,
//! which is only on the site. The templates next to this file contain their text.

use anyhow::Result;
use minijinja::context;
use serde_json::{Value, json};

use crate::generate::templates;
use crate::pages::SITE;
use crate::requirements::list::{List, Requirement};
use crate::requirements::scan::Mentions;
use crate::workspace::Workspace;

/// The full list, among the pages of the site.
pub(super) const LIST: &str = "requirements-list.md";

/// The numbers per area, and the requirements that are explained instead of tested.
pub(super) fn summary(workspace: &Workspace, list: &List, mentions: &Mentions) -> Result<String> {
    page(workspace, "summary.md.j2", list, mentions)
}

/// Every requirement with its tests.
pub(super) fn list(workspace: &Workspace, list: &List, mentions: &Mentions) -> Result<String> {
    page(workspace, "list.md.j2", list, mentions)
}

fn page(workspace: &Workspace, template: &str, list: &List, mentions: &Mentions) -> Result<String> {
    let mut environment = templates::environment(&workspace.path("xtask/src/requirements"))?;
    environment.add_filter("anchor", |title: String| anchor(&title));
    let row = |one: &Requirement| {
        let mut row = json!(one);
        row["tests"] = json!(mentions.of(&one.id));
        row["sides"] = json!(mentions.sides(&one.id));
        row
    };
    let groups = list.groups.iter().map(|group| {
        let requirements: Vec<Value> = group.requirements.iter().map(row).collect();
        json!({ "prefix": group.prefix, "title": group.title, "requirements": requirements })
    });
    let context = json!({ "groups": groups.collect::<Vec<_>>(), "all": list.all().map(row).collect::<Vec<_>>() });
    let context = context! { site => SITE, ..templates::value(context) };
    Ok(environment.get_template(template)?.render(context)?)
}

/// The anchor of a heading on the site.
fn anchor(title: &str) -> String {
    let letters = title.to_lowercase().replace(' ', "-");
    letters.chars().filter(|one| one.is_alphanumeric() || "-_".contains(*one)).collect()
}
