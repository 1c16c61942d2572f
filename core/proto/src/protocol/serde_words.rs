//! Rewrites serde's error messages without Rust types.

/// Rewrites serde's error messages without Rust types; others are unchanged.
pub(super) fn reworded(words: &str) -> String {
    if let Some(rest) = words.strip_prefix("missing field ") {
        return format!("{rest} is missing");
    }
    if let Some((member, rest)) = words.strip_prefix('`').and_then(|rest| rest.split_once("`: ")) {
        return format!("`{member}`: {}", reworded(rest));
    }
    let Some((given, expected)) = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| words.strip_prefix(start))
        .and_then(|rest| rest.split_once(", expected "))
    else {
        return words.to_owned();
    };
    let given = match given.split_once(' ') {
        _ if given == "map" => "an object",
        _ if given == "sequence" => "a list",
        Some(("integer" | "floating", value)) => value.trim_start_matches("point ").trim_matches('`'),
        Some(("boolean", value)) => value.trim_matches('`'),
        Some(("string", text)) if text.len() > 22 => "a string",
        Some(("string", text)) => text,
        _ => given,
    };
    let is_outside = |(least, greatest): &(i128, i128)| {
        given.parse().is_ok_and(|given: i128| given > *greatest || (given < *least && *least < 0))
    };
    if let Some((least, greatest)) = range(expected).filter(is_outside) {
        return format!("must be an integer from {least} to {greatest}, not {given}");
    }
    let expected = match expected {
        "a map" => "an object",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a non-negative integer",
        "i32" | "i64" => "a whole number",
        "f64" => "a number",
        of_rust if of_rust.starts_with("struct ") => "an object",
        other => other,
    };
    format!("must be {expected}, not {given}")
}

/// The minimum and maximum value of a Rust type.
fn range(of_rust: &str) -> Option<(i128, i128)> {
    Some(match of_rust {
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "u8" => (u8::MIN.into(), u8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "u16" => (u16::MIN.into(), u16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "u32" => (u32::MIN.into(), u32::MAX.into()),
        "i64" => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::reworded;

    #[test]
    fn words_of_serde_are_those_of_json() {
        for (words, expected) in [
            ("invalid type: integer `2`, expected a boolean", "must be true or false, not 2"),
            ("`done`: invalid type: string \"yes\", expected a boolean", "`done`: must be true or false, not \"yes\""),
            ("invalid type: sequence, expected a map", "must be an object, not a list"),
            ("invalid type: floating point `2.5`, expected u64", "must be a non-negative integer, not 2.5"),
            ("invalid value: integer `256`, expected u8", "must be an integer from 0 to 255, not 256"),
            ("invalid value: integer `-1`, expected u8", "must be a non-negative integer, not -1"),
            ("invalid value: integer `-129`, expected i8", "must be an integer from -128 to 127, not -129"),
            ("invalid type: null, expected struct Taken", "must be an object, not null"),
            ("missing field `done`", "`done` is missing"),
            ("keys have 32 bytes, in Base64", "keys have 32 bytes, in Base64"),
        ] {
            assert_eq!(reworded(words), expected);
        }
    }
}
