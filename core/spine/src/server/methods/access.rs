//! Decides which callers can see and call a feature: those with its scopes that its `visible` hook
//! accepts.

use crate::{
    protocol::{RawJson, RpcError},
    runtime::Promise,
    server::{
        handlers::{Handler, Outcome},
        registry::{AccessOptions, List, ListCandidate, Listed, ListedPage, Reader, Readers},
        request::{ActiveRequest, Responder, ResultMapper, Routed, Target},
        result::error_of,
        session::AllowedResources,
    },
};
use serde_json::json;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// How many visibility hooks run at a time for one list request.
const MAX_CONCURRENT_HOOKS: usize = 16;

/// Continues a request once the visibility hook of a feature has decided, or immediately if it has
/// none. `next` gets `false` if the caller must not learn that the feature exists.
pub(super) fn decide(
    context: &ActiveRequest,
    access: &AccessOptions,
    name: &str,
    next: impl FnOnce(&ActiveRequest, bool) -> Result<Routed, RpcError> + Send + 'static,
) -> Result<Routed, RpcError> {
    let Some(hook) = access.visible.clone() else { return next(context, true) };
    let name = name.to_owned();
    Ok(Routed::Deferred(Box::new(move |context, responder| {
        let decided = Arc::clone(context);
        ask(context, hook, name, move |is_visible| {
            decided.follow(|| next(&decided, is_visible), responder);
        });
    })))
}

/// Checks the scopes of a feature. AUS-10: the transport has checked the feature named by the
/// request, but middleware may have changed the name.
pub(super) fn check_scopes(context: &ActiveRequest, what: &str, name: &str, scopes: &[String]) -> Result<(), RpcError> {
    if scopes.is_empty() || context.reply.grants(scopes) {
        return Ok(());
    }
    let text = format!("The {what} {name} needs the scopes {}", scopes.join(" "));
    Err(RpcError::invalid_request(text).with_data(json!({"error": "insufficient_scope"})))
}

/// Builds the page after item number `after`, as the caller may see it, and passes it to `next`.
pub(super) fn page<T: Listed>(
    context: &ActiveRequest,
    list: &List<T>,
    after: u64,
    next: impl FnOnce(&ActiveRequest, ListedPage) -> Result<Routed, RpcError> + Send + 'static,
) -> Result<Routed, RpcError> {
    let (options, revision) = (context.server().options(), context.info.revision);
    if !list.is_personal() {
        return next(context, list.page(after, options.page_size, revision));
    }
    let mut candidates = list.candidates(after, revision);
    if !options.list_out_of_scope {
        candidates
            .retain(|candidate| candidate.access.scopes.is_empty() || context.reply.grants(&candidate.access.scopes));
    }
    let size = options.page_size.max(1);
    if candidates.iter().all(|candidate| candidate.access.visible.is_none()) {
        candidates.truncate(size + 1);
        return next(context, written(candidates, size));
    }
    Ok(Routed::Deferred(Box::new(move |context, responder| {
        let context = Arc::clone(context);
        let runtime = Arc::clone(context.connection.runtime());
        runtime.spawn(Box::pin(async move {
            let page = written(visible(&context, candidates, size + 1).await, size);
            context.follow(|| next(&context, page), responder);
        }));
    })))
}

/// Builds a page of the first `size` items. Any others only show that there is a next page.
fn written(items: Vec<ListCandidate>, size: usize) -> ListedPage {
    let shown = &items[..size.min(items.len())];
    let texts: Vec<_> = shown.iter().map(|item| item.text.as_bytes()).collect();
    let next = shown.last().filter(|_| items.len() > size).map(|last| last.number);
    ListedPage { items: texts.join(&b","[..]).into(), number: shown.len(), next }
}

/// Returns the first `most` items that the caller may see.
async fn visible(context: &Arc<ActiveRequest>, candidates: Vec<ListCandidate>, most: usize) -> Vec<ListCandidate> {
    let (mut shown, mut rest) = (Vec::new(), candidates.into_iter());
    while shown.len() < most && context.is_wanted() {
        let ask = |candidate: ListCandidate| (decision(context, &candidate.access, &candidate.key), candidate);
        let asked: Vec<_> = rest.by_ref().take(MAX_CONCURRENT_HOOKS).map(ask).collect();
        if asked.is_empty() {
            break;
        }
        for (decision, candidate) in asked {
            if decision.kept().await {
                shown.push(candidate);
            }
        }
    }
    shown.truncate(most);
    shown
}

/// Calls the hook of a feature now, if it has one. The promise holds whether the caller may see it.
fn decision(context: &Arc<ActiveRequest>, access: &AccessOptions, name: &str) -> Arc<Promise<bool>> {
    let decision = Arc::new(Promise::default());
    let kept = Arc::clone(&decision);
    match access.visible.clone() {
        Some(hook) => ask(context, hook, name.to_owned(), move |is_visible| kept.keep(is_visible)),
        None => kept.keep(true),
    }
    decision
}

