//! Placeholders for environment variables and for variables of the host.

/// Some hosts write it before the names of environment variables.
const ENVIRONMENT_PREFIX: &str = "env:";
/// The user's home directory, as VS Code and Cursor name it.
pub(crate) const HOME: &str = "userHome";

/// Variables that hosts define and the environment does not.
const HOST_VARIABLES: [&str; 3] = ["workspaceFolder", "workspaceFolderBasename", "pathSeparator"];

/// Replaces `${NAME}`, `${NAME:-default}`, `${env:NAME}` and opencode's `{env:NAME}`, and other
/// names that `variable` knows, such as `${input:key}`. A dollar sign without a brace is literal.
pub(super) fn replace(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((start, opening)) = next(rest) {
        replaced.push_str(&rest[..start]);
        let inside = &rest[start + opening..];
        let end = inside.find('}').ok_or_else(|| format!("has {:?} without \"}}\"", &rest[start..start + 2]))?;
        replaced.push_str(&value(&inside[..end], variable)?);
        rest = &inside[end + 1..];
    }
    replaced.push_str(rest);
    Ok(replaced)
}

/// Where the next placeholder starts, and the bytes before its name.
fn next(text: &str) -> Option<(usize, usize)> {
    let usual = text.find("${").map(|start| (start, 2));
    let without_dollar = text.find("{env:").map(|start| (start, 1));
    usual.into_iter().chain(without_dollar).min()
}

fn value(placeholder: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let with_default = placeholder.split_once(":-");
    let (name, default) = with_default.map_or((placeholder, None), |(name, default)| (name, Some(default)));
    let name = name.strip_prefix(ENVIRONMENT_PREFIX).unwrap_or(name);
    // As in shells, `:-` also replaces an empty variable.
    let found = variable(name).filter(|found| default.is_none() || !found.is_empty());
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    found.or_else(|| default.map(str::to_owned)).ok_or_else(|| match is_plain && !HOST_VARIABLES.contains(&name) {
        true => {
            format!("needs the environment variable {name}, which is not set; set it, or write ${{{name}:-default}}")
        }
        false => format!("has the placeholder ${{{name}}}: give its value in the option `variables`, under \"{name}\""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> Result<String, String> {
        replace(text, &|name| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "EMPTY" => Some(String::new()),
            "input:api key" => Some("k".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn variables_and_defaults_stand_in_for_placeholders() {
        for (text, expected) in [
            ("plain $5 {x}", "plain $5 {x}"),
            ("${HOME}/notes", "/home/ada/notes"),
            ("${env:HOME}:${HOME}", "/home/ada:/home/ada"),
            ("Bearer {env:HOME}${HOME}", "Bearer /home/ada/home/ada"),
            ("${NONE:-a:-b}", "a:-b"),
            ("${input:api key}", "k"),
            ("${input:x:-d}", "d"),
            ("${EMPTY}|${EMPTY:-x}|${NONE:-}", "|x|"),
            ("https://${HOST:-localhost:8000}/mcp", "https://localhost:8000/mcp"),
        ] {
            assert_eq!(replaced(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_value_is_not_searched_for_placeholders() {
        assert_eq!(replace("${A}", &|_| Some("${B}".to_owned())), Ok("${B}".to_owned()));
    }

    #[test]
    fn placeholders_without_a_value_are_refused() {
        for (text, problem) in [
            ("${NONE}", "environment variable NONE"),
            ("${input:key}", "${input:key}: give its value in the option `variables`, under \"input:key\""),
            ("${workspaceFolder}/a", "option `variables`"),
            ("${}", "${}"),
            ("${HOME", "has \"${\" without"),
            ("{env:HOME", "without"),
        ] {
            let error = replaced(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
