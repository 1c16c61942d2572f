//! Agent skills, as servers and clients share them: the frontmatter of a `SKILL.md` (YAML between
//! two lines of three dashes, the Agent Skills format), and the digests of files.

use serde_json::{Map, Value};

/// The frontmatter, with every field that its author wrote (SKL-20), and what a server needs of it.
#[derive(Debug)]
pub(crate) struct Frontmatter {
    pub(crate) fields: Map<String, Value>,
    pub(crate) name: String,
    pub(crate) description: String,
}

/// Reads the frontmatter of a text (SKL-08).
///
/// # Errors
/// A missing or invalid member.
pub(crate) fn frontmatter(text: &str) -> Result<Frontmatter, String> {
    let yaml = block(text).ok_or("SKILL.md must begin with YAML frontmatter between two lines of ---")?;
    let fields = parse(yaml).map_err(|error| format!("the frontmatter of SKILL.md is not YAML: {error}"))?;
    let Value::Object(fields) = fields else { return Err("the frontmatter of SKILL.md must be a mapping".into()) };
    let text_of = |field: &str| {
        let text = fields.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| format!("the frontmatter of SKILL.md needs the string {field}"))
    };
    let (name, description) = (text_of("name")?, text_of("description")?);
    check_name(&name)?;
    if description.chars().count() > 1024 {
        return Err("the description of a skill has at most 1024 characters".into());
    }
    Ok(Frontmatter { name, description, fields })
}

#[cfg(feature = "skills")]
fn parse(yaml: &str) -> Result<Value, serde_saphyr::Error> {
    serde_saphyr::from_str(yaml)
}

#[cfg(not(feature = "skills"))]
fn parse(_: &str) -> Result<Value, &'static str> {
    Err("the cargo feature `skills` is disabled")
}

fn block(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

/// SKL-11
fn check_name(name: &str) -> Result<(), String> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    if name.len() > 64 || hyphens || !name.bytes().all(legal) {
        return Err(format!(
            "the skill name {name:?} must be 1 to 64 of a-z, 0-9 and single hyphens, with none at its ends"
        ));
    }
    Ok(())
}

/// The digest of a file as entries have it (SKL-24).
pub(crate) fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    use std::fmt::Write;
    let sum: [u8; 32] = sha2::Sha256::digest(bytes).into();
    sum.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn skl_08_and_20_frontmatter_keeps_every_field() {
        let text = "---\nname: pdf-tools\ndescription: >\n  Reads\n  PDFs.\nlicense: MIT\nmetadata:\n  a: 1\n  b: [x, true]\n---\n# Body\n---\n";
        let read = frontmatter(text).unwrap();
        assert_eq!((read.name.as_str(), read.description.as_str()), ("pdf-tools", "Reads PDFs."));
        assert_eq!(read.fields["metadata"], json!({"a": 1, "b": ["x", true]}));
        assert_eq!(read.fields["license"], "MIT");
    }

    #[test]
    fn skl_08_and_11_what_is_wrong_is_named() {
        for (text, named) in [
            ("# no frontmatter", "begin with"),
            ("---\nname: a\ndescription: b\n", "begin with"),
            ("---\n- a\n---\n", "mapping"),
            ("---\nname: [\n---\n", "not YAML"),
            ("---\nname: a\n---\n", "description"),
            ("---\ndescription: a\n---\n", "name"),
            ("---\nname: 5\ndescription: a\n---\n", "name"),
            ("---\nname: Big\ndescription: a\n---\n", "Big"),
            ("---\nname: a--b\ndescription: a\n---\n", "a--b"),
            ("---\nname: -a\ndescription: a\n---\n", "-a"),
        ] {
            let error = frontmatter(text).unwrap_err();
            assert!(error.contains(named), "{text:?}: {error}");
        }
    }
}
