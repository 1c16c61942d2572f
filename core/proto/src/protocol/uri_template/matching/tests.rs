use super::super::{UriTemplate, UriValue, UriVariables};
#[cfg(not(miri))]
use crate::tests::processor_time::ProcessorTime;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

/// The variables of a URI as JSON; null if it does not match.
fn matched(template: &str, uri: &str) -> Value {
    json!(UriTemplate::parse(template).unwrap().matches(uri))
}

#[test]
fn simple_variables_are_segments() {
    let template = "test://template/{id}/data";
    assert_eq!(matched(template, "test://template/123/data"), json!({"id": "123"}));
    assert_eq!(matched(template, "test://template/a%2Fb%20c/data"), json!({"id": "a/b c"}));
    assert_eq!(matched(template, "test://template/bob@x.org:1,2/data"), json!({"id": "bob@x.org:1,2"}));
    assert_eq!(matched(template, "test://template/zoë/data"), json!({"id": "zoë"}));
    for other in [
        "test://template//data",
        "test://template/1/2/data",
        "test://template/1?/data",
        "test://template/1/data/",
        "xtest://template/1/data",
        "test://template/%/data",
        "test://template/%FF/data",
        "",
    ] {
        assert_eq!(matched(template, other), Value::Null, "{other}");
    }
}

#[test]
fn literals_match_only_themselves() {
    assert_eq!(matched("a:b.c", "a:b.c"), json!({}));
    assert_eq!(matched("a:b.c", "a:bxc"), Value::Null);
    assert_eq!(matched("a:(b)+[c]$", "a:(b)+[c]$"), json!({}));
    for uri in ["a:é/1", "a:%C3%A9/1", "a:%c3%a9/1"] {
        assert_eq!(matched("a:é/{n}", uri), json!({"n": "1"}));
    }
}

#[test]
fn reserved_variables_take_paths() {
    assert_eq!(matched("file:///{+path}", "file:///a/b%20c.txt"), json!({"path": "a/b c.txt"}));
    assert_eq!(matched("file:///{+path}", "file:///"), Value::Null);
    assert_eq!(matched("file:///{+path}{?v}", "file:///a/b?v=1"), json!({"path": "a/b", "v": "1"}));
    assert_eq!(matched("file:///{+path}{?v}", "file:///a/b"), json!({"path": "a/b"}));
    assert_eq!(matched("a:{+b}/end", "a:x/y/end"), json!({"b": "x/y"}));
}

#[test]
fn labels_segments_and_fragments_may_be_absent() {
    assert_eq!(matched("a:{name}{.ext}", "a:x.tar.gz"), json!({"name": "x.tar", "ext": "gz"}));
    assert_eq!(matched("a:{name}{.ext}", "a:x"), json!({"name": "x"}));
    assert_eq!(matched("a:{x}{/y,z}", "a:1/2/3"), json!({"x": "1", "y": "2", "z": "3"}));
    assert_eq!(matched("a:{x}{/y,z}", "a:1/2"), json!({"x": "1", "y": "2"}));
    assert_eq!(matched("a:{x}{/y,z}", "a:1/2/3/4"), Value::Null);
    assert_eq!(matched("a:{x}{#f}", "a:1#2/3"), json!({"x": "1", "f": "2/3"}));
    assert_eq!(matched("a:{x}{#f}", "a:1"), json!({"x": "1"}));
}

#[test]
fn several_variables_and_lists_are_divided() {
    assert_eq!(matched("a:{x,y}", "a:1,2"), json!({"x": "1", "y": "2"}));
    assert_eq!(matched("a:{x,y}", "a:1"), json!({"x": "1"}));
    assert_eq!(matched("a:{x,y}", "a:1,2,3"), Value::Null);
    assert_eq!(matched("a:{x*}", "a:1,2%2C3"), json!({"x": ["1", "2,3"]}));
    assert_eq!(matched("a:b{/x*}", "a:b/1/2"), json!({"x": ["1", "2"]}));
    assert_eq!(matched("a:b{/x*}", "a:b"), json!({}));
    assert_eq!(matched("a:b{.x*}", "a:b.1.2"), json!({"x": ["1", "2"]}));
    assert_eq!(matched("a:{x}{y}", "a:123"), json!({"x": "12", "y": "3"}));
    assert_eq!(matched("a:{x}-{y}", "a:1-2-3"), json!({"x": "1-2", "y": "3"}));
}

