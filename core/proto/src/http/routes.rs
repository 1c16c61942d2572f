//! The paths of an endpoint.

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The endpoint of Streamable HTTP.
    Endpoint,
    /// The stream of HTTP+SSE.
    SseStream,
    /// Where messages of HTTP+SSE are posted.
    SseMessages,
    /// Unknown.
    Nowhere,
}

/// A health check by an orchestrator or a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthProbe {
    /// Is the process alive?
    Liveness,
    /// Should it receive requests?
    Readiness,
}

/// The paths of health checks, as Kubernetes components use them.
const PROBES: [(&str, HealthProbe); 2] = [("/healthz", HealthProbe::Liveness), ("/readyz", HealthProbe::Readiness)];

/// The paths of one server. A trailing slash makes no difference.
#[derive(Debug, Clone)]
pub struct Routes {
    /// The path of the endpoint, unless a router has already matched it.
    endpoint: Option<String>,
    sse: Option<SsePaths>,
    /// Clients may see a longer path than is known here.
    below: bool,
    /// True if health checks are answered.
    probes: bool,
    /// More paths of checks whether the process is alive.
    liveness: Vec<String>,
}

#[derive(Debug, Clone)]
struct SsePaths {
    stream: String,
    messages: String,
    /// The stream shares the path of the endpoint: a request without a session is for the stream.
    shared: bool,
}

impl Routes {
    /// `sse` has the paths of the stream and of the messages. The stream may share the path of the
    /// endpoint, and its messages are then posted there, too. `mounted` is set if a router has
    /// matched the path, of which only the end may be known.
    pub fn new(endpoint: &str, sse: Option<(&str, &str)>, mounted: bool) -> Self {
        let endpoint = normal(endpoint);
        let sse = sse.map(|(stream, messages)| {
            let stream = normal(stream);
            let shared = stream == endpoint;
            SsePaths { messages: if shared { endpoint.clone() } else { normal(messages) }, stream, shared }
        });
        Self { endpoint: (!mounted).then_some(endpoint), sse, below: mounted, probes: false, liveness: Vec::new() }
    }

    /// Enables or disables health checks.
    pub fn with_probes(self, probes: bool) -> Self {
        Self { probes, ..self }
    }

    /// Adds paths at which to check whether the process is alive.
    pub fn with_liveness(self, paths: &[String]) -> Self {
        Self { liveness: paths.iter().map(|path| normal(path)).collect(), ..self }
    }

    /// Marks the paths as nested in a router that strips their beginning.
    pub fn below(self) -> Self {
        Self { below: true, ..self }
    }

    /// Determines the purpose of a request. `in_session` is set if it names a session of Streamable
    /// HTTP, `addressed` if its query names one of HTTP+SSE.
    pub fn find(&self, path: &str, gets: bool, in_session: bool, addressed: bool) -> Purpose {
        let path = path.strip_suffix('/').unwrap_or(path);
        if let Some(sse) = &self.sse {
            let (stream, messages) = if sse.shared {
                let here = self.is_endpoint(path);
                (here, here && addressed)
            } else {
                // A URL relative to a stream with a trailing slash is one level deeper.
                let deeper = self.below && addressed && path.ends_with(&sse.messages);
                (self.is(path, &sse.stream), deeper || self.is(path, &sse.messages))
            };
            // If a router has matched the path, or it is shared, the endpoint may have the same
            // name.
            let certain = !sse.shared && self.endpoint.as_ref().is_some_and(|endpoint| !is_same(path, endpoint));
            if stream && (certain || (gets && !in_session)) {
                return Purpose::SseStream;
            }
            if messages && (certain || (!gets && addressed)) {
                return Purpose::SseMessages;
            }
        }
        if self.is_endpoint(path) { Purpose::Endpoint } else { Purpose::Nowhere }
    }

