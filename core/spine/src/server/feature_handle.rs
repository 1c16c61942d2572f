//! Handles to registered features.

use super::{
    registry::{
        Addition, Change, PromptDefinition, RegisterError, ResourceDefinition, ResourceTemplateDefinition, Snapshot,
        ToolDefinition,
    },
    session::ServerState,
    typed::IntoDefinition,
};
use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Weak},
};

/// A registered feature: update, show, hide or remove it. `D` is its definition. Cheap to clone;
/// does not keep its server alive. Connected clients are notified when a list changes, with a
/// single notification for changes in quick succession. Running calls are unaffected.
///
/// ```
/// use trunkline::{Server, Tool};
///
/// let server = Server::builder("clock", "1.0.0").build();
/// let noon = server.add_tool(Tool::new("noon", "The time of lunch.", async || "12:00"))?;
/// noon.update(|tool| tool.with("description", "The hour of lunch.".into()))?; // keeps the handler
/// noon.replace(Tool::new("noon", "The time of a late lunch.", async || "13:00"))?;
/// noon.disable(); // no longer visible to clients
/// noon.enable();
/// assert!(noon.remove() && !noon.remove());
/// # Ok::<(), trunkline::server::RegisterError>(())
/// ```
pub struct FeatureHandle<D> {
    state: Weak<ServerState>,
    id: u64,
    definition: PhantomData<fn() -> D>,
}

impl<D> FeatureHandle<D> {
    pub(super) fn new(state: &Arc<ServerState>, id: u64) -> Self {
        Self { state: Arc::downgrade(state), id, definition: PhantomData }
    }

    /// Removes the feature. Returns `false` if it was already removed or replaced.
    pub fn remove(&self) -> bool {
        self.edit(|registry| registry.remove(self.id))
    }

    #[doc(hidden)]
    pub fn id(&self) -> u64 {
        self.id
    }

    fn edit(&self, change: impl FnOnce(&mut Snapshot) -> Option<Change>) -> bool {
        let Some(state) = self.state.upgrade() else { return false };
        state.edit(|registry| change(registry).ok_or(())).is_ok()
    }

    /// Shows or hides the feature. Returns `false` if it was removed or replaced.
    #[doc(hidden)]
    pub fn set_enabled(&self, is_enabled: bool) -> bool {
        self.edit(|registry| registry.enable(self.id, is_enabled))
    }
}

/// Methods for kinds of features whose definitions can be read back.
macro_rules! changeable {
    ($($definition:ty, $list:ident, $addition:ident;)*) => {
        $(impl FeatureHandle<$definition> {
            /// Updates the definition, keeping everything that is not changed. The feature keeps
            /// its position in the list, even under another name.
            ///
            /// # Errors
            /// If the feature was removed or replaced, or as for its registration.
            pub fn update(&self, change: impl Fn($definition) -> $definition) -> Result<(), RegisterError> {
                let state = self.state.upgrade().ok_or_else(RegisterError::removed)?;
                loop {
                    // Called without locks: the function belongs to the user.
                    let now = state.snapshot().$list.registered(self.id).cloned().ok_or_else(RegisterError::removed)?;
                    let next = Arc::new(change(now.definition()).compile()?);
                    let is_unchanged = |registry: &Snapshot| {
                        registry.$list.registered(self.id).is_some_and(|item| Arc::ptr_eq(item, &now))
                    };
                    let edited = state.edit(|registry| match is_unchanged(registry) {
                        true => registry.change(self.id, Addition::$addition(next)).map_err(Some),
                        false => Err(None),
                    });
                    match edited {
                        Ok(()) => return Ok(()),
                        Err(Some(error)) => return Err(error),
                        // Another thread changed the definition first: try again.
                        Err(None) => {}
                    }
                }
            }

            /// Replaces the definition, including its handler.
            ///
            /// # Errors
            /// If the feature was removed or replaced, or as for its registration.
            pub fn replace(&self, by: impl IntoDefinition<(), $definition>) -> Result<(), RegisterError> {
                let state = self.state.upgrade().ok_or_else(RegisterError::removed)?;
                let next = Arc::new(by.into_entry(()).compile()?);
                state.edit(|registry| registry.change(self.id, Addition::$addition(next)))
            }

            /// Shows the feature again. Returns `false` if it was removed or replaced.
            pub fn enable(&self) -> bool {
                self.set_enabled(true)
            }

            /// Hides the feature: it is omitted from lists, and calls fail as if it did not exist.
            /// It keeps its name and its position. Returns `false` if it was removed or replaced.
            pub fn disable(&self) -> bool {
                self.set_enabled(false)
            }
        })*
    };
}

