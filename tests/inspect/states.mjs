// The states of the page. Those with `short` are in the short form, at one width.
import { readFileSync } from "node:fs";

import { faultsOfHar } from "./har.mjs";
import { go } from "./page.mjs";

const MAIN = ".actions .button.main";

const call = async (page, tool) => {
  await go(page, `#/tools/${tool}`);
  await page.click(MAIN);
};
const shows = (page, text) => page.getByText(text).first().waitFor();

/** Saves the HTTP exchanges, which others must be able to read. */
async function saveHar(page) {
  if (await page.locator(".wire[data-height=closed]").count()) await page.locator(".wire-title").click();
  await page.getByRole("button", { name: "Save all" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "as HAR" }).click()]);
  const text = readFileSync(await download.path(), "utf8");
  const faults = faultsOfHar(text);
  if (!text.includes("/register")) faults.push("HAR: an exchange is missing");
  if (text.includes("a-token-of-the-test")) faults.push("HAR: it has a secret");
  if (faults.length > 0) throw new Error(faults.join("; "));
}

export const STATES = [
  { name: "server", server: "fixture", short: true, act: (page) => page.waitForSelector(".offers") },
  {
    name: "tools",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/tools");
      await page.locator(".split-list .row").first().waitFor();
    },
  },
  {
    name: "called",
    server: "fixture",
    short: true,
    act: async (page) => {
      await call(page, "add_numbers?a=1&b=2");
      await shows(page, "3");
      await page.waitForSelector(".call .badge.good");
    },
  },
  {
    // Shown in docs/program.md.
    name: "sum",
    server: "everything",
    act: async (page) => {
      await call(page, "get-sum?a=1&b=2");
      await shows(page, "The sum of 1 and 2 is 3.");
    },
  },
  {
    name: "structured",
    server: "fixture",
    act: async (page) => {
      await call(page, "structured?city=Paris");
      await page.getByRole("tab", { name: "Structured" }).click();
      await page.waitForSelector(".call .json");
    },
  },
  {
    name: "picture",
    server: "fixture",
    act: async (page) => {
      await call(page, "test_multiple_content_types");
      await page.waitForSelector(".call img");
    },
  },
  {
    name: "tool error",
    server: "fixture",
    act: async (page) => {
      await call(page, "test_error_handling");
      await page.waitForSelector(".call .badge.bad");
    },
  },
  {
    name: "running",
    server: "fixture",
    act: async (page) => {
      await call(page, "slow?ms=60000");
      await page.waitForSelector(".call .progress");
    },
  },
  {
    name: "cancelled",
    server: "fixture",
    act: async (page) => {
      await call(page, "slow?ms=60000");
      await page.getByRole("article").getByRole("button", { name: "Cancel" }).click();
      await page.waitForSelector(".call .badge.warn");
    },
  },
  {
    name: "round",
    server: "fixture",
    act: async (page) => {
      await call(page, "test_elicitation_sep1330_enums");
      await page.waitForSelector(".round");
    },
  },
  {
    name: "round with an address",
    server: "fixture",
    act: async (page) => {
      await call(page, "test_url_elicitation");
      await page.getByText("Open example.com").waitFor();
    },
  },
  {
    name: "round for a model",
    server: "fixture",
    act: async (page) => {
      await call(page, "test_sampling?prompt=Hello");
      await page.waitForSelector(".round .editor-root");
    },
  },
  {
    name: "JSON",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/tools/echo?message=hi");
      await page.getByRole("tab", { name: "JSON" }).click();
      await page.waitForSelector(".editor-root");
    },
  },
  {
    name: "digits of large integers",
    server: "digits",
    short: true,
    act: async (page) => {
      const number = "1234567890123456789";
      await go(page, "#/tools/echo");
      await page.getByRole("tab", { name: "JSON" }).click();
      await page.locator(".editor-root .cm-content").click();
      await page.keyboard.press("Control+a");
      await page.keyboard.type(`{"id": ${number}}`);
      await page.click(MAIN);
      await page.getByRole("tab", { name: "Structured" }).click();
      await page.locator(".call .json", { hasText: number }).waitFor();
      if (await page.locator(".wire[data-height=closed]").count()) await page.locator(".wire-title").click();
      for (const kind of ["request", "result"]) {
        await page.locator(`.wire-list .row:has(.method.${kind})`, { hasText: number }).first().click();
        await page.locator(".wire-detail .json", { hasText: number }).waitFor();
        await page.getByRole("button", { name: "Close", exact: true }).click();
      }
      // A link keeps them too, and a form says that it cannot.
      await page.reload();
      await page.getByRole("tab", { name: "JSON" }).click();
      await page.locator(".editor-root .cm-content", { hasText: number }).waitFor();
      await page.getByRole("tab", { name: "Form" }).click();
      await shows(page, "JSON keeps all digits");
    },
  },
  {
    name: "schema",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/tools/echo");
      await page.getByRole("tab", { name: "Schema" }).click();
      await page.waitForSelector(".json");
    },
  },
  {
    name: "code",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/tools/echo?message=hi");
      await page.getByRole("button", { name: "Copy as" }).click();
      await page.getByRole("menuitem").first().click();
      await page.waitForSelector(".code pre");
    },
  },
  {
    name: "resource",
    server: "fixture",
    act: async (page) => {
      await go(page, `#/resources/${encodeURIComponent("test://static-text")}`);
      await page.click(MAIN);
      await shows(page, "This is the content of the static text resource.");
    },
  },
  {
    name: "template",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/resources");
      await page.locator(".split-list .row", { hasText: "template" }).first().click();
      await page.fill(".field input", "7");
      await page.locator("dd", { hasText: "7" }).waitFor();
    },
  },
  {
    name: "prompt",
    server: "fixture",
    act: async (page) => {
      await go(page, "#/prompts/test_prompt_with_arguments");
      const fields = page.locator(".split-detail .field input");
      await fields.first().fill("par");
      await page.waitForSelector("datalist option", { state: "attached" });
      await fields.first().fill("paris");
      await fields.nth(1).fill("x");
      await page.click(MAIN);
      await page.waitForSelector(".call .part");
    },
  },
  {
    name: "task",
    server: "everything",
    act: async (page) => {
      await go(page, "#/tools/simulate-research-query?topic=x");
      await page.click(MAIN);
      await page.getByRole("link", { name: /^task / }).click();
      // The page follows the task until its end, and shows its result as that of a call.
      await page.locator(".head .badge.good", { hasText: "completed" }).waitFor();
      await page.locator(".call .part", { hasText: "Research Report: x" }).waitFor();
      await page.getByRole("button", { name: "Wait for its result" }).click();
      await page.locator(".call .badge.good").nth(1).waitFor();
      if ((await page.locator(".split-list .row").count()) > 1) throw new Error("a task is listed twice");
    },
  },
  {
    name: "2024-11-05 only",
    server: "old",
    act: async (page) => {
      await page.locator(".era-trigger", { hasText: "2024-11-05" }).waitFor();
      await call(page, "only");
      await page.waitForSelector(".call .badge.good");
    },
  },
  {
    name: "2026-07-28 only",
    server: "new",
    act: async (page) => {
      await page.locator(".era-trigger", { hasText: "2026-07-28" }).waitFor();
      await call(page, "only");
      await page.waitForSelector(".call .badge.good");
    },
  },
  {
    // The form keeps its values, although a newer revision opens.
    name: "late revision",
    server: "late",
    act: async (page) => {
      await page.locator(".era-trigger", { hasText: "2025-11-25" }).waitFor();
      await go(page, "#/tools/echo");
      await page.locator(".field textarea").fill("kept");
      await page.locator(".era-trigger", { hasText: "2026-07-28" }).waitFor({ state: "attached" });
      await page.click(MAIN);
      await page.locator(".call .part", { hasText: "kept" }).waitFor();
    },
  },
  {
    // Nothing moves when it opens.
    name: "later revision",
    server: "late",
    act: async (page) => {
      await page.locator(".era-trigger", { hasText: "2025-11-25" }).waitFor();
      await page.waitForSelector(".offers");
      await shows(page, "Cache hints");
    },
  },
  { name: "loading", server: "silent", act: (page) => page.waitForSelector(".skeleton") },
  { name: "not started", server: "missing", act: (page) => page.waitForSelector(".stage > .problem") },
  { name: "nothing offered", server: "bare", act: (page) => page.waitForSelector(".empty") },
  {
    name: "empty",
    server: "bare",
    act: async (page) => {
      await go(page, "#/prompts");
      await shows(page, "It did not declare the capability.");
    },
  },
  {
    name: "lint",
    server: "faulty",
    short: true,
    act: async (page) => {
      await page.waitForSelector(".offers");
      await page.keyboard.press("g");
      await page.keyboard.press("i");
      await page.locator(".rule li").first().waitFor();
      // As many as the rail says.
      const count = await page.locator("a[href='#/lint'] .count").textContent();
      await shows(page, `${count} findings`);
    },
  },
  {
    name: "lint for one host",
    server: "faulty",
    act: async (page) => {
      await go(page, "#/lint");
      await page.getByLabel("Host", { exact: true }).press("v");
      await page.getByLabel("Severity").press("e");
      await shows(page, "VS Code drops it");
      // Neither warnings nor what concerns other hosts only.
      await page.locator(".rule .badge.warn, .rule li:has(.affected):not(:has-text('VS Code'))").first().waitFor({ state: "detached" });
      await page.getByRole("link", { name: "weather.alerts" }).first().click();
      await page.locator("h2", { hasText: "weather.alerts" }).waitFor();
      await go(page, "#/lint");
      await page.locator(".rule li").first().waitFor();
    },
  },
  {
    name: "lint of a revision that is not spoken",
    server: "faulty",
    act: async (page) => {
      await go(page, "#/lint");
      await page.locator(".rule li").first().waitFor();
      await page.locator(".era-trigger").click();
      await page.getByRole("menuitem", { name: "2026-07-28" }).click();
      await shows(page, "Not connected.");
    },
  },
  {
    name: "lint without a finding",
    server: "bare",
    act: async (page) => {
      await go(page, "#/lint");
      await shows(page, "Nothing found.");
    },
  },
  {
    name: "lint of a hostile server",
    server: "hostile",
    act: async (page) => {
      await go(page, "#/lint");
      await page.locator(".rule li").first().waitFor();
      await shows(page, "Hidden characters");
    },
  },
  {
    name: "hosts",
    server: "faulty",
    act: async (page) => {
      await page.waitForSelector(".offers");
      await page.locator(".hosts summary").nth(3).click();
      await page.locator(".hosts").scrollIntoViewIfNeeded();
    },
  },
  {
    name: "10,000 tools",
    server: "many",
    act: async (page) => {
      await go(page, "#/tools/tool_07000");
      await page.waitForSelector("[aria-selected=true]", { state: "attached" });
    },
  },
  {
    name: "result of 5 MB",
    server: "many",
    act: async (page) => {
      await call(page, "large");
      await page.getByRole("button", { name: "Show all" }).click();
      await page.waitForSelector(".lines .line");
    },
  },
  {
    name: "flood",
    server: "many",
    act: async (page) => {
      await call(page, "flood");
      await page.waitForSelector(".call .badge.good");
    },
  },
  {
    // The browser stops frames before it says that the tab is hidden.
    name: "flood without frames",
    server: "many",
    short: true,
    act: async (page) => {
      await go(page, "#/tools/flood");
      await page.waitForSelector(MAIN);
      await page.evaluate(() => (window.requestAnimationFrame = () => 0));
      await page.click(MAIN);
      await page.waitForSelector(".call .badge.good");
    },
  },
  {
    name: "hostile server",
    server: "hostile",
    short: true,
    act: async (page) => {
      await page.waitForSelector(".offers");
      await go(page, "#/prompts");
      await page.locator(".row").first().waitFor();
      await go(page, "#/resources");
      await page.locator(".row").first().waitFor();
      await go(page, "#/tools/broken-schema");
      await page.waitForSelector("h2");
      await call(page, "hostile");
      await page.getByRole("button", { name: "Show all" }).click();
      await page.waitForSelector(".call .part");
    },
  },
  {
    name: "closed",
    server: "dying",
    act: async (page) => {
      for (let times = 1; times <= 3; ++times) {
        await call(page, "count");
        await page.locator(".call").nth(times - 1).waitFor();
      }
      await shows(page, "the database is locked");
      await page.waitForSelector(".stage[data-stale=true]");
      // A list that cannot be read again says so, and stays.
      await go(page, "#/tools");
      await page.getByRole("button", { name: "Ask for the tools again" }).click();
      await page.locator(".split-list > .problem", { hasText: "the database is locked" }).waitFor();
      await page.locator(".split-list .row").first().waitFor();
    },
  },
  {
    name: "restarted",
    server: "dying",
    act: async (page) => {
      for (let times = 1; times <= 3; ++times) {
        await call(page, "count");
        await page.locator(".call").nth(times - 1).waitFor();
      }
      await page.locator(".stage > .problem").getByRole("button", { name: "Reconnect" }).click();
      await page.waitForSelector(".stage[data-stale=false]");
    },
  },
  {
    name: "program ended",
    server: "fixture",
    short: true,
    act: async (page, program) => {
      await go(page, "#/tools/echo");
      await page.waitForSelector(MAIN);
      await program.stop();
      await shows(page, "trunkline has ended");
    },
  },
  {
    name: "message",
    server: "fixture",
    wire: true,
    act: async (page) => {
      await page.locator(".wire-list .row").first().click();
      await page.waitForSelector(".wire-detail .json");
    },
  },
  {
    name: "eras side by side",
    server: "fixture",
    wire: true,
    act: async (page) => {
      await page.selectOption(".wire-bar select", "aligned");
      await page.waitForSelector(".aligned .cell");
    },
  },
  {
    name: "sent again",
    server: "fixture",
    wire: true,
    act: async (page) => {
      await page.fill("[aria-label='Filter the wire']", "tools/list");
      await page.locator(".wire-list .row").first().click();
      await page.getByRole("button", { name: "Send again, edited" }).click();
      await page.waitForSelector(".again .editor-root");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page.waitForSelector(".again .call .badge.good");
    },
  },
  {
    // Its question is in the call on the page of its tool, to which the header leads.
    name: "question of what was sent again",
    server: "fixture",
    short: true,
    wire: true,
    act: async (page) => {
      await call(page, "test_elicitation_sep1330_enums");
      await page.locator(".round").getByRole("button", { name: "Decline" }).click();
      await page.waitForSelector(".call .badge.good");
      await page.fill("[aria-label='Filter the wire']", "tools/call");
      await page.locator(".wire-list .row").first().click();
      await page.getByRole("button", { name: "Send again, edited" }).click();
      await page.waitForSelector(".again .editor-root");
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page.locator(".again .round").waitFor();
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await go(page, "#/server");
      await page.locator(".round").first().waitFor({ state: "detached" });
      await page.getByRole("link", { name: "1 question" }).click();
      await page.locator(".stage .round").getByRole("button", { name: "Decline" }).click();
      await page.locator(".call .badge.good").nth(1).waitFor();
    },
  },
  {
    name: "login",
    server: "login",
    act: async (page) => {
      await go(page, "#/login");
      await page.locator(".rung[data-pass=false]").first().waitFor();
    },
  },
  {
    name: "HTTP exchange",
    server: "login",
    wire: true,
    act: async (page) => {
      await page.fill("[aria-label='Filter the wire']", "register");
      await page.locator(".wire-list .row").first().click();
      await page.waitForSelector(".wire-detail .headers");
    },
  },
  {
    name: "logged in",
    server: "consent",
    short: true,
    act: async (page) => {
      await go(page, "#/login");
      const address = await page.locator(".round .address .mono").textContent();
      const consent = await page.context().newPage();
      await consent.goto(address);
      await consent.getByRole("link", { name: "Allow" }).click();
      await consent.close();
      await page.waitForSelector(".era-trigger .dot.open");
      const rungs = page.locator(".rung", { hasText: "RFC 8414" });
      const before = await rungs.first().locator(".time").textContent();
      await rungs.first().getByRole("button", { name: "Repeat this exchange" }).click();
      await rungs.first().locator(".time", { hasNotText: before }).waitFor();
      await page.locator(".rung", { hasText: "RFC 6749 section 5.1" }).getByRole("button", { name: "Repeat this exchange" }).click();
      await shows(page, "which is valid once");
      await saveHar(page);
    },
  },
  {
    name: "dry run",
    server: "fixture",
    short: true,
    act: async (page) => {
      await go(page, "#/tools/echo?message=hi");
      await page.getByRole("button", { name: "Dry run" }).click();
      await page.locator(".code pre", { hasText: "2026-07-28" }).waitFor();
      if ((await page.locator(".call").count()) > 0) throw new Error("a dry run calls");
    },
  },
  {
    name: "several servers",
    server: "several",
    short: true,
    act: async (page) => {
      await page.waitForSelector(".offers");
      await go(page, "#/tools/echo");
      await page.getByRole("button", { name: "Another server" }).click();
      await page.getByRole("menuitem", { name: "bare" }).click();
      await page.getByText("odd bare").first().waitFor();
      if (!page.url().endsWith("#/@bare/server")) throw new Error(`the address is ${page.url()}`);
      await page.reload();
      await page.getByText("odd bare").first().waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await shows(page, "It did not declare the capability.");
      if (!page.url().endsWith("#/@bare/tools")) throw new Error(`the address is ${page.url()}`);
      await page.getByRole("button", { name: "Another server" }).click();
    },
  },
  {
    name: "palette",
    server: "fixture",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("echo");
      await page.locator(".palette .row").first().waitFor();
    },
  },
  {
    name: "keys",
    server: "fixture",
    act: async (page) => {
      await page.keyboard.press("?");
      await page.waitForSelector(".dialog");
    },
  },
];