    /// The health check at a path. It takes precedence over other routes with the same path. A
    /// router that has matched the path of the endpoint answers health checks itself.
    pub fn probe(&self, path: &str) -> Option<HealthProbe> {
        self.endpoint.as_ref()?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let found = PROBES.iter().find(|(known, _)| self.probes && *known == path);
        let is_more = || self.liveness.iter().any(|known| is_same(path, known));
        found.map(|(_, probe)| *probe).or_else(|| is_more().then_some(HealthProbe::Liveness))
    }

    /// The path of the endpoint, unless a router has matched it.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    fn is_endpoint(&self, path: &str) -> bool {
        self.endpoint.as_ref().is_none_or(|endpoint| is_same(path, endpoint))
    }

    /// Returns whether a path matches: as a whole, or at its end if a router may have put something
    /// before it.
    fn is(&self, path: &str, known: &str) -> bool {
        is_same(path, known) || (self.endpoint.is_none() && path.ends_with(known))
    }

    /// The URI where messages of an HTTP+SSE session are posted (SSE-02), relative to its stream.
    pub fn messages_uri(&self, session: &str) -> String {
        let query = format!("?sessionId={session}");
        match &self.sse {
            Some(sse) if !self.below => sse.messages.clone() + &query,
            Some(sse) if !sse.shared => {
                let up = "../".repeat(sse.stream.matches('/').count().saturating_sub(1));
                format!("{up}{}{query}", sse.messages.trim_start_matches('/'))
            }
            _ => query,
        }
    }

    /// Lists the paths for an error message.
    pub fn describe(&self) -> String {
        let endpoint = self.endpoint.as_deref().unwrap_or("/");
        match self.sse.as_ref().filter(|sse| !sse.shared) {
            Some(sse) => format!("the MCP endpoint is {endpoint}, the HTTP+SSE endpoint is {}", sse.stream),
            None => format!("the MCP endpoint is {endpoint}"),
        }
    }
}

/// The root is empty after trailing slashes are removed.
fn is_same(path: &str, known: &str) -> bool {
    path == known || (path.is_empty() && known == "/")
}

