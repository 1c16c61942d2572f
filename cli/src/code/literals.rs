//! JSON values as literals of languages.

use super::call::Form;
use serde_json::Value;

/// How a language writes objects, lists, and what is neither.
struct Syntax {
    /// The start of an object, what is between a name and its value, and the end. The outermost
    /// object may have another start and end.
    outermost: (&'static str, &'static str),
    object: (&'static str, &'static str, &'static str),
    list: (&'static str, &'static str),
    null: &'static str,
    booleans: (&'static str, &'static str),
}

const JSON: Syntax = Syntax {
    outermost: ("{", "}"),
    object: ("{", ": ", "}"),
    list: ("[", "]"),
    null: "null",
    booleans: ("true", "false"),
};

fn syntax(form: Form) -> Syntax {
    match form {
        Form::Python => Syntax { null: "None", booleans: ("True", "False"), ..JSON },
        Form::Ruby => Syntax { outermost: ("{ ", " }"), object: ("{ ", " => ", " }"), null: "nil", ..JSON },
        Form::Rust => Syntax { outermost: ("json!({", "})"), ..JSON },
        Form::Go => Syntax {
            outermost: ("map[string]any{", "}"),
            object: ("map[string]any{", ": ", "}"),
            list: ("[]any{", "}"),
            null: "nil",
            ..JSON
        },
        Form::Kotlin => Syntax {
            outermost: ("jsonObjectOf(", ")"),
            object: ("mapOf(", " to ", ")"),
            list: ("listOf(", ")"),
            ..JSON
        },
        Form::Swift => Syntax { outermost: ("[", "]"), object: ("[", ": ", "]"), null: ".null", ..JSON },
        _ => JSON,
    }
}

/// An object as a literal. C and Java have none, and get a string with JSON.
pub(super) fn object(form: Form, value: &Value) -> String {
    match form {
        Form::C | Form::Java => string(form, &value.to_string()),
        _ => literal(form, &syntax(form), value, true),
    }
}

fn literal(form: Form, syntax: &Syntax, value: &Value, is_outermost: bool) -> String {
    let inner = |value: &Value| literal(form, syntax, value, false);
    match value {
        Value::Null => syntax.null.to_owned(),
        Value::Bool(true) => syntax.booleans.0.to_owned(),
        Value::Bool(false) => syntax.booleans.1.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => string(form, text),
        // Nothing else tells their types.
        Value::Array(items) if items.is_empty() && form == Form::Kotlin => "listOf<Any?>()".to_owned(),
        Value::Object(members) if members.is_empty() && form == Form::Kotlin && !is_outermost => {
            "mapOf<String, Any?>()".to_owned()
        }
        Value::Array(items) => {
            format!("{}{}{}", syntax.list.0, items.iter().map(inner).collect::<Vec<_>>().join(", "), syntax.list.1)
        }
        Value::Object(members) if members.is_empty() && form == Form::Swift => "[:]".to_owned(),
        Value::Object(members) => {
            let (begin, between, end) = syntax.object;
            let (begin, end) = if is_outermost { syntax.outermost } else { (begin, end) };
            let member = |(name, value): (&String, &Value)| format!("{}{between}{}", string(form, name), inner(value));
            match members.is_empty() {
                true => format!("{}{}", begin.trim_end(), end.trim_start()),
                false => format!("{begin}{}{end}", members.iter().map(member).collect::<Vec<_>>().join(", ")),
            }
        }
    }
}

/// A string as a literal.
pub(super) fn string(form: Form, text: &str) -> String {
    let escaped = |letter: char| match letter {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        // They begin an expression.
        '#' if form == Form::Ruby => "\\#".to_owned(),
        '$' if form == Form::Kotlin => "\\$".to_owned(),
        // A trigraph.
        '?' if form == Form::C => "\\?".to_owned(),
        // Unseen letters could turn the line around, too.
        control if control.is_control() || matches!(control, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
            let number = u32::from(control);
            match form {
                Form::Rust | Form::Swift | Form::Ruby => format!("\\u{{{number:x}}}"),
                _ => format!("\\u{number:04x}"),
            }
        }
        other => other.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}
