//! The site for language models (llmstxt.org): `llms.txt` lists the pages, and `llms-full.txt` has
//! the text of the guides.

use super::{Entry, SITE};

const SUMMARY: &str = "Servers and clients for the Model Context Protocol in Rust, Python, Node.js, C, Go, Kotlin, Java and Ruby, over one core. \
                       Every revision of the protocol, over stdio and HTTP.";

/// Pages about the project itself, for its contributors.
const OF_CONTRIBUTORS: &str = "Internals";

pub(super) fn index(pages: &[(Entry, String)]) -> String {
    let mut text = format!("# Trunkline\n\n> {SUMMARY}\n\nThe whole text: {SITE}llms-full.txt\n");
    let mut section = "";
    for (entry, page) in pages {
        let heading = if entry.section.is_empty() { "Start" } else { &entry.section };
        if heading != section {
            section = heading;
            // By convention, pages under "Optional" can be omitted if context is short.
            let heading = if section == OF_CONTRIBUTORS { "Optional" } else { section };
            text.push_str(&format!("\n## {heading}\n\n"));
        }
        let about = first_sentence(page);
        text.push_str(&format!(
            "- [{}]({}){}{about}\n",
            entry.title,
            address(&entry.page),
            if about.is_empty() { "" } else { ": " }
        ));
    }
    text
}

pub(super) fn full(pages: &[(Entry, String)]) -> String {
    let taught = pages.iter().filter(|(entry, _)| entry.section != OF_CONTRIBUTORS);
    let texts: Vec<_> =
        taught.map(|(entry, page)| format!("<!-- {} -->\n\n{}", address(&entry.page), page.trim())).collect();
    format!("{}\n", texts.join("\n\n"))
}

fn address(page: &str) -> String {
    let stem = page.trim_end_matches(".md");
    if stem == "index" { SITE.to_owned() } else { format!("{SITE}{stem}/") }
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
            page(OF_CONTRIBUTORS, "bridge.md", "# Bridge\n"),
        ];
        let index = index(&pages);
        assert!(
            index.ends_with(&format!(
                "\n## Tasks\n\n- [A page]({SITE}tools/): A tool is one.\n\n## Optional\n\n- [A page]({SITE}bridge/)\n"
            )),
            "{index}"
        );
        assert_eq!(full(&pages), format!("<!-- {SITE}tools/ -->\n\n# Tools\n\nA tool\nis one. Two.\n"));
    }
}
