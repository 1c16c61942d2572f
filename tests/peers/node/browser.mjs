// A user with a real browser (headless Chromium) who logs in and agrees.
//
// browser.mjs URL: replaces the program that opens URLs. It ends up on the page that the client
// serves at its redirect URI, and writes that page to the file LOGIN_NOTES.
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const pageTimeoutMs = 15_000;
/** Pages of a login: the login form and the consent form. */
const maxPages = 5;

/**
 * Visits a login page and submits its forms, up to the redirect away from its server. Returns the
 * URL of the redirect and the text of the page there. `unheard`: nothing listens at the redirect
 * URI, so there is no page.
 */
export async function logInWithBrowser(url, user, { unheard = false } = {}) {
  const { origin } = new URL(url);
  const profile = mkdtempSync(join(tmpdir(), "trunkline-browser-"));
  // Chromium has no sandbox as root.
  const options = { executablePath: process.env.LOGIN_BROWSER, chromiumSandbox: process.getuid?.() !== 0, timeout: pageTimeoutMs };
  const context = await chromium.launchPersistentContext(profile, options);
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(pageTimeoutMs);
    // The pages load web fonts, which the tests do without.
    const isHere = (asked) => ["127.0.0.1", "localhost"].includes(new URL(asked).hostname);
    await page.route("**/*", (route) => (isHere(route.request().url()) ? route.continue() : route.abort()));
    let left;
    const leaves = new Promise((resolve) => {
      page.on("request", (request) => {
        if (!request.isNavigationRequest() || request.url().startsWith(origin)) return;
        left = request.url();
        resolve();
      });
    });
    await page.goto(url);
    for (let number = 0; !left; ++number) {
      if (number === maxPages) throw new Error(`the login does not end: ${page.url()}`);
      if (await page.locator("input[name=login]").count()) {
        await page.fill("input[name=login]", user);
        await page.fill("input[name=password]", "any");
      }
      const before = page.url();
      await page.click("button[type=submit]");
      await Promise.race([leaves, page.waitForURL((now) => now.href !== before)]);
    }
    if (unheard) return { url: left };
    await page.waitForURL(left);
    return { url: left, text: await page.locator("body").innerText() };
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, maxRetries: 5 });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Its output is discarded.
  const note = (text) => appendFileSync(process.env.LOGIN_NOTES, `${text}\n`);
  await logInWithBrowser(process.argv[2], process.env.LOGIN_USER).then(({ url, text }) => note(`${new URL(url).pathname}: ${text}`), note);
}
