// A newcomer with `server-everything`: calls each of its tools, answers its questions, follows its
// tasks, resources and logs, and completes its prompts.
import { MAX_SHIFT, go } from "./page.mjs";

/** Longer than its slowest task, on a machine that tests other things too. */
const LONG_MS = 30_000;

const first = (page) => page.locator(".call").first();
const press = (page) => page.locator(".split-detail .actions .button.main").first().click();
const field = (page, name) => page.locator(".split-detail .form").getByLabel(new RegExp(`^${name}`));
const answered = (page, text) => first(page).locator(".part, .json", { hasText: text }).first().waitFor({ timeout: LONG_MS });

async function open(page, tool) {
  await go(page, `#/tools/${tool}`);
  await page.locator("h2", { hasText: tool }).waitFor();
}

/** Fills in the fields of a tool, calls it, and waits for this text in its result. */
async function calls(page, tool, fields, text) {
  await open(page, tool);
  for (const [name, value] of Object.entries(fields)) {
    const input = field(page, name);
    if (typeof value === "boolean") await input.setChecked(value);
    else if ((await input.evaluate((one) => one.tagName)) === "SELECT") await input.selectOption({ label: value });
    else await input.fill(value);
  }
  await press(page);
  if (text) await answered(page, text);
}

async function tools(page) {
  await calls(page, "echo", { message: "Hello" }, "Echo: Hello");
  await calls(page, "get-sum", { a: "1", b: "2.5" }, "The sum of 1 and 2.5 is 3.5.");
  await field(page, "a").fill("");
  await page.locator(".objection", { hasText: "a (number) is missing" }).waitFor();
  await calls(page, "get-annotated-message", { messageType: "success", includeImage: true }, "Operation completed successfully");
  await first(page).locator("img").waitFor();
  await calls(page, "get-tiny-image", {}, "The image above is the MCP logo.");
  await calls(page, "get-env", {}, '"PATH"');
  await calls(page, "get-structured-content", { location: "Chicago" }, "temperature");
  await first(page).getByRole("tab", { name: "Structured" }).click();
  await answered(page, "humidity");
  await calls(page, "get-resource-reference", { resourceType: "Blob" }, "demo://resource/dynamic/blob/1");
  await calls(page, "gzip-file-as-resource", { data: "data:text/plain,hello" }, "demo://resource/session/README.md.gz");
  await calls(page, "get-resource-links", { count: "1" }, "demo://resource/dynamic/");
  await first(page).getByRole("button", { name: "Read it" }).click();
  await press(page);
  await answered(page, "demo://resource/dynamic/");
}

async function rootsAndLogs(page) {
  await go(page, "#/server");
  await page.getByRole("button", { name: "Add an item" }).click();
  await page.keyboard.type("file:///tmp");
  await page.getByRole("button", { name: "Use these roots" }).click();
  await page.getByRole("button", { name: "Use these roots" }).waitFor({ state: "detached" });
  await calls(page, "get-roots-list", {}, "file:///tmp");
  await calls(page, "toggle-simulated-logging", {}, "Started simulated");
  await go(page, "#/server");
  await page.getByLabel("Least level that the server sends").selectOption("debug");
  await page.locator(".logs li", { hasText: "level message" }).first().waitFor({ timeout: LONG_MS });
  await calls(page, "toggle-simulated-logging", {}, "Stopped simulated");
}

async function longOperation(page) {
  await calls(page, "trigger-long-running-operation", {});
  await first(page).locator(".progress", { hasText: "1 of 5" }).waitFor();
  await first(page).getByRole("button", { name: "Cancel" }).click();
  await first(page).locator(".badge.warn", { hasText: "cancelled" }).waitFor();
  await calls(page, "trigger-long-running-operation", { duration: "1" }, "Long running operation completed");
}

