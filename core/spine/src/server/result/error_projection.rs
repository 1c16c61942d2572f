//! Error projection: some error codes exist only in some revisions (RPC-26, RPC-27, ELI-30).

use crate::{
    protocol::{Revision, RevisionFeature, RpcError, error::code, method},
    server::handlers::{InputRequest, InputRequired, Outcome},
};
use serde_json::Value;

/// Projects the outcome to a revision.
pub(in crate::server) fn project_errors(outcome: Outcome, revision: Revision, takes_input: bool) -> Outcome {
    let Outcome::Protocol(error) = outcome else { return outcome };
    match error.code {
        code::RESOURCE_NOT_FOUND if revision.supports(RevisionFeature::ResultType) => {
            Outcome::Protocol(RpcError { code: code::INVALID_PARAMS, ..error })
        }
        code::URL_ELICITATION_REQUIRED if !revision.supports(RevisionFeature::ElicitationIds) => {
            match required_pages(&error).filter(|_| takes_input && revision.supports(RevisionFeature::InputRequired)) {
                Some(required) => Outcome::InputRequired(required),
                None => Outcome::Protocol(RpcError::invalid_request(error.message)),
            }
        }
        // Reserved for later revisions; here, it comes from a handler or from a server of an
        // earlier one.
        -32_099..=-32_023 if revision.supports(RevisionFeature::ResultType) => {
            Outcome::Protocol(RpcError { code: code::INTERNAL_ERROR, ..error })
        }
        _ => Outcome::Protocol(error),
    }
}

/// The pages of error -32042 as requests for input, which have no ids.
fn required_pages(error: &RpcError) -> Option<InputRequired> {
    let pages = error.data.as_ref()?.get("elicitations")?.as_array()?;
    let mut required = InputRequired::new();
    for (position, page) in pages.iter().enumerate() {
        let mut params = page.clone();
        let id = params.as_object_mut()?.shift_remove("elicitationId");
        let key =
            id.as_ref().and_then(Value::as_str).map_or_else(|| format!("elicitation-{}", position + 1), str::to_owned);
        required = required.ask(key, InputRequest::new(method::ELICITATION_CREATE, params).ok()?);
    }
    (!required.requests.is_empty()).then_some(required)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pages() -> Outcome {
        let page = json!({"mode": "url", "elicitationId": "e1", "url": "https://example.com/", "message": "Sign in"});
        Outcome::Protocol(RpcError::url_elicitation_required(vec![page]))
    }

    fn code_of(outcome: &Outcome) -> Option<i64> {
        match outcome {
            Outcome::Protocol(error) => Some(error.code),
            _ => None,
        }
    }

    #[test]
    fn rpc_27_codes_of_the_handshake_era_stay_there() {
        for revision in Revision::ALL {
            let missing = project_errors(Outcome::Protocol(RpcError::new(-32002, "gone")), revision, true);
            let modern = revision == Revision::LATEST;
            assert_eq!(code_of(&missing), Some(if modern { -32602 } else { -32002 }), "{revision}");
            let code = code_of(&project_errors(pages(), revision, true));
            assert_eq!(code == Some(-32042), revision == Revision::V2025_11_25, "ELI-30: {revision}");
        }
    }

    #[test]
    fn rpc_26_unassigned_codes_stay_in_earlier_revisions() {
        for (own, modern) in [(-32022, -32022), (-32023, -32603), (-32099, -32603), (-32100, -32100), (403, 403)] {
            for revision in Revision::ALL {
                let expected = if revision == Revision::LATEST { modern } else { own };
                let projected = project_errors(Outcome::Protocol(RpcError::new(own, "no")), revision, true);
                assert_eq!(code_of(&projected), Some(expected), "{revision}");
            }
        }
    }

    #[test]
    fn eli_33_what_required_a_page_requires_input_on_2026_07_28() {
        let Outcome::InputRequired(required) = project_errors(pages(), Revision::LATEST, true) else { panic!() };
        let params = &required.requests["e1"].to_json()["params"];
        assert_eq!((&params["url"], params.get("elicitationId")), (&json!("https://example.com/"), None));
        assert_eq!(code_of(&project_errors(pages(), Revision::LATEST, false)), Some(-32600));
    }
}
