// The browser of a user who logs in and agrees, without a real one.

const maxSteps = 20;
const pageTimeoutMs = 20_000;

/** A page without a way on: all that a user sees after a request that is not redirected. */
export class DeadEnd extends Error {}

/**
 * Follows the redirects and submits the forms of a login page, up to the redirect URI of the client
 * that has opened it. Returns that URL, which has not been visited.
 */
export async function visit(first, user) {
  const cookies = new Map();
  const end = new URL(first).searchParams.get("redirect_uri");
  let [url, body] = [first, undefined];
  for (let step = 0; step < maxSteps; ++step) {
    // The name tells it from the clients.
    const headers = { "user-agent": "browser", accept: "text/html", cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const page = await fetch(url, { method: body ? "POST" : "GET", headers, body, redirect: "manual", signal: AbortSignal.timeout(pageTimeoutMs) });
    for (const cookie of page.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      cookies.set(name, value);
    }
    const location = page.headers.get("location");
    const text = await page.text();
    if (location) {
      [url, body] = [new URL(location, url).href, undefined];
      if (url.split("?")[0] === end?.split("?")[0]) return url;
      continue;
    }
    const form = /<form[\s\S]*?<\/form>/.exec(text)?.[0];
    if (!form) throw new DeadEnd(`the page shows ${page.status} ${shown(text)}`);
    const action = attribute(form, "action");
    url = new URL(action ?? "", url).href;
    body = new URLSearchParams(Object.entries(fields(form, user)));
  }
  throw new Error("the login does not end");
}

/** The fields that the user sends: the hidden ones, name and password, and the first button. */
function fields(form, user) {
  const inputs = [...form.matchAll(/<(?:input|button)[^>]*>/g)].map(([tag]) => tag);
  const named = (type) => inputs.filter((tag) => attribute(tag, "type") === type && attribute(tag, "name")).map((tag) => [attribute(tag, "name"), attribute(tag, "value") ?? ""]);
  const own = inputs.some((tag) => attribute(tag, "name") === "password") ? { login: user, username: user, password: "any" } : {};
  return { ...Object.fromEntries([...named("hidden"), ...named("submit").slice(0, 1)]), ...own };
}

function attribute(tag, name) {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1].replaceAll("&amp;", "&");
}

/** The text of a page in one line. */
function shown(text) {
  return text.replace(/<(style|script)[\s\S]*?<\/\1>/g, " ").replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim().slice(0, 300);
}