async function questions(page) {
  const round = first(page).locator(".round");
  await calls(page, "trigger-elicitation-request", {});
  await round.getByLabel(/^String/).first().fill("Ada");
  await round.locator("input[type=email]").fill("ada@example.com");
  await round.getByRole("button", { name: "Answer" }).click();
  await answered(page, "Name: Ada");
  await calls(page, "trigger-url-elicitation", { url: "https://example.com/here" });
  await round.getByText("Open example.com").waitFor();
  await round.getByRole("button", { name: "I have opened it" }).click();
  await answered(page, "User completed the URL elicitation flow");
  await calls(page, "trigger-url-elicitation", { errorPath: true });
  // The error names a page to open first; then the same call asks its question.
  await first(page).locator(".problem").getByRole("button", { name: "Open modelcontextprotocol.io" }).waitFor();
  await press(page);
  await round.getByText("Open example.com").waitFor();
  await round.getByRole("button", { name: "Decline" }).click();
  await answered(page, "User declined to open the URL");
  await calls(page, "trigger-sampling-request", { prompt: "Say hi" });
  await round.getByText("Say hi").waitFor();
  await round.getByRole("button", { name: "Answer" }).click();
  await answered(page, "a person");
}

/** While one question waits, that of a task belongs to the call that began it. */
async function tasks(page) {
  await calls(page, "trigger-elicitation-request-async", {});
  await first(page).locator(".round").waitFor();
  await calls(page, "simulate-research-query", { topic: "python", ambiguous: true });
  await page.getByRole("link", { name: /^task / }).click();
  const research = first(page).locator(".round", { hasText: "multiple interpretations" });
  await research.locator("select").selectOption({ label: "Python snake species" });
  await research.getByRole("button", { name: "Answer" }).click();
  await answered(page, "Research Report: python (snake)");
  await page.locator(".head .badge.good", { hasText: "completed" }).waitFor();
  await page.getByRole("link", { name: "1 question" }).click();
  const waiting = first(page).locator(".round");
  await waiting.getByLabel(/^Your Name/).fill("Ada");
  await waiting.getByRole("button", { name: "Answer" }).click();
  await answered(page, "Ada");
  await calls(page, "trigger-sampling-request-async", { prompt: "Later" });
  await first(page).locator(".round").getByRole("button", { name: "Answer" }).click();
  await answered(page, "a person");
}

async function resources(page) {
  await calls(page, "toggle-subscriber-updates", {}, "Started simulated");
  await go(page, "#/resources");
  await page.locator(".split-list .row", { hasText: "architecture.md" }).click();
  await page.getByRole("button", { name: "Subscribe" }).click();
  await press(page);
  await answered(page, "Everything Server");
  await page.locator(".row .badge", { hasText: /^1 update$/ }).waitFor({ timeout: LONG_MS });
  await page.getByRole("button", { name: "Unsubscribe" }).click();
  await page.getByRole("button", { name: "Subscribe", exact: true }).waitFor();
  await page.locator(".split-list .row", { hasText: "Dynamic Text" }).click();
  await field(page, "resourceId").fill("7");
  await page.locator("dd", { hasText: "dynamic/text/7" }).waitFor();
  await press(page);
  await answered(page, "Resource 7");
}

async function prompts(page) {
  await go(page, "#/prompts/completable-prompt");
  await field(page, "department").fill("Eng");
  await page.waitForSelector("datalist option[value=Engineering]", { state: "attached" });
  await field(page, "department").fill("Engineering");
  await field(page, "name").fill("A");
  // Only those of the department.
  await page.waitForSelector("datalist option[value=Alice]", { state: "attached" });
  await field(page, "name").fill("Alice");
  await press(page);
  await answered(page, "Alice to the head of the Engineering team");
  for (const prompt of ["simple-prompt", "args-prompt?city=Oslo", "resource-prompt?resourceType=Text&resourceId=1"]) {
    await go(page, `#/prompts/${prompt}`);
    await page.locator("h2", { hasText: prompt.split("?")[0] }).waitFor();
    await press(page);
    await first(page).locator(".part").first().waitFor();
  }
}

export async function everything(page) {
  await page.waitForSelector(".offers");
  for (const part of [tools, rootsAndLogs, longOperation, questions, tasks, resources, prompts]) {
    await part(page);
    // Each of them may move the page as much as a state may.
    const shift = await page.evaluate(() => {
      const { shift } = window.seen;
      window.seen.shift = 0;
      return shift;
    });
    if (shift > MAX_SHIFT) throw new Error(`${part.name}: the layout shifts by ${shift.toFixed(3)}`);
  }
  const called = await page.evaluate(() => document.querySelector("a[href='#/tools'] .count").textContent);
  if (called !== "19") throw new Error(`it offers ${called} tools, of which 19 are called here`);
}
