use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn found<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let [found] = members(json.as_bytes(), [name]).unwrap();
    found.map(|value| str::from_utf8(value.as_bytes()).unwrap())
}

#[test]
fn values_are_found_as_they_are_written() {
    let json = r#" { "a" : "x\"}" , "b":[1,{"a":2}], "c":{ } ,"d":-1.5e3 ,"e" : null,"f\u0067":true} "#;
    for (name, value) in
        [("a", r#""x\"}""#), ("b", r#"[1,{"a":2}]"#), ("c", "{ }"), ("d", "-1.5e3"), ("e", "null"), ("fg", "true")]
    {
        assert_eq!(found(json, name), Some(value));
    }
    assert_eq!(found(json, "x"), None);
    for other in ["{}", "[\"a\",1]", "5", "\"a\"", ""] {
        assert_eq!(found(other, "a"), None);
    }
}

#[test]
fn a_member_that_is_there_twice_is_an_error() {
    let json = br#"{"a":1,"b":2,"\u0061":3}"#;
    assert_eq!(members(json, ["a"]), Err(DuplicateMember("a".into())));
    assert!(members(json, ["b"]).is_ok());
}

#[test]
fn members_of_a_member_are_found_in_one_pass() {
    let of_meta = |json: &'static str| members_of_member(json.as_bytes(), "_meta", ["a", "b"]);
    let (object, found) = of_meta(r#"{"a":1,"\u005fmeta": {"x":{"a":3} , "b":[2]} ,"b":4}"#).unwrap().unwrap();
    assert_eq!(object.as_bytes(), br#"{"x":{"a":3} , "b":[2]}"#);
    assert_eq!(found.unwrap().map(|value| value.map(MemberValue::as_bytes)), [None, Some(&b"[2]"[..])]);
    for other in ["{}", "[]", r#"{"a":{"_meta":{}}}"#, r#"{"_meta":null}"#] {
        assert_eq!(of_meta(other), Ok(None), "{other}");
    }
    for twice in [r#"{"_meta":{},"_meta":{}}"#, r#"{"_meta":{},"_meta":7}"#, r#"{"_meta":7,"_meta":{}}"#] {
        assert_eq!(of_meta(twice), Err(DuplicateMember("_meta".into())), "{twice}");
    }
    let (_, found) = of_meta(r#"{"_meta":{"a":1,"a":2}}"#).unwrap().unwrap();
    assert_eq!(found, Err(DuplicateMember("a".into())));
}

#[test]
fn strings_are_borrowed_where_they_can_be() {
    let [plain, escaped, number] = members(br#"{"a":"\u00e4","b":"b","c":1}"#, ["b", "a", "c"]).unwrap();
    assert!(matches!(plain.unwrap().as_str(), Some(Cow::Borrowed("b"))));
    assert_eq!(escaped.unwrap().as_str().as_deref(), Some("ä"));
    assert_eq!(number.unwrap().as_str(), None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        r#"[\\"{}\[\],: a]{0,40}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((r#"[\\"{}:a-c]{0,20}"#, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_same_is_found_as_by_parsing(
        values in prop::collection::vec((r#"[\\"{}:a-c]{0,20}"#, any_json()), 0..5),
        is_pretty: bool,
    ) {
        let object: Map<String, Value> = values.into_iter().collect();
        let value = Value::Object(object.clone());
        let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
        for (name, expected) in &object {
            let [value] = members(text.as_bytes(), [name]).unwrap();
            prop_assert_eq!(&value.unwrap().parse::<Value>().unwrap(), expected);
        }
        prop_assert_eq!(members(text.as_bytes(), ["no such member"]), Ok([None]));
        let around = json!({"before": [1], "_meta": value, "after": "}"}).to_string();
        for name in object.keys() {
            let found = members_of_member(around.as_bytes(), "_meta", [name]).unwrap().unwrap();
            prop_assert_eq!(&found.0.parse::<Value>().unwrap(), &Value::Object(object.clone()));
            prop_assert_eq!(found.1, members(found.0.as_bytes(), [name]));
        }
    }

    #[test]
    fn other_text_does_no_harm(text in r#"[\\"{}\[\],: 1a]{0,60}"#) {
        let _ = members(text.as_bytes(), ["a", "1"]);
    }
}

#[test]
fn long_strings_are_skipped() {
    let json = json!({"long": "\\\"".repeat(10_000), "next": 1}).to_string();
    assert_eq!(found(&json, "next"), Some("1"));
}
