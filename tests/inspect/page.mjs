// A page in a browser that notes what must never happen on it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const WAIT_MS = 15_000;
/** Chromium's own limit for a good page is 0.1. */
export const MAX_SHIFT = 0.02;
/** A state may end the program, its access, or ask for what is refused; and apps are refused. */
const UNREACHED = /net::ERR_(FAILED|CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)|status of 40[01]/;

export async function startBrowser(executablePath) {
  // Chromium has no sandbox as root.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, timeout: WAIT_MS * 2 });
}

/** The milliseconds that a page's thread has run. Other programs don't make them more. */
export class ThreadTime {
  #session;

  static async of(page) {
    const time = new ThreadTime();
    time.#session = await page.context().newCDPSession(page);
    await time.#session.send("Performance.enable", { timeDomain: "threadTicks" });
    await time.#session.send("Page.enable");
    await time.#session.send("Page.setLifecycleEventsEnabled", { enabled: true });
    return time;
  }

  async used() {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  }

  /** Resolves at the first paint of the next page. Call this before it is opened. */
  atFirstPaint() {
    return new Promise((resolve, reject) => {
      this.#session.on("Page.lifecycleEvent", ({ name }) => {
        if (name === "firstContentfulPaint") this.used().then(resolve, reject);
      });
    });
  }
}

export async function openPage(browser, url, { width, height, theme }) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const faults = [];
  const { hostname } = new URL(url);
  page.on("request", (request) => {
    const asked = new URL(request.url());
    // Apps have another port.
    if (asked.hostname !== hostname && !["data:", "blob:"].includes(asked.protocol)) faults.push(`the page asks ${asked.href} for something`);
  });
  page.on("console", (message) => {
    // Apps may try what their policy forbids; apps.mjs has the outcome.
    if (message.location().url.endsWith("/app")) return;
    if (message.type() === "error" && !UNREACHED.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error.stack}`));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", () => faults.push("a window opens"));
  await page.addInitScript(() => {
    window.seen = { shift: 0, violations: [] };
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      window.seen.violations.push(`${violatedDirective} ${blockedURI}`);
    });
    const add = (list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.seen.shift += entry.value;
    };
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(url);
  await page.waitForSelector(".wire");
  return { page, context, faults };
}

/** Goes to a place of the page, such as `#/tools/echo`. */
export async function go(page, hash) {
  await page.evaluate((to) => (location.hash = to), hash);
}

/** Everything that is wrong with the page as it is now. */
export async function judge(page, faults) {
  const { shift, violations, title, wide, token } = await page.evaluate(() => ({
    ...window.seen,
    title: document.title,
    wide: document.documentElement.scrollWidth - innerWidth,
    token: location.hash.startsWith("#t="),
  }));
  const found = violations.map((violation) => `CSP: ${violation}`);
  if (shift > MAX_SHIFT) found.push(`the layout shifts by ${shift.toFixed(3)}`);
  if (wide > 0) found.push(`${wide} pixels too wide`);
  if (title === "run") found.push("text of the server has run");
  if (token) found.push("the token is in the address bar");
  await page.evaluate(AXE);
  const results = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: "tag", values } }), RULES);
  for (const { id, nodes } of results.violations) found.push(`axe ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].any[0]?.message ?? ""}`);
  return [...faults, ...found];
}
