use super::*;

#[test]
fn auc_03_where_the_metadata_of_a_server_may_be() {
    let root = "https://a.example/.well-known/oauth-protected-resource";
    assert_eq!(resource_metadata_urls("https://a.example", "/mcp", None), [&format!("{root}/mcp"), root]);
    assert_eq!(resource_metadata_urls("https://a.example", "/", None), [root]);
    assert_eq!(
        resource_metadata_urls("https://a.example", "/mcp", Some("https://b.example/x")),
        ["https://b.example/x", &format!("{root}/mcp"), root]
    );
}

#[test]
fn auc_07_and_auc_08_where_the_metadata_of_an_issuer_may_be() {
    let well_known = "https://a.example/.well-known";
    assert_eq!(
        server_metadata_urls("https://a.example").unwrap(),
        [format!("{well_known}/oauth-authorization-server"), format!("{well_known}/openid-configuration")]
    );
    assert_eq!(
        server_metadata_urls("https://a.example/t/1").unwrap(),
        [
            format!("{well_known}/oauth-authorization-server/t/1"),
            format!("{well_known}/openid-configuration/t/1"),
            "https://a.example/t/1/.well-known/openid-configuration".to_owned(),
        ]
    );
    for issuer in ["https://a.example?x", "https://a.example#x", "a.example"] {
        assert!(server_metadata_urls(issuer).is_err(), "{issuer}");
    }
}

#[test]
fn members_that_are_null_count_as_missing() {
    let resource = r#"{"resource": "r", "authorization_servers": null, "scopes_supported": null,
        "dpop_bound_access_tokens_required": null}"#;
    let resource: ResourceMetadata = serde_json::from_str(resource).unwrap();
    assert!(resource.authorization_servers.is_empty() && resource.scopes_supported.is_empty());
    assert!(!resource.dpop_bound_access_tokens_required);
    let server = r#"{"issuer": null, "registration_endpoint": null, "scopes_supported": null,
        "grant_types_supported": null, "client_id_metadata_document_supported": null,
        "authorization_response_iss_parameter_supported": null}"#;
    let server: ServerMetadata = serde_json::from_str(server).unwrap();
    assert!(server.issuer.is_empty() && server.scopes_supported.is_empty());
    assert!(!server.client_id_metadata_document_supported);
    assert!(!server.authorization_response_iss_parameter_supported);
}

#[test]
fn auc_10_metadata_of_other_resources_is_not_used() {
    let url = "https://a.example/public/mcp";
    for resource in
        ["https://a.example/public/mcp", "https://A.example:443/public", "https://a.example", "https://a.example/"]
    {
        assert!(names(resource, url), "{resource}");
    }
    for resource in [
        "https://b.example/public/mcp",
        "https://a.example/pub",
        "https://a.example/public/mcp/x",
        "http://a.example",
        "a",
        "https://a.example#x",
    ] {
        assert!(!names(resource, url), "{resource}");
    }
}

#[test]
fn auc_26_and_auc_27_the_resource_of_a_server_without_metadata() {
    for (url, resource) in [
        ("https://A.example/", "https://A.example"),
        ("https://a.example/mcp/", "https://a.example/mcp/"),
        ("https://a.example/mcp?x=1#y", "https://a.example/mcp?x=1"),
    ] {
        assert_eq!(canonical(url), resource);
    }
}
