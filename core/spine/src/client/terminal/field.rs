//! One field of a form: its label, the line that the user enters, and its value.

use super::dialogue::line;
use crate::{
    protocol::{
        input::Form,
        model::{Choice, Field},
        schema::SchemaAuthor,
    },
    runtime::Console,
};
use serde_json::{Value, json};
use std::io;

/// The others can be typed in full.
const MAX_LISTED_CHOICES: usize = 100;

/// A field to fill in.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) field: &'a Field,
    pub(super) required: bool,
    /// The value that an empty line keeps.
    pub(super) before: Option<&'a Value>,
}

impl Entry<'_> {
    /// Asks until the value is valid. Returns `None` at end of input, and `Some(None)` if the field
    /// stays empty.
    pub(super) fn read(&self, console: &mut dyn Console) -> io::Result<Option<Option<Value>>> {
        let choices = self.choices();
        self.show_choices(console, &choices)?;
        loop {
            console.show(&self.label(&choices))?;
            let Some(given) = console.read_line()? else { return Ok(None) };
            let given = given.trim();
            let value = match given {
                "" if self.before.is_some() => return Ok(Some(self.before.cloned())),
                "" if !self.required => return Ok(Some(None)),
                _ => self.value(given, &choices),
            };
            match value.and_then(|value| self.check(value)) {
                Ok(value) => return Ok(Some(Some(value))),
                Err(problem) => console.show(&format!("    {}\n", line(&problem)))?,
            }
        }
    }

    fn label(&self, choices: &[Choice]) -> String {
        let Field { title, description, kind, format, .. } = self.field;
        let title = line(title.as_deref().unwrap_or(self.name));
        let description = description.as_deref().map(|text| format!(" ({})", line(text))).unwrap_or_default();
        let hint = match (kind.as_str(), format.as_deref()) {
            ("array", _) => ", numbers with commas",
            _ if !choices.is_empty() => ", a number",
            ("boolean", _) => ", yes or no",
            ("integer", _) => ", a whole number",
            ("number", _) => ", a number",
            (_, Some("email")) => ", an e-mail address",
            (_, Some("uri")) => ", a URI",
            (_, Some("date")) => ", a date such as 2026-01-31",
            (_, Some("date-time")) => ", a time such as 2026-01-31T12:00:00Z",
            _ => "",
        };
        let optional = if self.required { "" } else { ", optional" };
        let before = self.before.map(|value| format!(" [{}]", display(value))).unwrap_or_default();
        format!("  {title}{description}{hint}{optional}{before}: ")
    }

    fn show_choices(&self, console: &mut dyn Console, choices: &[Choice]) -> io::Result<()> {
        for (index, choice) in choices.iter().enumerate().take(MAX_LISTED_CHOICES) {
            console.show(&format!("  {:>4}. {}\n", index + 1, line(&choice.title)))?;
        }
        if choices.len() > MAX_LISTED_CHOICES {
            console.show(&format!("        … and {} more: type one in full\n", choices.len() - MAX_LISTED_CHOICES))?;
        }
        Ok(())
    }

    /// The choices with their titles.
    fn choices(&self) -> Vec<Choice> {
        let Field { choices, choice_names, titled_choices, items, .. } = self.field;
        let (untitled, titled) = match items {
            Some(items) => (&items.untitled, &items.titled),
            None => (choices, titled_choices),
        };
        let untitled = untitled.iter().flatten().enumerate().map(|(index, value)| {
            let title = choice_names.as_ref().and_then(|names| names.get(index)).unwrap_or(value).clone();
            Choice { value: value.clone(), title, ..Choice::default() }
        });
        untitled.chain(titled.iter().flatten().cloned()).collect()
    }

    fn value(&self, given: &str, choices: &[Choice]) -> Result<Value, String> {
        match self.field.kind.as_str() {
            "array" => {
                let given = given.split(',').map(str::trim).filter(|given| !given.is_empty());
                given.map(|given| choice(given, choices)).collect::<Result<_, _>>().map(Value::Array)
            }
            _ if !choices.is_empty() => choice(given, choices),
            "boolean" => match given.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(json!(true)),
                "n" | "no" | "false" => Ok(json!(false)),
                _ => Err("Type yes or no.".to_owned()),
            },
            "number" | "integer" => match serde_json::from_str(given) {
                Ok(number @ Value::Number(_)) => Ok(number),
                _ => Err(format!("{given:?} is not a number.")),
            },
            _ => Ok(json!(given)),
        }
    }

    /// Validates the value as the form will be validated (ELI-11).
    fn check(&self, value: Value) -> Result<Value, String> {
        let field = serde_json::to_value(self.field).map_err(|error| error.to_string())?;
        let form = Form::compile(SchemaAuthor::Peer, &json!({"type": "object", "properties": {"it": field}}));
        let checked = form.map_err(|invalid| invalid.to_string())?.check(&json!({"it": value}));
        checked.map(|()| value).map_err(|invalid| invalid.to_string().replace("/it: ", ""))
    }
}

/// Finds a choice by its number, value or title.
fn choice(given: &str, choices: &[Choice]) -> Result<Value, String> {
    let number = given.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let exact = choices.iter().find(|choice| choice.value == given || choice.title == given);
    let found = exact.or_else(|| choices.get(number?));
    found.map(|choice| json!(choice.value)).ok_or_else(|| format!("{given:?} is not one of the choices."))
}

fn display(value: &Value) -> String {
    match value {
        Value::String(text) => line(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(values) => values.iter().map(display).collect::<Vec<_>>().join(", "),
        other => line(&other.to_string()),
    }
}