/// The resources among `uris` that the caller may subscribe to, as `resources/subscribe` decides. A
/// hook runs only once, however many resources its template has.
pub(in crate::server) fn allowed_resources(context: &Arc<ActiveRequest>, uris: BTreeSet<String>) -> AllowedResources {
    let readers = uris.into_iter().map(|uri| (context.snapshot.readers(&uri), uri)).collect();
    let mut chosen = ChosenResources { undecided: readers, allowed: BTreeSet::new(), decisions: HashMap::new() };
    let mut undecided = chosen.decide(context);
    if undecided.is_empty() {
        return AllowedResources::Known(chosen.allowed);
    }
    let (context, request) = (Arc::clone(context), Arc::clone(context));
    let decision = Box::pin(async move {
        while !undecided.is_empty() && context.is_wanted() {
            for some in undecided.chunks(MAX_CONCURRENT_HOOKS).take_while(|_| context.is_wanted()) {
                let ask = |it: &Reader| (it.identity(), decision(&context, &it.options.access, &it.key));
                let asked: Vec<_> = some.iter().map(ask).collect();
                for (identity, decision) in asked {
                    chosen.decisions.insert(identity, decision.kept().await);
                }
            }
            undecided = chosen.decide(&context);
        }
        chosen.allowed
    });
    AllowedResources::Undecided(request, decision)
}

/// The resources that a caller asks for.
struct ChosenResources {
    undecided: Vec<(Readers, String)>,
    allowed: BTreeSet<String>,
    /// The decisions of the hooks of features, by the identities of the features.
    decisions: HashMap<usize, bool>,
}

impl ChosenResources {
    /// Decides about resources, as far as the decisions of hooks are known. Returns the features
    /// whose hooks are needed for the others.
    fn decide(&mut self, context: &ActiveRequest) -> Vec<Reader> {
        let (mut deciding, mut known) = (Vec::new(), HashSet::new());
        for (readers, uri) in std::mem::take(&mut self.undecided) {
            let mut is_allowed = readers.or_elsewhere;
            let mut asked = None;
            for reader in &readers.features {
                let AccessOptions { visible, scopes, .. } = &reader.options.access;
                match visible.as_ref().map(|_| self.decisions.get(&reader.identity())) {
                    Some(Some(false)) => continue,
                    Some(None) => asked = Some(Arc::clone(reader)),
                    None | Some(Some(true)) => is_allowed = scopes.is_empty() || context.reply.grants(scopes),
                }
                break;
            }
            match asked {
                Some(reader) => {
                    if known.insert(reader.identity()) {
                        deciding.push(reader);
                    }
                    self.undecided.push((readers, uri));
                }
                None if is_allowed => {
                    self.allowed.insert(uri);
                }
                None => {}
            }
        }
        deciding
    }
}

/// Calls a hook. A failure is logged and counts as `false`.
fn ask(
    context: &Arc<ActiveRequest>,
    hook: Arc<dyn Handler>,
    name: String,
    on_decision: impl FnOnce(bool) + Send + 'static,
) {
    let input = RawJson::object(&json!({"name": name}));
    let decided = |decision: Result<RawJson, RpcError>| decision.is_ok_and(|it| it.as_bytes().trim_ascii() == TRUE);
    let scope = Responder::Client.scope(context);
    let responder = Responder::Inside(scope, Box::new(move |decision| on_decision(decided(decision))));
    context.run(Arc::new(Deciding { hook, name }), input, responder);
}

const TRUE: &[u8] = b"true";

/// A running visibility hook.
struct Deciding {
    hook: Arc<dyn Handler>,
    name: String,
}

impl ResultMapper for Deciding {
    fn target(&self) -> Target<'_> {
        Target { handler: &self.hook, name: Some(&self.name), timeout: None }
    }

    fn may_ask(&self) -> bool {
        false
    }

    fn render(&self, context: &ActiveRequest, outcome: Outcome) -> Result<RawJson, RpcError> {
        let results = context.results();
        let what = || format!("the visible hook of {}", self.name);
        match outcome {
            Outcome::Value(decision) if matches!(decision.as_bytes().trim_ascii(), TRUE | b"false") => Ok(decision),
            Outcome::Internal(_) | Outcome::Reported(_) | Outcome::ToolError(_) | Outcome::Protocol(_) => {
                let error = error_of(results, &what(), outcome);
                tracing::warn!(target: "trunkline::server::methods", feature = self.name, error = error.message, "the visible hook failed; hiding the feature from the caller");
                Err(error)
            }
            other => {
                Err(error_of(results, &what(), Outcome::Internal(format!("it returned {other:?}, not true or false"))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
