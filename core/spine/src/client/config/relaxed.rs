//! Lenient parsing of configuration files: JSON with comments and trailing commas.

use jsonc_parser::ParseOptions;
use serde_json::Value;

/// The extensions that hosts write, and no others.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses JSON that may have a byte order mark, comments and trailing commas.
///
/// # Errors
/// The problem, with line and column.
pub(crate) fn json(text: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(text).map_err(|error| error.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    jsonc_parser::parse_to_serde_value(text, &OPTIONS).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::json as read;
    use serde_json::json;

    #[test]
    fn comments_commas_at_the_end_and_a_byte_order_mark_are_read() {
        let text = "\u{feff}{ // \"a\": 1,\n\"b\": [\"x // y\", \"/* \\\" */\", /* , ] */ ], /*/ */ \"c\": {\"d\": 1,\n},}\n//";
        assert_eq!(read(text.as_bytes()).unwrap(), json!({"b": ["x // y", "/* \" */"], "c": {"d": 1}}));
    }

    #[test]
    fn other_errors_keep_their_path() {
        for (text, place) in [
            ("{\n// a\n\"b\": }", "line 3 column 6"),
            ("[1,,]", "line 1 column"),
            ("[,]", "line 1 column"),
            ("[1 /", "line 1 column 4"),
            ("[1 /* ", "line 1"),
            ("[\"a", "line 1"),
            ("[\"\\", "line 1"),
            ("{'a': 1}", "line 1"),
            ("{a: 1}", "line 1"),
            ("[0x1]", "line 1"),
            ("[1 2]", "line 1"),
            ("[+1]", "line 1"),
            ("[.5]", "line 1"),
            ("[NaN]", "line 1"),
            ("[1] 2", "line 1"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(place), "{text}: {error}");
        }
    }
}
