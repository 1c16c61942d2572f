//! Parses docstrings in the Google, NumPy and reST styles into a description and parameters.

use pyo3::prelude::*;

/// Parses a docstring without indentation. Returns the description, without the sections about
/// parameters, results and exceptions, and the parameters with their descriptions.
#[pyfunction]
pub(crate) fn read_docstring(text: &str) -> (String, Vec<(String, String)>) {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let mut docstring = Docstring::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at = match (lists_parameters(line.trim_end_matches(':')), lines.get(at + 1)) {
            // NumPy: an underlined title; the section ends at the next one.
            (Some(lists_parameters), Some(below)) if is_rule(below) => {
                let end = (at + 2..lines.len()).find(|next| is_title(&lines, *next)).unwrap_or(lines.len());
                docstring.section(lists_parameters, &lines[at + 2..end], 0);
                end
            }
            // Google: a title with a colon; the section is indented.
            (Some(lists_parameters), _) if line.ends_with(':') => {
                let end = end_of_indented(&lines, at + 1);
                docstring.section(lists_parameters, &lines[at + 1..end], 1);
                end
            }
            _ => match rest_field(line) {
                Some((parameter, text)) => {
                    let end = end_of_indented(&lines, at + 1);
                    docstring.field(parameter, text, &lines[at + 1..end]);
                    end
                }
                None => {
                    docstring.description.push(line);
                    at + 1
                }
            },
        };
    }
    (docstring.description.join("\n").trim().to_owned(), docstring.parameters)
}

#[derive(Default)]
struct Docstring<'a> {
    description: Vec<&'a str>,
    parameters: Vec<(String, String)>,
}

/// Returns whether a section with this title lists parameters; `None` if no section has it. Other
/// sections are omitted, because they are of no use to callers.
fn lists_parameters(title: &str) -> Option<bool> {
    match title {
        "Args" | "Arguments" | "Parameters" | "Params" | "Keyword Args" | "Keyword Arguments" | "Other Parameters" => {
            Some(true)
        }
        "Returns" | "Return" | "Yields" | "Yield" | "Raises" | "Raise" | "Exceptions" => Some(false),
        _ => None,
    }
}

/// Reads a reST field, such as `:param int days: How many.`: the parameter that it describes, if
/// any, and the text.
fn rest_field(line: &str) -> Option<(Option<&str>, &str)> {
    let (head, text) = line.strip_prefix(':')?.split_once(':')?;
    let mut words = head.split_whitespace();
    let parameter = match words.next()? {
        "param" | "parameter" | "arg" | "argument" | "key" | "keyword" => Some(words.next_back()?),
        "type" | "return" | "returns" | "rtype" | "raise" | "raises" | "except" | "exception" | "yields" => None,
        _ => return None,
    };
    Some((parameter, text.trim()))
}

impl Docstring<'_> {
    /// Reads the entries of a section. `depth` tells whether their names (1) or their descriptions
    /// (0) are indented.
    fn section(&mut self, lists_parameters: bool, lines: &[&str], depth: usize) {
        if !lists_parameters {
            return;
        }
        let margin = lines.iter().filter(|line| !line.is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
        for line in lines {
            let text = line.trim();
            if indent_of(line) > margin {
                if let (false, Some((_, described))) = (text.is_empty(), self.parameters.last_mut()) {
                    described.push_str(if described.is_empty() { "" } else { " " });
                    described.push_str(text);
                }
            } else if let Some((names, described)) = if depth == 0 { numpy_entry(text) } else { google_entry(text) } {
                self.parameters.extend(names.split(',').map(|name| (bare(name), described.to_owned())));
            }
        }
    }

    fn field(&mut self, parameter: Option<&str>, text: &str, more: &[&str]) {
        let Some(name) = parameter else { return };
        let texts = std::iter::once(text).chain(more.iter().map(|line| line.trim()));
        let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
        self.parameters.push((bare(name), text));
    }
}

/// `name` or `name (type)`, and the text after the colon.
fn google_entry(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let rest = if rest.starts_with('(') { rest.split_at(closing(rest)? + 1).1 } else { rest };
    (!name.is_empty()).then_some(())?;
    Some((name, rest.trim_start().strip_prefix(':')?.trim()))
}

/// `name : type`, or several names.
fn numpy_entry(text: &str) -> Option<(&str, &str)> {
    let names = text.split(':').next()?.trim();
    let is_name = |name: &str| {
        let name = name.trim().trim_start_matches('*');
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    names.split(',').all(is_name).then_some((names, ""))
}

/// The position of the bracket that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(index, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(index)
    })
}

fn bare(name: &str) -> String {
    name.trim().trim_start_matches('*').to_owned()
}

fn is_title(lines: &[&str], at: usize) -> bool {
    lines.get(at).is_some_and(|line| !line.is_empty() && !line.starts_with(' '))
        && lines.get(at + 1).is_some_and(|below| is_rule(below))
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// The first line from `from` on that is neither empty nor indented.
fn end_of_indented(lines: &[&str], from: usize) -> usize {
    let is_outside = |at: &usize| lines.get(*at).is_some_and(|line| !line.is_empty() && indent_of(line) == 0);
    (from..lines.len()).find(is_outside).unwrap_or(lines.len())
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
