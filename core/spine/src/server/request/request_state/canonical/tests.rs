use super::write_members;

fn text(object: &str) -> String {
    let mut out = Vec::new();
    write_members(object, &["passing"], &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_order_of_members_blanks_and_escapes_do_not_matter() {
    let one = r#"{"a":1,"b":[{"c":"é\"\\","d":[],"e":{}},null,true]}"#;
    let other =
        "\t{ \"b\" : [ {\"e\": { } ,\"d\" :[ ], \"\\u0063\":\"\\u00e9\\u0022\\\\\"} , null, true ]\r\n, \"a\": 1 } ";
    assert_eq!(text(one), text(other));
    assert_eq!(text(r#"{"passing":{"a":1},"b":{"passing":2}}"#), text(r#"{"b":{"passing":2}}"#));
}

#[test]
fn other_values_have_another_text() {
    let texts = [
        r#"{}"#,
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"a":[1]}"#,
        r#"{"a":[[1]]}"#,
        r#"{"a":[1,1]}"#,
        r#"{"a":{"1":1}}"#,
        r#"{"a":1,"b":1}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":2,"a":1}"#,
        r#"{"a":"\",\"b\":\""}"#,
        r#"{"a":"","b":""}"#,
        r#"{"a":100000000000000000000000001}"#,
        r#"{"a":100000000000000000000000002}"#,
        r#"{"a":1.00000000000000000001}"#,
    ];
    for (index, one) in texts.iter().enumerate() {
        for other in &texts[..index] {
            assert_ne!(text(one), text(other), "{one} and {other}");
        }
    }
}

#[test]
fn what_is_no_object_has_none() {
    for wrong in ["", "[]", "1", "{", r#"{"a"}"#, r#"{"a":"#, r#"{"a":1"#, r#"{"a":"b}"#, r#"{"a":"\x"}"#, "{1:2}"] {
        assert_eq!(write_members(wrong, &[], &mut Vec::new()), None, "{wrong}");
    }
}