/// With a leading slash and without trailing ones.
pub fn normal(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

/// The session that a query names.
pub fn session_of(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SSE: Option<(&str, &str)> = Some(("/sse", "/messages"));

    #[test]
    fn sse_01_sse_05_two_endpoints_next_to_the_modern_one() {
        let routes = Routes::new("mcp/", SSE, false);
        for (path, purpose) in [
            ("/mcp", Purpose::Endpoint),
            ("/mcp/", Purpose::Endpoint),
            ("/sse", Purpose::SseStream),
            ("/sse/", Purpose::SseStream),
            ("/messages", Purpose::SseMessages),
            ("/messages/", Purpose::SseMessages),
            ("/", Purpose::Nowhere),
            ("/mcp/sse", Purpose::Nowhere),
            ("/mcp//", Purpose::Nowhere),
            ("/MCP", Purpose::Nowhere),
        ] {
            for (gets, in_session, addressed) in [(true, false, false), (false, true, true), (true, true, false)] {
                assert_eq!(routes.find(path, gets, in_session, addressed), purpose, "{path}");
            }
        }
        assert_eq!(routes.messages_uri("x"), "/messages?sessionId=x");
        // A path that was chosen for the endpoint is the endpoint's.
        let routes = Routes::new("/messages", SSE, false);
        assert_eq!(routes.find("/messages", false, false, false), Purpose::Endpoint);
        assert_eq!(routes.find("/messages", false, false, true), Purpose::SseMessages);
        let root = Routes::new("/", None, false);
        assert_eq!(root.find("/", true, false, false), Purpose::Endpoint);
        assert_eq!(root.find("/sse", true, false, false), Purpose::Nowhere);
    }

    #[test]
    fn sse_02_below_a_router_messages_are_posted_relative_to_the_stream() {
        let routes = Routes::new("/mcp", SSE, false).below();
        assert_eq!(routes.messages_uri("x"), "messages?sessionId=x");
        assert_eq!(routes.find("/messages", false, false, true), Purpose::SseMessages);
        assert_eq!(routes.find("/sse/messages", false, false, true), Purpose::SseMessages);
        assert_eq!(routes.find("/sse/messages", false, false, false), Purpose::Nowhere);
        assert_eq!(routes.find("/sse/", true, false, false), Purpose::SseStream);
    }

    #[test]
    fn a_shared_path_is_resolved_by_method_and_session() {
        for mounted in [false, true] {
            let routes = Routes::new("/mcp", Some(("/mcp/", "/messages")), mounted);
            assert_eq!(routes.find("/mcp", true, false, false), Purpose::SseStream);
            assert_eq!(routes.find("/mcp/", true, true, false), Purpose::Endpoint);
            assert_eq!(routes.find("/mcp", false, false, true), Purpose::SseMessages);
            assert_eq!(routes.find("/mcp", false, false, false), Purpose::Endpoint);
            let uri = if mounted { "?sessionId=x" } else { "/mcp?sessionId=x" };
            assert_eq!(routes.messages_uri("x"), uri);
        }
    }

    #[test]
    fn a_mounted_service_knows_only_how_paths_end() {
        let routes = Routes::new("/mcp", SSE, true);
        assert_eq!(routes.find("/", false, false, false), Purpose::Endpoint);
        assert_eq!(routes.find("/any/where", true, false, false), Purpose::Endpoint);
        assert_eq!(routes.find("/any/sse/", true, false, false), Purpose::SseStream);
        assert_eq!(routes.find("/any/sse", true, true, false), Purpose::Endpoint);
        assert_eq!(routes.find("/any/sse", false, false, false), Purpose::Endpoint);
        assert_eq!(routes.find("/any/messages", false, false, true), Purpose::SseMessages);
        assert_eq!(routes.find("/any/messages", false, false, false), Purpose::Endpoint);
        assert_eq!(routes.find("/any/other-sse", true, false, false), Purpose::Endpoint);
        assert_eq!(routes.messages_uri("x"), "messages?sessionId=x");
        let deep = Routes::new("/mcp", Some(("/old/sse", "/old/messages")), true);
        assert_eq!(deep.messages_uri("x"), "../old/messages?sessionId=x");
    }

    #[test]
    fn probes_are_answered_where_they_are_asked_for_and_no_router_has_chosen_the_path() {
        let routes = |endpoint, mounted| Routes::new(endpoint, SSE, mounted).with_probes(true);
        for routes in
            [routes("/mcp", false), routes("/mcp", false).below(), routes("/", false), routes("/readyz", false)]
        {
            assert_eq!(routes.probe("/healthz"), Some(HealthProbe::Liveness));
            assert_eq!(routes.probe("/readyz/"), Some(HealthProbe::Readiness));
            assert_eq!(routes.probe("/mcp/healthz"), None);
            assert_eq!(routes.probe("/mcp"), None);
        }
        assert_eq!(routes("/mcp", true).probe("/healthz"), None);
        assert_eq!(Routes::new("/mcp", SSE, false).probe("/healthz"), None);
        let more = ["/health".to_owned(), "live/".to_owned()];
        let routes = |mounted| Routes::new("/mcp", SSE, mounted).with_liveness(&more);
        for path in ["/health", "/health/", "/live"] {
            assert_eq!(routes(false).probe(path), Some(HealthProbe::Liveness), "{path}");
            assert_eq!(routes(true).probe(path), None, "{path}");
        }
        assert_eq!(routes(false).probe("/healthz"), None);
    }

    #[test]
    fn queries_name_a_session() {
        assert_eq!(session_of(Some("a=b&sessionId=x-_9")), Some("x-_9"));
        assert_eq!(session_of(Some("sessionid=x")), None);
        assert_eq!(session_of(None), None);
    }
}
