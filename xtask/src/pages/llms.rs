//! The site for language models (llmstxt.org): `llms.txt` lists the pages, and `llms-full.txt` has
//! the text of the guides. The templates next to this file contain their form.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Entry, SITE};
use crate::generate::templates;
use crate::workspace::Workspace;

pub(super) const FILES: [&str; 2] = ["llms.txt", "llms-full.txt"];

pub(super) fn file(workspace: &Workspace, name: &str, pages: &[(Entry, String)]) -> Result<String> {
    let page = |(Entry { section, title, page }, text): &(Entry, String)| {
        let (address, about) = (address(page), first_sentence(text));
        json!({ "section": section, "title": title, "address": address, "about": about, "text": text.trim() })
    };
    let pages: Vec<Value> = pages.iter().map(page).collect();
    let environment = templates::environment(&workspace.path("xtask/src/pages"))?;
    let template = environment.get_template(&format!("{name}.j2"))?;
    Ok(template.render(templates::value(json!({ "site": SITE, "pages": pages })))?)
}

fn address(page: &str) -> String {
    let page = page.trim_end_matches(".md");
    page.strip_suffix("index").map_or_else(|| format!("{SITE}{page}/"), |folder| format!("{SITE}{folder}"))
}

/// The first sentence of the first paragraph.
fn first_sentence(page: &str) -> String {
    let is_prose = |line: &&str| !line.starts_with(['#', '<', '|', '`', '-', ' ']) && !line.is_empty();
    let paragraph: Vec<&str> = page.lines().skip_while(|line| !is_prose(line)).take_while(is_prose).collect();
    let paragraph = paragraph.join(" ");
    paragraph.find(". ").map_or(paragraph.clone(), |end| paragraph[..=end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(section: &str, page: &str, text: &str) -> (Entry, String) {
        let entry = Entry { section: section.to_owned(), title: "A page".to_owned(), page: page.to_owned() };
        (entry, text.to_owned())
    }

    #[test]
    fn pages_are_listed_with_their_first_sentence() {
        let pages = [
            page("Tasks", "tools.md", "# Tools\n\nA tool\nis one. Two.\n"),
            page("Internals", "bridge.md", "# Bridge\n"),
            page("Decisions", "decisions/index.md", "# Decisions\n"),
        ];
        let workspace = Workspace::find().unwrap();
        let [index, full] = FILES.map(|name| file(&workspace, name, &pages).unwrap());
        assert!(
            index.ends_with(&format!(
                "\n## Tasks\n\n- [A page]({SITE}tools/): A tool is one.\n\n## Optional\n\n- [A page]({SITE}bridge/)\n\
                 - [A page]({SITE}decisions/)\n"
            )),
            "{index}"
        );
        assert_eq!(full, format!("<!-- {SITE}tools/ -->\n\n# Tools\n\nA tool\nis one. Two.\n"));
    }
}
