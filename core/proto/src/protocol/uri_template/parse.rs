//! Parses the grammar of RFC 6570, section 2.

use super::{Expression, Modifier, Operator, Part, UriTemplateError, Variable};

/// Maximum length of a template in bytes: longer than any sensible URI.
const MAX_LENGTH: usize = 8192;
/// Maximum number of variables.
const MAX_VARIABLES: usize = 64;

pub(super) fn parse(text: &str) -> Result<Vec<Part>, UriTemplateError> {
    if text.len() > MAX_LENGTH {
        return Err(error(MAX_LENGTH, format!("more than {MAX_LENGTH} bytes")));
    }
    let mut parts = Vec::new();
    let mut variables = 0;
    let mut position = 0;
    while position < text.len() {
        let rest = &text[position..];
        if rest.starts_with('{') {
            let end = rest.find('}').ok_or_else(|| error(position, "a \"{\" without its \"}\"".to_owned()))?;
            let expression = expression(&rest[1..end], position + 1)?;
            variables += expression.variables.len();
            if variables > MAX_VARIABLES {
                return Err(error(position, format!("more than {MAX_VARIABLES} variables")));
            }
            parts.push(Part::Expression(expression));
            position += end + 1;
        } else {
            let end = rest.find('{').unwrap_or(rest.len());
            check_literal(&rest[..end], position)?;
            parts.push(Part::Literal(rest[..end].to_owned()));
            position += end;
        }
    }
    Ok(parts)
}

fn check_literal(literal: &str, start: usize) -> Result<(), UriTemplateError> {
    for (index, character) in literal.char_indices() {
        match character {
            '}' => return Err(error(start + index, "a \"}\" without its \"{\"".to_owned())),
            '%' if !is_encoded(&literal[index..]) => {
                return Err(error(start + index, "a \"%\" without two hexadecimal digits".to_owned()));
            }
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' => {
                return Err(error(start + index, format!("{character:?}, which no URI may contain,")));
            }
            _ if character.is_control() => return Err(error(start + index, "a control character".to_owned())),
            _ => {}
        }
    }
    Ok(())
}

fn expression(text: &str, start: usize) -> Result<Expression, UriTemplateError> {
    let operator = match text.bytes().next() {
        None => return Err(error(start, "an expression without a variable".to_owned())),
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::PathParameters,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::QueryContinuation,
        Some(reserved @ (b'=' | b',' | b'!' | b'@' | b'|')) => {
            return Err(error(start, format!("the reserved operator \"{}\"", char::from(reserved))));
        }
        Some(_) => Operator::Simple,
    };
    let mut position = start + operator_length(operator);
    let mut variables = Vec::new();
    for specification in text[operator_length(operator)..].split(',') {
        variables.push(variable(specification, position)?);
        position += specification.len() + 1;
    }
    Ok(Expression { operator, variables })
}

fn operator_length(operator: Operator) -> usize {
    usize::from(operator != Operator::Simple)
}

fn variable(text: &str, start: usize) -> Result<Variable, UriTemplateError> {
    let end = text.find(['*', ':']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    check_name(name, start)?;
    let modifier = match rest.split_at_checked(1) {
        None => Modifier::None,
        Some(("*", "")) => Modifier::Explode,
        // RFC 6570, section 2.4.1: 1 to 9999.
        Some((":", digits)) if digits.len() <= 4 && !digits.starts_with('0') && is_number(digits) => {
            Modifier::Prefix(digits.parse().unwrap_or(usize::MAX))
        }
        Some((":", _)) => return Err(error(start + end, "a prefix length that is not 1 to 9999".to_owned())),
        Some(_) => return Err(error(start + end + 1, "more after \"*\"".to_owned())),
    };
    Ok(Variable { name: name.to_owned(), modifier })
}

fn check_name(name: &str, start: usize) -> Result<(), UriTemplateError> {
    if name.is_empty() {
        return Err(error(start, "an empty variable name".to_owned()));
    }
    let mut dotted = true;
    for (index, character) in name.char_indices() {
        let allowed = match character {
            '.' => !dotted && index + 1 < name.len(),
            '%' => is_encoded(&name[index..]),
            _ => character.is_ascii_alphanumeric() || character == '_',
        };
        if !allowed {
            let problem =
                format!("{character:?} in a variable name, which has only letters, digits, \"_\" and single dots,");
            return Err(error(start + index, problem));
        }
        dotted = character == '.';
    }
    Ok(())
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns whether a string starts with `%` and two hexadecimal digits.
pub(super) fn is_encoded(text: &str) -> bool {
    matches!(text.as_bytes(), [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

fn error(position: usize, problem: String) -> UriTemplateError {
    UriTemplateError { position, problem }
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;

    #[test]
    fn res_10_errors_name_the_position() {
        for (template, position, problem) in [
            ("a:{b", 2, "without its \"}\""),
            ("a:b}", 3, "without its \"{\""),
            ("a:{}", 3, "without a variable"),
            ("a:{?}", 4, "empty variable name"),
            ("a:{b,}", 5, "empty variable name"),
            ("a:{b{c}", 4, "'{'"),
            ("a:{b-c}", 4, "'-'"),
            ("a:{b..c}", 5, "'.'"),
            ("a:{b.}", 4, "'.'"),
            ("a:{!b}", 3, "reserved operator"),
            ("a:{b:0}", 4, "1 to 9999"),
            ("a:{b:12345}", 4, "1 to 9999"),
            ("a:{b:+1}", 4, "1 to 9999"),
            ("a:{b*c}", 5, "after \"*\""),
            ("a: {b}", 2, "' '"),
            ("a:%4{b}", 2, "hexadecimal"),
            ("a:\n", 2, "control"),
            ("é:{ü}", 4, "'ü'"),
        ] {
            let error = UriTemplate::parse(template).unwrap_err();
            assert_eq!(error.position, position, "{template}: {error}");
            assert!(error.to_string().contains(problem), "{template}: {error}");
        }
    }

    // Compiling the longest template takes Miri too long.
    #[cfg(not(miri))]
    #[test]
    fn templates_that_are_too_large_are_refused() {
        assert!(UriTemplate::parse(&"a".repeat(8193)).is_err());
        assert!(UriTemplate::parse(&"{a}".repeat(65)).unwrap_err().problem.contains("64 variables"));
        assert!(UriTemplate::parse(&"/{a}".repeat(64)).is_ok());
        assert!(UriTemplate::parse(&"é".repeat(4096)).is_ok());
    }

    #[test]
    fn variables_are_listed_once_in_order() {
        let template = UriTemplate::parse("a:{z,b*}/{+c.d:3}{?z,%41}").unwrap();
        assert_eq!(template.variables(), ["z", "b", "c.d", "%41"]);
        assert_eq!(template.to_string(), template.as_str());
        assert!(UriTemplate::parse("plain:uri").unwrap().variables().is_empty());
    }
}
