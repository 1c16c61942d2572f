//! URI templates: matching takes linear time, and variables round-trip through a URI.

use trunkline_proto::protocol::uri_template::UriTemplate;

pub fn seeds() -> Vec<Vec<u8>> {
    super::corpus("uri_template")
}

pub fn judge(data: &[u8]) {
    let Some((template, uri)) = std::str::from_utf8(data).ok().and_then(|text| text.split_once('\n')) else { return };
    let named: usize = template
        .split('{')
        .skip(1)
        .map(|rest| rest.split('}').next().map_or(0, |names| names.split(',').count()))
        .sum();
    let Ok(template) = UriTemplate::parse(template) else { return };
    // A variable that occurs twice may be absent at one position and have its value at the other.
    let once = template.variables().len() == named;
    if let Some(variables) = template.matches(uri).filter(|_| once) {
        let expanded = template.expand(&variables);
        assert!(template.matches(&expanded).is_some(), "{template} gives {expanded:?} for {uri:?}");
    }
}
