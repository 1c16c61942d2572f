// A person without a mouse: finds a tool, calls it, answers a round, reads the wire; uses an app
// and leaves it; finds a skill and reads it.
import { go } from "./page.mjs";

const focused = (page) =>
  page.evaluate(() => {
    const inside = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    return `${inside?.tagName} ${inside?.getAttribute("aria-label") ?? inside?.id ?? ""}`;
  });

/** Presses Tab until this is true of the page, whose focus moves. */
async function tabTo(page, what, isThere) {
  for (let steps = 0; !(await page.evaluate(isThere)); ++steps) {
    if (steps === 60) throw new Error(`Tab does not reach ${what}: ${await focused(page)}`);
    await page.keyboard.press("Tab");
  }
}

/** Opens the first thing that a filter finds on a page. */
async function open(page, key, text) {
  await page.waitForSelector(".offers");
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await page.waitForSelector(".split");
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  const isFirst = (wanted) => document.querySelector(".split-list .row")?.textContent.includes(wanted);
  await page.waitForFunction(isFirst, text);
  await page.keyboard.press("Enter");
  await page.waitForSelector("h2");
}

export async function withoutMouse(page) {
  await open(page, "t", "test_elicitation");
  await page.getByLabel("message").first().waitFor();
  await tabTo(page, "the form", () => document.activeElement?.tagName === "TEXTAREA");
  await page.keyboard.type("Who are you?");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".round");
  await tabTo(page, "the question", () => document.activeElement?.closest(".round textarea") !== null);
  await page.keyboard.type("Ada");
  await page.keyboard.press("Tab");
  await page.keyboard.type("ada@example.com");
  await page.keyboard.press("Control+Enter");
  await page.locator(".call .part", { hasText: "Ada" }).waitFor();
  await tabTo(page, "the wire", () => document.activeElement?.ariaLabel === "Messages");
  await page.keyboard.press("End");
  await page.waitForSelector(".wire-detail .json");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".wire-detail", { state: "detached" });
}

const inApp = () => document.activeElement?.tagName === "IFRAME";

async function run(page, app) {
  await open(page, "u", app);
  await page.locator(".actions .button.main:enabled").waitFor();
  await page.keyboard.press("Control+Enter");
  await page.locator(".hosted [role=status]", { hasText: "running" }).waitFor();
  await tabTo(page, "the app", inApp);
}

/** Uses an app, leaves it to answer its question, and goes to another page. */
export async function appWithoutMouse(page) {
  await run(page, "forecast");
  const app = page.frameLocator(".hosted iframe").frameLocator("iframe");
  await app.locator("#refresh:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("The app asks for tools/call").waitFor();
  await tabTo(page, "the question of the app", () => document.activeElement?.closest(".round .button") !== null);
  await page.keyboard.press("Enter");
  await app.getByText("Rain from noon").waitFor();
  // Back into the app, and out of it at its beginning.
  await page.locator(".hosted button").focus();
  await tabTo(page, "the app", inApp);
  await page.keyboard.press("Shift+Tab");
  if (await page.evaluate(inApp)) await page.keyboard.press("Shift+Tab");
  if (await page.evaluate(inApp)) throw new Error("Shift+Tab does not leave the app");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.locator(".split-list .row", { hasText: "refresh" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.locator(".split-list .row", { hasText: "forecast" }).waitFor();
}

/** Leaves an app that keeps every key to itself. */
export async function outOfTrap(page) {
  await run(page, "trap");
  for (const key of ["Tab", "Shift+Tab", "Escape"]) await page.keyboard.press(key);
  if (!(await page.evaluate(inApp))) throw new Error("the app is no trap");
  // Twice within a second: the first press may be long ago.
  const isOut = () => document.activeElement?.ariaLabel === "Close the app";
  for (let tries = 0; !(await page.evaluate(isOut)); ++tries) {
    if (tries === 20) throw new Error("Escape does not leave the app");
    await page.keyboard.press("Escape");
    await page.waitForFunction(isOut, null, { timeout: 500 }).catch(() => null);
  }
  await page.keyboard.press("Enter");
  await page.locator(".hosted [role=status]", { hasText: "closed" }).waitFor();
}

/** Finds a skill by its name among everything, reads a file of it, and closes it. */
export async function skillWithoutMouse(page) {
  await page.locator(".era-trigger", { hasText: "2026-07-28" }).waitFor();
  await page.locator("a[href='#/skills']", { hasText: "1" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("skill unit");
  // Before the resource that is its file.
  await page.locator(".palette .row[aria-selected=true]", { hasText: "skillunit-conversion" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("h2", { hasText: "unit-conversion" }).waitFor();
  await tabTo(page, "the files", () => document.activeElement?.closest(".files") !== null && document.activeElement.textContent !== "SKILL.md");
  await page.keyboard.press("Enter");
  await page.getByLabel("File", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("h2", { hasText: "unit-conversion" }).waitFor({ state: "detached" });
  await page.keyboard.press("j");
  await page.getByLabel("SKILL.md").first().waitFor();
}

/** Fills the fields of one schema by keyboard alone, and compares the arguments that arrive. */
export async function fillSchema(page, { name, keys, sends }) {
  await go(page, `#/tools/${encodeURIComponent(name)}`);
  await page.locator("h2", { hasText: name }).waitFor();
  await page.locator(".form :is(input, textarea, select, button)").first().focus();
  for (const key of keys) {
    if (key.startsWith("<")) await page.keyboard.press(key.slice(1, -1));
    else await page.keyboard.type(key);
  }
  await page.keyboard.press("Control+Enter");
  const result = page.locator(".call .part pre").first();
  await result.waitFor();
  const arrived = JSON.parse(await result.textContent());
  if (JSON.stringify(arrived) !== JSON.stringify(sends)) {
    throw new Error(`sends ${JSON.stringify(arrived)}, not ${JSON.stringify(sends)}`);
  }
}
