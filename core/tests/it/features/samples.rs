//! Messages to the client's model.

use super::*;

/// A request to a model that has tools.
fn request(mode: Option<&str>) -> Value {
    let result = json!({
        "type": "tool_result", "toolUseId": "call-1", "isError": true,
        "content": [{"type": "text", "text": "21.5"}], "structuredContent": {"temperature": 21.5, "unit": null}
    });
    let used = json!({"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Oslo"}});
    let output = json!({"type": "object", "properties": {"temperature": {"type": "number"}}});
    let mut params = json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "How warm is it?"}},
            {"role": "assistant", "content": used},
            {"role": "user", "content": result}
        ],
        "maxTokens": 100,
        "tools": [{"name": "weather", "inputSchema": {"type": "object"}, "outputSchema": output}]
    });
    if let Some(mode) = mode {
        params["toolChoice"] = json!({"mode": mode});
    }
    params
}

#[test]
fn misc_01_misc_02_tools_in_sampling_reach_the_client_unchanged() {
    let capabilities = json!({"sampling": {"tools": {}}});
    let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Warm"}});
    for mode in [Some("auto"), Some("required"), Some("none"), None] {
        let given = request(mode);
        let call = json!({"name": "sample", "arguments": {"params": given}});

        let mut wire = Wire::start(ROLE, &File::new());
        let info = json!({"name": "raw", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        wire.ask("open", "initialize", params);
        wire.tell("notifications/initialized", json!({}));
        wire.request(1, "tools/call", call.clone());
        let asked = wire.told("sampling/createMessage");
        assert_eq!(asked["params"], given, "{mode:?}");
        wire.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}));
        assert_eq!(text_of(&wire.answer(1)), "Warm");

        let mut wire = Wire::start(ROLE, &File::new());
        let mut params = modern(call);
        params["_meta"][CAPABILITIES] = capabilities.clone();
        let asked = wire.ask(1, "tools/call", params)["result"]["inputRequests"]["said"].take();
        assert_eq!((&asked["method"], &asked["params"]), (&json!("sampling/createMessage"), &given), "{mode:?}");
    }
}
