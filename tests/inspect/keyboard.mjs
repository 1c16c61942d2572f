// A person without a mouse: finds a tool, calls it, answers a round, reads the wire.
import { go } from "./page.mjs";

const focused = (page) =>
  page.evaluate(() => {
    const inside = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    return `${inside?.tagName} ${inside?.getAttribute("aria-label") ?? inside?.id ?? ""}`;
  });

export async function withoutMouse(page) {
  await page.waitForSelector(".offers");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.waitForSelector(".split");
  await page.keyboard.press("/");
  await page.keyboard.type("test_elicitation");
  await page.locator(".split-list .row").first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForSelector("h2");
  await page.getByLabel("message").first().waitFor();
  for (let steps = 0; !(await focused(page)).startsWith("TEXTAREA"); ++steps) {
    if (steps === 20) throw new Error(`Tab does not reach the form: ${await focused(page)}`);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.type("Who are you?");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".round");
  for (let steps = 0; !(await page.evaluate(() => document.activeElement?.closest(".round textarea") !== null)); ++steps) {
    if (steps === 40) throw new Error(`Tab does not reach the question: ${await focused(page)}`);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.type("Ada");
  await page.keyboard.press("Tab");
  await page.keyboard.type("ada@example.com");
  await page.keyboard.press("Control+Enter");
  await page.locator(".call .part", { hasText: "Ada" }).waitFor();
  for (let steps = 0; (await focused(page)) !== "DIV Messages"; ++steps) {
    if (steps === 60) throw new Error(`Tab does not reach the wire: ${await focused(page)}`);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("End");
  await page.waitForSelector(".wire-detail .json");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".wire-detail", { state: "detached" });
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
