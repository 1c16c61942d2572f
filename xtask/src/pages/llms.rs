//! The site for language models (llmstxt.org): `llms.txt` lists the pages, `llms-full.txt` has the
//! text of the guides, and `llms-python.txt` and so on have it with the programs of one language.
//! The templates next to this file contain their form.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::set::spelled_out;
use super::{Entry, SITE};
use crate::generate::templates;
use crate::language::Language;
use crate::workspace::Workspace;

const INDEX: &str = "llms.txt";
const FULL: &str = "llms-full.txt";

/// The names and texts of the files.
pub(super) fn files(workspace: &Workspace, pages: &[(Entry, String)]) -> Result<Vec<(String, String)>> {
    let of_all = [INDEX, FULL].map(|name| (name.to_owned(), name, None));
    let of_one = Language::listed().into_iter().map(|language| (file_of(language), FULL, Some(language)));
    let file = |(name, template, only)| Ok((name, file(workspace, template, only, pages)?));
    of_all.into_iter().chain(of_one).map(file).collect()
}

fn file_of(language: Language) -> String {
    format!("llms-{}.txt", language.name)
}

/// Renders a template with the pages, for readers of all languages or of one.
fn file(workspace: &Workspace, template: &str, only: Option<Language>, pages: &[(Entry, String)]) -> Result<String> {
    let page = |(Entry { section, title, page }, text): &(Entry, String)| {
        let (address, about) = (address(page), first_sentence(text));
        let has = |language: Language| only.is_none_or(|only| only == language);
        let path = format!("docs/{page}");
        let text = spelled_out(workspace, &path, text, has).context(path)?;
        let text = only.map_or(text.clone(), |only| without_others(&text, only));
        Ok(json!({ "section": section, "title": title, "address": address, "about": about, "text": text.trim() }))
    };
    let is_for_it = |(Entry { page, .. }, _): &&(Entry, String)| {
        let about = Language::of_page(&format!("docs/{page}"));
        only.is_none() || about.is_none() || about == only
    };
    let pages: Vec<Value> = pages.iter().filter(is_for_it).map(page).collect::<Result<_>>()?;
    let languages = Language::listed().into_iter();
    let languages: Vec<Value> =
        languages.map(|language| json!({ "title": language.title, "file": file_of(language) })).collect();
    let environment = templates::environment(&workspace.path("xtask/src/pages"))?;
    let template = environment.get_template(&format!("{template}.j2"))?;
    Ok(template.render(templates::value(json!({ "site": SITE, "pages": pages, "languages": languages })))?)
}

/// Leaves out sections about other languages, such as "Go types" or "Kotlin and Java: servlets".
fn without_others(text: &str, language: Language) -> String {
    let (mut kept, mut fenced, mut omitted) = (String::new(), false, None);
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 1 && !fenced && omitted.is_none_or(|above| level <= above) {
            let about = about(&line[level..]);
            omitted = (!about.is_empty() && !about.contains(&language)).then_some(level);
        }
        if omitted.is_none() {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The languages that a heading names before its colon, if it begins with nothing else.
fn about(heading: &str) -> Vec<Language> {
    let heading = heading.split(':').next().unwrap_or_default().trim();
    let names = heading.strip_suffix(" types").unwrap_or(heading).split(" and ");
    let languages = names.map(|name| Language::known().find(|language| language.title == name));
    languages.collect::<Option<_>>().unwrap_or_default()
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
        let [index, full] = [INDEX, FULL].map(|name| file(&workspace, name, None, &pages).unwrap());
        assert!(
            index.ends_with(&format!(
                "\n## Tasks\n\n- [A page]({SITE}tools/): A tool is one.\n\n## Optional\n\n- [A page]({SITE}bridge/)\n\
                 - [A page]({SITE}decisions/)\n"
            )),
            "{index}"
        );
        assert_eq!(full, format!("<!-- {SITE}tools/ -->\n\n# Tools\n\nA tool\nis one. Two.\n"));
    }

    #[test]
    fn a_language_has_its_own_pages_sections_and_programs() {
        let pages = [
            page("Tutorials", "tutorial-go.md", "# Tutorial: Go\n"),
            page("Tutorials", "tutorial-java.md", "# Tutorial: Java\n"),
            page("Servers", "tools.md", "# Tools\n\n```python docs/snippets/tools.py\nx = 1\n```\n"),
            page("Servers", "schema.md", "## Kotlin and Java: a\nJ\n### b\nJ\n## Go types\nG\n## All\nA\n"),
        ];
        let made = files(&Workspace::find().unwrap(), &pages).unwrap();
        let text = |name: &str| &made.iter().find(|(file, _)| file == name).expect("a file").1;
        let go = text("llms-go.txt");
        assert!(go.contains("# Tutorial: Go") && !go.contains("Java"), "{go}");
        assert!(go.contains("```go docs/snippets/tools.go\n// A tool") && !go.contains("x = 1"), "{go}");
        assert!(go.contains("## Go types\nG\n## All\nA") && !go.contains("\nJ\n"), "{go}");
        let java = text("llms-java.txt");
        assert!(java.contains("## Kotlin and Java: a\nJ\n### b\nJ\n## All"), "{java}");
        assert!(text("llms.txt").contains(&format!("[Go]({SITE}llms-go.txt)")));
    }
}
