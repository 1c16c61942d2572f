// The authorization server of a provider, imitated, with a protected MCP server: a row of
// ../../authorization-servers.json. The server is strict where its row has no quirk.
import { createHash, randomUUID } from "node:crypto";
import { createServer, request as httpRequest } from "node:http";

/**
 * The quirks of rows, by name. Each has parameters and the source that documents it.
 *
 *   redirectUris       rule: "port" (any), "path" (any port, and paths below), "loopback" (any)
 *   refusesResource    error, description: the parameter `resource` is refused
 *   ignoresResource    the token is for the provider itself, and the MCP server refuses it
 *   needsScope         error, description: a login without a scope is refused
 *   knowsScopes        scopes, error, description: others are refused
 *   needsSecret        status, error, description, members: what a client without its secret gets
 *   refusesSecret      the same for a public client with a secret
 *   registration       status, body: dynamic registration is refused
 *   refreshTokens      with: the scope that they need, if any; withParameters: those of the login
 *                      page that they need, if any; rotates
 *   expiresIn          value, in the type of the provider
 *   tokens             prefix; members: more members of the response
 *   tokenType          value
 *   errorStatus        status of refused token requests
 *   formEncoded        token responses are, unless the client accepts JSON
 *   sendsIss           redirects name the issuer, although the metadata does not say so
 *   openMethods        needing: the methods that need a token; all others do not
 */
const quirks = new Set([
  "redirectUris", "refusesResource", "ignoresResource", "needsScope", "knowsScopes", "needsSecret", "refusesSecret", "registration",
  "refreshTokens", "expiresIn", "tokens", "tokenType", "errorStatus", "formEncoded", "sendsIss", "openMethods",
]);

/** Checks that each quirk of a row is known and has a source. */
export function checkRow({ name, metadata, quirks: own }) {
  const sourced = [["metadata", metadata], ...Object.entries(own)];
  for (const [what, { source }] of sourced) if (!/^https:\/\/\S+$/.test(source ?? "")) throw new Error(`${name}: ${what} has no source`);
  for (const what of Object.keys(own)) if (!quirks.has(what)) throw new Error(`${name}: no quirk is called ${what}`);
}

/**
 * Starts the servers of a row: `{mcp}`, `{as}` and `{login}` in it are their origins, and `{port}`
 * is the port of the client. `mcp` is the origin of the MCP server behind the protected one.
 */
export async function imitate(row, mcp, port) {
  const world = new World();
  const handlers = { mcp: (...pair) => world.serveMcp(...pair), as: (...pair) => world.serve(...pair), login: (...pair) => world.serve(...pair) };
  const servers = Object.values(handlers).map((serve) => createServer((request, response) => void served(serve, request, response)));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))));
  const origins = Object.fromEntries(Object.keys(handlers).map((name, at) => [name, `http://127.0.0.1:${servers[at].address().port}`]));
  const fill = (value) => JSON.parse(Object.entries({ ...origins, port }).reduce((text, [name, origin]) => text.replaceAll(`{${name}}`, origin), JSON.stringify(value)));
  world.begin(fill(row), origins, mcp);
  const close = () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
  return { url: `${origins.mcp}/mcp`, endpoints: world.endpoints(), fill, seen: world.seen, close };
}

async function served(serve, request, response) {
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    await serve(request, Buffer.concat(chunks), response);
  } catch (error) {
    response.writeHead(500).end(String(error.stack));
  }
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...headers }).end(JSON.stringify(body));
}

/** A refused request to the token endpoint. */
class Refused extends Error {
  constructor({ status, error, description, members }) {
    super(error);
    Object.assign(this, { status, body: { error, ...(description && { error_description: description }), ...members } });
  }
}

class World {
  seen = { logins: 0, refreshes: 0, registrations: 0 };
  #clients = new Map();
  #codes = new Map();
  #tokens = new Map();
  #refreshTokens = new Map();

  begin(row, origins, mcp) {
    Object.assign(this, { row, quirks: row.quirks, document: row.metadata.document, mcp, resource: `${origins.mcp}/mcp` });
    for (const client of row.clients ?? []) this.#clients.set(client.client_id, { redirect_uris: [], ...client });
  }

  endpoints() {
    return { authorization: this.document.authorization_endpoint, token: this.document.token_endpoint };
  }

  // The authorization server.