#[test]
fn characters_are_not_divided() {
    for uri in ["a:1é€𝄞", "a:1%C3%A9%e2%82%ac%F0%9D%84%9E"] {
        assert_eq!(matched("a:{x}{y}", uri), json!({"x": "1é€", "y": "𝄞"}));
        assert_eq!(matched("a:{x}{y}{z}", uri), json!({"x": "1é", "y": "€", "z": "𝄞"}));
        assert_eq!(matched("a:{w}{x}{y}{+z}", uri), json!({"w": "1", "x": "é", "y": "€", "z": "𝄞"}));
        assert_eq!(matched("a:1{x}{/y}", uri), json!({"x": "é€𝄞"}));
    }
    assert_eq!(matched("a:{x}", "a:%A9"), Value::Null);
    assert_eq!(matched("a:{x}{y}", "a:%C3%C3"), Value::Null);
}

#[test]
fn parameters_come_in_any_order_and_others_do_not_match() {
    let template = "a:b{?x,y*}{&z}";
    assert_eq!(matched(template, "a:b"), json!({}));
    assert_eq!(matched(template, "a:b?z=3&x=1&y=2&y=%26"), json!({"x": "1", "y": ["2", "&"], "z": "3"}));
    assert_eq!(matched(template, "a:b?x="), json!({"x": ""}));
    assert_eq!(matched(template, "a:b?w=1"), Value::Null);
    assert_eq!(matched(template, "a:b?x=1&x=2"), Value::Null);
    assert_eq!(matched("a:b?f=1{&x}", "a:b?f=1&x=2"), json!({"x": "2"}));
    assert_eq!(matched("a:b?f=1{&x}", "a:b?f=1"), json!({}));
    assert_eq!(matched("a:{b}{;x,y}/c", "a:1;y;x=2/c"), json!({"b": "1", "x": "2", "y": ""}));
}

#[test]
fn a_variable_that_occurs_twice_has_one_value() {
    assert_eq!(matched("a:{x}/{x}", "a:1/1"), json!({"x": "1"}));
    assert_eq!(matched("a:{x}/{x}", "a:1/2"), Value::Null);
    assert_eq!(matched("a:{x:1}/{x}", "a:b/bob"), json!({"x": "bob"}));
    assert_eq!(matched("a:{x:1}/{x}", "a:c/bob"), Value::Null);
    assert_eq!(matched("a:{x}/{x:1}", "a:bob/b"), json!({"x": "bob"}));
    assert_eq!(matched("a:{x:3}", "a:bobby"), Value::Null);
    assert_eq!(matched("a:{x:9}/{x}", "a:bob/bobby"), Value::Null);
}

// Time limits are meaningless under Miri.
#[cfg(not(miri))]
#[test]
fn matching_takes_linear_time() {
    let template = UriTemplate::parse(&"{a}{+b}{c,d*}{.e}{/f*}{;g}{?h}".repeat(8)).unwrap();
    let started = ProcessorTime::start();
    for uri in ["a".repeat(60_000), ",.".repeat(30_000), "/;?#".repeat(15_000), "%41".repeat(20_000) + "%"] {
        let _ = template.matches(&uri);
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(template.matches(&"a".repeat(70_000)), None);
}

proptest! {
    #[test]
    fn what_is_expanded_matches_again(
        a in ".{1,8}", path in proptest::collection::vec("[^/]{1,5}", 0..4), q in proptest::option::of(".{0,5}"),
        f in proptest::option::of("[a-z/,?é ]{1,5}"),
    ) {
        let template = UriTemplate::parse("x://{a}/b{/path*}{?q}{#f}").unwrap();
        let mut values = UriVariables::from([("a".to_owned(), UriValue::Text(a))]);
        if !path.is_empty() {
            values.insert("path".to_owned(), UriValue::List(path));
        }
        values.extend(q.map(|q| ("q".to_owned(), UriValue::Text(q))));
        values.extend(f.map(|f| ("f".to_owned(), UriValue::Text(f))));
        let uri = template.expand(&values);
        prop_assert_eq!(template.matches(&uri), Some(values), "{}", uri);
    }

    #[test]
    fn any_text_is_parsed_and_matched_without_panic(template in "[a-c{}+#./;?&,*:0-9%é]{0,24}", uri in "[a-c+#./;?&,=%0-9é]{0,24}") {
        if let Ok(template) = UriTemplate::parse(&template) {
            if let Some(values) = template.matches(&uri) {
                let names = template.variables();
                prop_assert!(values.keys().all(|name| names.contains(&name.as_str())));
            }
            let _ = template.expand(&UriVariables::new());
        }
    }

    #[test]
    fn any_string_may_be_a_template(template in ".{0,40}", uri in ".{0,40}") {
        if let Ok(template) = UriTemplate::parse(&template) {
            let _ = template.matches(&uri);
        }
    }
}
