//! Finds requirement ids in text (`HTTP-07`) and in names (`http_07_…`).

/// The ids in a text: `HTTP-07`, `SUB-01 to SUB-03`. Those of one range are grouped.
pub(super) fn in_text(text: &str, prefixes: &[String]) -> Vec<Vec<String>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut ids = Vec::new();
    for (dash, _) in text.match_indices('-') {
        let start = bytes[..dash].iter().rposition(|byte| !is_word(*byte)).map_or(0, |before| before + 1);
        let Some(number) = text.get(dash + 1..dash + 3).filter(|number| is_number(number)) else { continue };
        let ends = bytes.get(dash + 3).is_none_or(|byte| !is_word(*byte));
        let prefix = &text[start..dash];
        if ends && prefixes.iter().any(|known| known == prefix) {
            let last = text[dash + 3..].strip_prefix(" to ").and_then(|rest| rest.strip_prefix(prefix)?.get(1..3));
            let first: u32 = number.parse().unwrap_or_default();
            let last = last.and_then(|last| last.parse().ok()).unwrap_or(first);
            ids.push((first..=last).map(|number| format!("{prefix}-{number:02}")).collect::<Vec<_>>());
        }
    }
    ids.dedup();
    ids
}

/// The ids in the name of a test: `tool_18_and_19_…`, `http_45_http_49_…`, `sub_01_to_08_…`,
/// `http_28_29_and_38_…`.
pub(super) fn in_name(name: &str, prefixes: &[String]) -> Vec<String> {
    let words: Vec<&str> = name.split('_').collect();
    let mut ids: Vec<String> = Vec::new();
    // The prefix for further numbers, and the last number.
    let mut current: Option<(&String, u32)> = None;
    let mut range = false;
    for (index, word) in words.iter().enumerate() {
        let number_follows = words.get(index + 1).is_some_and(|next| is_number(next));
        if let Some(prefix) =
            prefixes.iter().find(|prefix| prefix.eq_ignore_ascii_case(word)).filter(|_| number_follows)
        {
            current = Some((prefix, 0));
            range = false;
        } else if let Some((prefix, last)) = current.filter(|_| is_number(word)) {
            let number: u32 = word.parse().unwrap_or_default();
            let first = if range { last + 1 } else { number };
            ids.extend((first..=number).map(|number| format!("{prefix}-{number:02}")));
            current = Some((prefix, number));
            range = false;
        } else if ["and", "to"].contains(word) && number_follows {
            range = *word == "to";
        } else {
            current = None;
        }
    }
    ids
}

fn is_number(word: &str) -> bool {
    word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes() -> Vec<String> {
        ["HTTP", "H26", "SUB", "TOOL", "CAN"].map(str::to_owned).to_vec()
    }

    #[test]
    fn ids_in_text_stand_for_themselves() {
        let text = "(HTTP-07, H26-01), XHTTP-02 HTTP-123 http-04 2026-07-28 SUB-05.";
        assert_eq!(in_text(text, &prefixes()), [["HTTP-07"], ["H26-01"], ["SUB-05"]]);
        assert_eq!(in_text("ä-TOOL-01-ü", &prefixes()), [["TOOL-01"]]);
        assert_eq!(in_text("SUB-02 to SUB-04, and", &prefixes())[0], ["SUB-02", "SUB-03", "SUB-04"]);
    }

    #[test]
    fn names_contain_one_id_or_several() {
        let cases: [(&str, &[&str]); 6] = [
            ("http_07_each_message", &["HTTP-07"]),
            ("tool_18_and_19_failures", &["TOOL-18", "TOOL-19"]),
            ("sub_01_to_03_streams", &["SUB-01", "SUB-02", "SUB-03"]),
            ("http_28_29_and_38_a_stream", &["HTTP-28", "HTTP-29", "HTTP-38"]),
            ("h26_08_h26_11_and_can_05_x", &["H26-08", "H26-11", "CAN-05"]),
            ("plain_names_and_http_2_have_none", &[]),
        ];
        for (name, ids) in cases {
            assert_eq!(in_name(name, &prefixes()), ids, "{name}");
        }
    }

    #[test]
    fn a_number_far_from_its_prefix_is_none() {
        assert_eq!(in_name("can_05_after_07", &prefixes()), ["CAN-05"]);
    }
}