  async serve(request, body, response) {
    const url = new URL(request.url, "http://127.0.0.1");
    const is = (endpoint) => endpoint && new URL(endpoint).pathname === url.pathname;
    const { document } = this;
    if (this.row.metadata.at.includes(url.pathname)) return json(response, 200, document);
    if (is(document.authorization_endpoint)) return this.#authorize(url.searchParams, response);
    if (is(document.token_endpoint) && request.method === "POST") return this.#token(request, body, response);
    if (is(document.registration_endpoint) && request.method === "POST") return this.#register(JSON.parse(body), response);
    response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not found</h1>");
  }

  #authorize(query, response) {
    const asked = Object.fromEntries(query);
    const client = this.#clients.get(asked.client_id);
    const shows = (text) => response.writeHead(400, { "content-type": "text/html" }).end(`<h1>${text}</h1>`);
    if (!client) return shows("unknown client");
    if (!client.redirect_uris.some((uri) => this.#fits(uri, asked.redirect_uri))) return shows(`redirect_uri_mismatch: ${asked.redirect_uri}`);
    const { document } = this;
    const namesIssuer = document.authorization_response_iss_parameter_supported || this.quirks.sendsIss;
    const redirect = (parameters) => {
      const to = new URL(asked.redirect_uri);
      const all = { ...parameters, state: asked.state, ...(namesIssuer && { iss: document.issuer }) };
      for (const [name, value] of Object.entries(all)) to.searchParams.set(name, value);
      response.writeHead(302, { location: to.href }).end();
    };
    const fault = this.#faultOf(asked);
    if (fault) return redirect({ error: fault.error, error_description: fault.description });
    const code = randomUUID();
    this.#codes.set(code, { ...asked });
    ++this.seen.logins;
    redirect({ code });
  }

  /** Why a login is refused. */
  #faultOf({ response_type: type, code_challenge: challenge, code_challenge_method: method, resource, scope = "" }) {
    const { refusesResource, needsScope, knowsScopes } = this.quirks;
    if (type !== "code") return { error: "unsupported_response_type" };
    if (!challenge || method !== "S256") return { error: "invalid_request", description: "no PKCE" };
    if (refusesResource && resource) return refusesResource;
    if (needsScope && scope === "") return needsScope;
    if (knowsScopes && !scope.split(" ").every((one) => one === "" || knowsScopes.scopes.includes(one))) return knowsScopes;
    return undefined;
  }

