//! URI templates: matching takes linear time, and variables that were read from a URI give a URI
//! that they are read from again.

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
    // A variable that is named twice may be absent in one place and have its value in the other.
    let once = template.variables().len() == named;
    if let Some(variables) = template.matches(uri).filter(|_| once) {
        let expanded = template.expand(&variables);
        assert!(template.matches(&expanded).is_some(), "{template} gives {expanded:?} for {uri:?}");
    }
}
