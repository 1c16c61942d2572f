//! Template expansion (RFC 6570, section 3).

use super::{Expression, Modifier, Part, UriValue, UriVariables, Variable, parse::is_encoded};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const NOT_UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
#[rustfmt::skip]
const NOT_RESERVED: &AsciiSet = &NOT_UNRESERVED
    .remove(b':').remove(b'/').remove(b'?').remove(b'#').remove(b'[').remove(b']').remove(b'@').remove(b'!').remove(b'$')
    .remove(b'&').remove(b'\'').remove(b'(').remove(b')').remove(b'*').remove(b'+').remove(b',').remove(b';').remove(b'=');

pub(super) fn expand(parts: &[Part], values: &UriVariables) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => encode(&mut out, literal, true),
            Part::Expression(expression) => expand_expression(&mut out, expression, values),
        }
    }
    out
}

fn expand_expression(out: &mut String, expression: &Expression, values: &UriVariables) {
    let operator = expression.operator;
    let mut between = operator.first();
    for variable in &expression.variables {
        match values.get(&variable.name) {
            Some(UriValue::Text(text)) => {
                out.push_str(between);
                write_named(out, expression, variable, &[prefix(text, variable.modifier)]);
            }
            // An empty list counts as undefined.
            Some(UriValue::List(list)) if list.is_empty() => continue,
            Some(UriValue::List(list)) if variable.modifier == Modifier::Explode => {
                for item in list {
                    out.push_str(between);
                    write_named(out, expression, variable, &[item]);
                    between = operator.separator();
                }
            }
            Some(UriValue::List(list)) => {
                out.push_str(between);
                write_named(out, expression, variable, &list.iter().map(String::as_str).collect::<Vec<_>>());
            }
            None => continue,
        }
        between = operator.separator();
    }
}

/// Writes comma-separated values, preceded by their name if the operator uses names.
fn write_named(out: &mut String, expression: &Expression, variable: &Variable, values: &[&str]) {
    let operator = expression.operator;
    if operator.is_named() {
        out.push_str(&variable.name);
        let is_empty = values.iter().all(|value| value.is_empty()) && values.len() == 1;
        if !(is_empty && operator.first() == ";") {
            out.push('=');
        }
    }
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        encode(out, value, operator.keeps_reserved());
    }
}

fn prefix(text: &str, modifier: Modifier) -> &str {
    match modifier {
        Modifier::Prefix(length) => text.char_indices().nth(length).map_or(text, |(end, _)| &text[..end]),
        Modifier::None | Modifier::Explode => text,
    }
}

/// If reserved characters are kept, so are percent-encoded ones.
fn encode(out: &mut String, text: &str, keeps_reserved: bool) {
    if !keeps_reserved {
        out.extend(utf8_percent_encode(text, NOT_UNRESERVED));
        return;
    }
    let mut rest = text;
    while let Some(position) = rest.find('%') {
        out.extend(utf8_percent_encode(&rest[..position], NOT_RESERVED));
        let taken = if is_encoded(&rest[position..]) { 3 } else { 1 };
        out.push_str(if taken == 3 { &rest[position..position + 3] } else { "%25" });
        rest = &rest[position + taken..];
    }
    out.extend(utf8_percent_encode(rest, NOT_RESERVED));
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;
    use super::*;

    const EXAMPLES: [(&str, &str); 48] = [
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{+encoded}", "a%2Fb"),
        ("{encoded}", "a%252Fb"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path:6}here", "/foo/bhere"),
        ("{+list}", "red,green,blue"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("www{.dom*}", "www.example.com"),
        ("X{.empty_list}", "X"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var:1,var}", "/v/value"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&var:3}", "&var=val"),
        ("é/{var}", "%C3%A9/value"),
    ];

    #[test]
    fn the_examples_of_rfc_6570() {
        let values = UriVariables::from(
            [
                ("count", vec!["one", "two", "three"]),
                ("dom", vec!["example", "com"]),
                ("list", vec!["red", "green", "blue"]),
                ("empty_list", vec![]),
            ]
            .map(|(name, list)| (name.to_owned(), UriValue::List(list.into_iter().map(str::to_owned).collect()))),
        );
        let mut values = values;
        for (name, value) in [
            ("dub", "me/too"),
            ("hello", "Hello World!"),
            ("half", "50%"),
            ("var", "value"),
            ("who", "fred"),
            ("base", "http://example.com/home/"),
            ("path", "/foo/bar"),
            ("v", "6"),
            ("x", "1024"),
            ("y", "768"),
            ("empty", ""),
            ("encoded", "a%2Fb"),
        ] {
            values.insert(name.to_owned(), value.into());
        }
        for (template, expanded) in EXAMPLES {
            assert_eq!(UriTemplate::parse(template).unwrap().expand(&values), expanded, "{template}");
        }
    }
}