  #fits(registered, asked) {
    if (!URL.canParse(asked)) return false;
    const [one, other] = [new URL(registered), new URL(asked)];
    const isSameHost = one.protocol === other.protocol && one.hostname === other.hostname;
    const rules = {
      port: () => one.pathname === other.pathname,
      path: () => other.pathname === one.pathname || other.pathname.startsWith(`${one.pathname.replace(/\/$/, "")}/`),
      loopback: () => ["127.0.0.1", "localhost", "[::1]"].includes(other.hostname),
    };
    const rule = this.quirks.redirectUris?.rule;
    return registered === asked || (isSameHost && rule !== undefined && rules[rule]());
  }

  #register(wanted, response) {
    ++this.seen.registrations;
    const { registration } = this.quirks;
    if (registration) return json(response, registration.status, registration.body);
    const method = wanted.token_endpoint_auth_method;
    const secret = method === "none" ? {} : { client_secret: randomUUID(), client_secret_expires_at: 0 };
    const client = { ...wanted, client_id: randomUUID(), ...secret };
    this.#clients.set(client.client_id, client);
    json(response, 201, client);
  }

  #token(request, body, response) {
    const form = Object.fromEntries(new URLSearchParams(body.toString()));
    const { errorStatus, formEncoded } = this.quirks;
    const answer = (status, found) => {
      if (!formEncoded || /json/.test(request.headers.accept ?? "")) return json(response, status, found);
      response.writeHead(status, { "content-type": "application/x-www-form-urlencoded" }).end(new URLSearchParams(found).toString());
    };
    try {
      answer(200, this.#grant(this.#authenticate(form, request.headers.authorization), form));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      answer(errorStatus?.status ?? error.status ?? 400, error.body);
    }
  }

  /** The client of a token request, which must use a method of the metadata. */
  #authenticate(form, header) {
    const { needsSecret, refusesSecret } = this.quirks;
    const basic = header?.startsWith("Basic ") && Buffer.from(header.slice(6), "base64").toString().split(":").map((text) => decodeURIComponent(text.replaceAll("+", " ")));
    const [id, secret] = basic || [form.client_id, form.client_secret];
    const client = this.#clients.get(id);
    const refuse = (description) => new Refused({ status: 401, error: "invalid_client", description });
    if (!client) throw refuse("unknown client");
    if (basic && (form.client_secret || (form.client_id ?? id) !== id)) throw refuse("two ways of authentication");
    const listed = this.document.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    if (secret && !listed.includes(basic ? "client_secret_basic" : "client_secret_post")) throw refuse("this way of authentication is not supported");
    if (client.client_secret && secret === undefined) throw needsSecret ? new Refused(needsSecret) : refuse("no secret");
    if (!client.client_secret && secret) throw refusesSecret ? new Refused(refusesSecret) : refuse("a public client has no secret");
    if (client.client_secret && secret !== client.client_secret) throw refuse("a wrong secret");
    return client;
  }

  #grant(client, form) {
    const { refusesResource } = this.quirks;
    if (refusesResource && form.resource) throw new Refused(refusesResource);
    if (form.grant_type === "authorization_code") return this.#issue(this.#redeem(client, form), true);
    if (form.grant_type !== "refresh_token") throw new Refused({ error: "unsupported_grant_type" });
    const known = this.#refreshTokens.get(form.refresh_token);
    if (known?.client_id !== client.client_id) throw new Refused({ error: "invalid_grant" });
    const { rotates } = this.quirks.refreshTokens;
    if (rotates) this.#refreshTokens.delete(form.refresh_token);
    ++this.seen.refreshes;
    return this.#issue(known, rotates);
  }

  #redeem(client, form) {
    const code = this.#codes.get(form.code);
    this.#codes.delete(form.code);
    const challenge = createHash("sha256").update(form.code_verifier ?? "").digest("base64url");
    const isSameResource = form.resource === undefined || code?.resource === form.resource;
    const fits = code?.client_id === client.client_id && code.redirect_uri === form.redirect_uri && code.code_challenge === challenge && isSameResource;
    if (!fits) throw new Refused({ error: "invalid_grant", description: "the code, its redirect URI, its verifier or its resource" });
    return code;
  }

  #issue(code, withRefreshToken) {
    const { refreshTokens, expiresIn, tokens, tokenType, ignoresResource } = this.quirks;
    const scopes = (code.scope ?? "").split(" ");
    const token = `${tokens?.prefix ?? ""}${randomUUID()}`;
    this.#tokens.set(token, { scopes, isForServer: !ignoresResource && (code.resource === undefined || code.resource === this.resource) });
    const found = { access_token: token, token_type: tokenType?.value ?? "Bearer", expires_in: expiresIn?.value ?? 3600, scope: scopes.filter((scope) => scope !== "offline_access").join(" "), ...tokens?.members };
    if (expiresIn?.value === null) delete found.expires_in;
    const hasScope = !refreshTokens?.with || scopes.includes(refreshTokens.with);
    const hasParameters = Object.entries(refreshTokens?.withParameters ?? {}).every(([name, value]) => code[name] === value);
    if (withRefreshToken && refreshTokens && hasScope && hasParameters) {
      found.refresh_token = randomUUID();
      this.#refreshTokens.set(found.refresh_token, code);
    }
    return found;
  }

  // The protected server.

  async serveMcp(request, body, response) {
    const { resource, quirks } = this.row;
    if (request.url === resource.at) return json(response, 200, resource.document);
    if (request.url !== "/mcp") return response.writeHead(404).end();
    const method = body.length > 0 ? JSON.parse(body).method : undefined;
    const isOpen = quirks.openMethods && !quirks.openMethods.needing.includes(method);
    const token = this.#tokens.get(/^Bearer (.+)$/.exec(request.headers.authorization)?.[1]);
    if (!isOpen && !token?.isForServer) {
      const error = request.headers.authorization ? 'error="invalid_token", error_description="not for this server", ' : "";
      return json(response, 401, { error: "unauthorized" }, { "www-authenticate": `Bearer ${error}resource_metadata="${new URL(resource.at, this.resource)}"` });
    }
    const missing = isOpen ? [] : (resource.requires ?? []).filter((scope) => !token.scopes.includes(scope));
    if (missing.length > 0) return json(response, 403, { error: "forbidden" }, { "www-authenticate": `Bearer error="insufficient_scope", scope="${missing.join(" ")}"` });
    this.#forward(request, body, response);
  }

  #forward(request, body, response) {
    const { host, authorization, connection, ...headers } = request.headers;
    const passed = httpRequest(`${this.mcp}${request.url}`, { method: request.method, headers }, (answered) => {
      response.writeHead(answered.statusCode, answered.headers);
      answered.pipe(response);
    });
    passed.on("error", (error) => response.destroy(error));
    response.on("close", () => passed.destroy());
    passed.end(body);
  }
}
