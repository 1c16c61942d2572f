//! Writes JSON strings.

use super::json_scan::plain_length;

/// Appends a JSON string. Most of a long text needs no escapes and is copied as a whole.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, escaped) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = escaped.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control)]);
            }
        }
        rest = after;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strings_are_read_as_they_were(
            text in prop_oneof![any::<String>(), "[ -~\\n\"\\\\]{0,200}", "[a-z]{0,200}\u{1}?[ä-ü]{0,80}\t?"],
        ) {
            let mut out = b"before".to_vec();
            push_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out[6..]).unwrap(), text);
        }
    }

    #[test]
    fn each_control_character_has_its_escape() {
        for byte in 0..=0x7f_u8 {
            let text = char::from(byte).to_string();
            let mut out = Vec::new();
            push_string(&mut out, &text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
