//! The navigation of the site, as its generator reads it.

/// The settings of the site generator; each line of its `nav` is a page or starts a section.
pub(super) const FILE: &str = "docs/zensical.toml";

/// A page and its section.
pub(crate) struct Entry {
    pub(crate) section: String,
    pub(crate) title: String,
    pub(crate) page: String,
}

pub(crate) fn entries(settings: &str) -> Vec<Entry> {
    let (mut found, mut section) = (Vec::new(), String::new());
    for line in settings.lines().map(str::trim) {
        let Some((title, rest)) = line.strip_prefix("{ \"").and_then(|rest| rest.split_once("\" = ")) else {
            continue;
        };
        match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((page, _)) => found.push(Entry { section: section.clone(), title: title.into(), page: page.into() }),
            None => section = title.into(),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_their_section() {
        let settings =
            "nav = [\n  { \"Start\" = \"index.md\" },\n  { \"Tasks\" = [\n    { \"Tools\" = \"tools.md\" },\n  ] },\n]";
        let found: Vec<_> =
            entries(settings).into_iter().map(|entry| (entry.section, entry.title, entry.page)).collect();
        let entry = |section: &str, title: &str, page: &str| (section.to_owned(), title.to_owned(), page.to_owned());
        assert_eq!(found, [entry("", "Start", "index.md"), entry("Tasks", "Tools", "tools.md")]);
    }
}