changeable! {
    ToolDefinition, tools, Tool;
    ResourceDefinition, resources, Resource;
    ResourceTemplateDefinition, templates, Template;
    PromptDefinition, prompts, Prompt;
}

impl<D> Clone for FeatureHandle<D> {
    fn clone(&self) -> Self {
        Self { state: Weak::clone(&self.state), ..*self }
    }
}

impl<D> fmt::Debug for FeatureHandle<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeatureHandle").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Prompt, Resource, ResourceTemplate, Tool,
        protocol::{RawJson, Revision, model::CompleteParams},
        server::{
            Call, Category, CompletionDefinition, CompletionTarget, OnDuplicate, Outcome, PromptDefinition,
            ProviderDefinition, ResourceTemplateDefinition, Server, ServerOptions,
            tests::{Peer, server, text_of},
        },
    };
    use serde_json::{Value, json};
    use std::{sync::Arc, time::Duration};
    use tokio::sync::Notify;

    async fn peer(server: &Server) -> Peer {
        Peer::of(server).in_session(Revision::V2025_11_25, json!({})).await
    }

    async fn tools(peer: &Peer) -> Vec<Value> {
        peer.ask("tools/list", json!({})).await["result"]["tools"].as_array().unwrap().clone()
    }

    fn says(name: &str, text: &'static str) -> Tool {
        Tool::new(name, text, move || async move { text })
    }

    #[tokio::test(start_paused = true)]
    async fn tool_01_a_registered_tool_changes_and_keeps_its_position() {
        let server = server().tool("first", "1", async || "1").build();
        let changing = server.add_tool(says("b", "old").title("B")).unwrap();
        server.add_tool(says("c", "3")).unwrap();
        let peer = peer(&server).await;
        changing.update(|tool| tool.with("description", "new".into())).unwrap();
        peer.received("notifications/tools/list_changed").await;
        let listed = tools(&peer).await;
        assert_eq!((&listed[1]["description"], &listed[1]["title"]), (&json!("new"), &json!("B")));
        assert_eq!(text_of(&peer.ask("tools/call", json!({"name": "b"})).await), "old", "the handler stays");
        changing.replace(says("renamed", "other")).unwrap();
        assert_eq!(
            tools(&peer).await.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>(),
            ["first", "renamed", "c"]
        );
        assert_eq!(text_of(&peer.ask("tools/call", json!({"name": "renamed"})).await), "other");
        let error = changing.replace(says("c", "taken")).unwrap_err().to_string();
        assert!(error.contains("\"c\" is already registered"), "{error}");
        changing.update(|tool| tool.with("inputSchema", json!({"type": "text"}))).unwrap_err();
        assert_eq!(text_of(&peer.ask("tools/call", json!({"name": "renamed"})).await), "other", "nothing changed");
        assert!(server.find_tool("renamed").unwrap().remove());
        assert!(changing.update(|tool| tool).unwrap_err().to_string().contains("no longer registered"));
        assert!(!changing.enable() && !changing.disable() && !changing.remove());
    }

    #[tokio::test(start_paused = true)]
    async fn a_disabled_feature_is_absent_and_returns_to_its_position() {
        let options = ServerOptions::default().with_page_size(2);
        let server = server().options(options).build();
        let [_, tool, _, _] = ["a", "b", "c", "d"].map(|name| server.add_tool(says(name, "x")).unwrap());
        let resource = server.add_resource(Resource::new("x://r", "r", async || "r")).unwrap();
        let template = server.add_resource_template(ResourceTemplate::new("x://t/{v}", "t", async || "t")).unwrap();
        let prompt = server.add_prompt(Prompt::new("p", "p", async || "p")).unwrap();
        let peer = peer(&server).await;
        assert!(tool.disable() && resource.disable() && template.disable() && prompt.disable());
        let changed = ["tools", "resources", "prompts"].map(|list| format!("notifications/{list}/list_changed"));
        for change in &changed {
            peer.received(change).await;
        }
        let page = peer.ask("tools/list", json!({})).await["result"].take();
        assert_eq!((&page["tools"][0]["name"], &page["tools"][1]["name"]), (&json!("a"), &json!("c")));
        let next = peer.ask("tools/list", json!({"cursor": page["nextCursor"]})).await["result"].take();
        assert_eq!((&next["tools"][0]["name"], next.get("nextCursor")), (&json!("d"), None));
        for (method, params) in [
            ("tools/call", json!({"name": "b"})),
            ("prompts/get", json!({"name": "p"})),
            ("resources/read", json!({"uri": "x://r"})),
            ("resources/read", json!({"uri": "x://t/1"})),
            ("resources/subscribe", json!({"uri": "x://r"})),
        ] {
            let error = peer.ask(method, params).await["error"].take();
            assert!([-32602, -32002].map(Value::from).contains(&error["code"]), "{method}: {error}");
        }
        assert_eq!(server.names(Category::Resources), [""; 0]);
        assert!(server.add_tool(says("b", "twice")).is_err(), "the name stays taken");
        assert!(tool.enable() && template.enable());
        assert_eq!(tools(&peer).await[1]["name"], "b");
        assert_eq!(peer.ask("resources/read", json!({"uri": "x://t/1"})).await["result"]["contents"][0]["text"], "t");
    }

    #[tokio::test(start_paused = true)]
    async fn a_feature_that_is_already_shown_or_hidden_changes_nothing() {
        let server = server().build();
        let tool = server.add_tool(says("a", "x")).unwrap();
        let other = server.add_tool(says("b", "x")).unwrap();
        let peer = peer(&server).await;
        for (is_enabled, changes) in [(true, 0), (false, 1), (false, 0), (true, 1), (true, 0)] {
            assert!(tool.set_enabled(is_enabled));
            assert_eq!(peer.rest().await.len(), changes, "{is_enabled}");
            assert_eq!(tools(&peer).await.len(), 1 + usize::from(is_enabled));
        }
        assert!(other.remove() && !other.enable(), "a feature that was removed is none");
    }

    #[tokio::test(start_paused = true)]
    async fn a_duplicate_is_an_error_or_a_replacement() {
        let strict = server().tool("a", "1", async || "1").build();
        assert!(strict.add_tool(says("a", "2")).unwrap_err().to_string().contains("already registered"));
        let server = server().options(ServerOptions::default().with_on_duplicate(OnDuplicate::Replace)).build();
        let old = server.add_tool(says("a", "1")).unwrap();
        server.add_tool(says("b", "b")).unwrap();
        let new = server.add_tool(says("a", "2")).unwrap();
        let peer = peer(&server).await;
        assert_eq!(text_of(&peer.ask("tools/call", json!({"name": "a"})).await), "2");
        assert_eq!(tools(&peer).await.len(), 2);
        assert!(!old.remove() && !old.disable(), "it was replaced");
        assert!(old.update(|tool| tool).is_err());
        assert!(new.remove());
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_call_continues_when_its_tool_changes() {
        let (server, go_on) = (server().build(), Arc::new(Notify::new()));
        let waits = Arc::clone(&go_on);
        let slow = Tool::new("slow", "Waits.", move || {
            let waits = Arc::clone(&waits);
            async move {
                waits.notified().await;
                "the old one"
            }
        });
        let handle = server.add_tool(slow).unwrap();
        let peer = peer(&server).await;
        let call = peer.request("tools/call", json!({"name": "slow"}));
        tokio::time::sleep(Duration::from_millis(1)).await;
        handle.replace(says("slow", "the new one")).unwrap();
        handle.disable();
        handle.remove();
        go_on.notify_one();
        assert_eq!(text_of(&peer.answer(call).await), "the old one");
    }

    #[test]
    fn cmp_03_completions_need_an_existing_feature() {
        let add = |server: &Server, target: CompletionTarget, argument: &str| {
            let entry = CompletionDefinition::new(target, argument, drop::<Call>);
            server.add_completion(entry).map(drop).map_err(|error| error.to_string())
        };
        let prompt = json!({"name": "plan", "arguments": [{"name": "city"}, {"name": "country"}]});
        let server = server()
            .add_prompt(PromptDefinition::new(prompt, drop::<Call>))
            .add_resource_template(ResourceTemplate::new("x://{v}", "t", async || "t"))
            .build();
        let plan = || CompletionTarget::Prompt("plan".into());
        assert_eq!(add(&server, plan(), "city"), Ok(()));
        assert_eq!(add(&server, CompletionTarget::Resource("x://{v}".into()), "v"), Ok(()));
        for (target, argument, says) in [
            (plan(), "gnre", "the prompt plan: there is no argument gnre; the arguments are city, country"),
            (plan(), "city", "already registered"),
            (CompletionTarget::Prompt("nope".into()), "x", "there is no prompt nope"),
            (CompletionTarget::Resource("y://{v}".into()), "v", "there is no resource template y://{v}"),
            (CompletionTarget::Resource("x://{v}".into()), "w", "there is no argument w; the arguments are v"),
        ] {
            let error = add(&server, target, argument).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        server.add_provider(ProviderDefinition::new(Category::Prompts, drop::<Call>)).unwrap();
        assert_eq!(add(&server, CompletionTarget::Prompt("provided".into()), "x"), Ok(()), "a provider may have it");
    }

    #[tokio::test(start_paused = true)]
    async fn cmp_03_completions_are_declared_with_what_they_complete() {
        let plan = |argument: &str| {
            let prompt = json!({"name": "plan", "arguments": [{"name": "city"}, {"name": "country"}]});
            PromptDefinition::new(prompt, drop::<Call>).complete(argument, |call: Call| {
                let values = RawJson::from_text(r#"["Oslo"]"#.into()).map(Outcome::Value);
                call.complete(values.unwrap());
            })
        };
        let notes = ResourceTemplate::new("x://{v}", "t", async || "t")
            .complete("v", async |asked: CompleteParams| vec![format!("{}!", asked.argument.value)]);
        let server = server().add_resource_template(notes).build();
        let prompt = server.add_prompt(plan("city")).unwrap();
        let peer = peer(&server).await;
        let complete = async |reference: Value, argument: &str| {
            let params = json!({"ref": reference, "argument": {"name": argument, "value": "a"}});
            peer.ask("completion/complete", params).await
        };
        let reference = || json!({"type": "ref/prompt", "name": "plan"});
        let values = |answer: Value| answer["result"]["completion"]["values"].clone();
        assert_eq!(values(complete(reference(), "city").await), json!(["Oslo"]));
        assert_eq!(values(complete(reference(), "country").await), json!([]));
        assert_eq!(values(complete(json!({"type": "ref/resource", "uri": "x://{v}"}), "v").await), json!(["a!"]));
        // A declared completion is updated and removed together with its prompt.
        prompt.update(|prompt| prompt.with("title", json!("Plan"))).unwrap();
        assert_eq!(values(complete(reference(), "city").await), json!(["Oslo"]));
        let taken = CompletionDefinition::new(CompletionTarget::Prompt("plan".into()), "city", drop::<Call>);
        assert!(server.add_completion(taken).unwrap_err().to_string().contains("already registered"));
        prompt.replace(plan("country")).unwrap();
        assert_eq!(values(complete(reference(), "city").await), json!([]));
        assert_eq!(values(complete(reference(), "country").await), json!(["Oslo"]));
        let refused = prompt.replace(plan("cty")).unwrap_err().to_string();
        assert!(
            refused.contains("Prompt plan: complete: there is no argument cty; the arguments are city, country"),
            "{refused}"
        );
        let refused =
            ResourceTemplate::new("y://{v}", "y", async || "y").complete("w", async |_: CompleteParams| [""; 0]);
        assert!(server.add_resource_template(refused).unwrap_err().to_string().contains("the arguments are v"));
        assert!(prompt.remove());
        assert_eq!(complete(reference(), "city").await["error"]["code"], -32602);
    }

    #[tokio::test(start_paused = true)]
    async fn res_12_variables_of_templates_do_not_leave_their_folder_unless_the_template_allows_it() {
        let template = |uri: &str, name: &str| ResourceTemplate::new(uri, name, async || "read");
        let server = server()
            .add_resource_template(template("files://{name}", "files"))
            .add_resource_template(template("tree://x{/path*}", "tree"))
            .add_resource_template(template("open://{name}", "open").unsafe_paths(true))
            .build();
        let peer = peer(&server).await;
        for uri in ["files://..%2F..%2Fetc%2Fpasswd", "files://%2Fetc%2Fpasswd", "files://a%00b", "tree://x/..%2Fetc"] {
            let error = peer.ask("resources/read", json!({"uri": uri})).await["error"].take();
            assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!(uri)));
            assert!(peer.ask("resources/subscribe", json!({"uri": uri})).await["error"].is_object(), "{uri}");
        }
        for uri in ["files://a%2Fb", "tree://x/a/b", "open://..%2Fetc"] {
            let contents = peer.ask("resources/read", json!({"uri": uri})).await["result"]["contents"].take();
            assert_eq!(contents[0]["text"], "read", "{uri}");
        }
        let opened = |entry: ResourceTemplateDefinition| entry.unsafe_paths(true);
        server.find_resource_template("files://{name}").unwrap().update(opened).unwrap();
        assert!(peer.ask("resources/read", json!({"uri": "files://.."})).await["result"].is_object());
    }
}
