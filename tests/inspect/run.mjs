// The page of `trunkline inspect` in a real browser.
//
// run.mjs [--long --servers FILE] [--only WORD] --browser FILE --pictures FOLDER PROGRAM FIXTURE:
// prints `ok` or `not ok` with the name of each trial, and keeps a picture of each state. FILE has
// the names and commands of servers of others, which have the tool `echo`.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { APP_STATES } from "./apps.mjs";
import { appWithoutMouse, fillSchema, outOfTrap, skillWithoutMouse, withoutMouse } from "./keyboard.mjs";
import { everything } from "./newcomer.mjs";
import { go, judge, openPage, startBrowser, ThreadTime } from "./page.mjs";
import { inspect } from "./program.mjs";
import { STATES } from "./states.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: "boolean" }, servers: { type: "string" }, only: { type: "string", default: "" }, browser: { type: "string" }, pictures: { type: "string" } },
});
const [program, fixture] = positionals;
const LOOK = { width: 1400, height: 900, theme: "light" };
const SIZES = [{ width: 1400, height: 900 }, { width: 700, height: 900 }, { width: 360, height: 780 }];
const THEMES = ["light", "dark"];
/** Rows of tools and of messages that are seen at once. */
const ROWS = { tools: 24, messages: 12 };

const LOADS = 5;
// Milliseconds of the page's thread: on a quiet machine, the first paint comes in 150 ms.
const FIRST_PAINT_MS = 50;
const COMPLETE_MS = 400;
/** For 60 frames a second. */
const FRAME_MS = 1000 / 60;
const FRAMES = 120;

mkdirSync(values.pictures, { recursive: true });
const browser = await startBrowser(values.browser);
let failed = false;

async function trial(name, work) {
  if (!name.includes(values.only)) return;
  try {
    const faults = await work();
    if (faults.length > 0) throw new Error(faults.join("\n  "));
    console.log(`ok ${name}`);
  } catch (error) {
    failed = true;
    console.log(`not ok ${name}: ${error.message}`);
  }
}

/** Does something on a new page of a new program, and judges the page. */
async function onPage(server, look, act, name) {
  return withProgram(server, (running) => onPageOf(running, look, act, name));
}

async function withProgram(server, work) {
  const running = await inspect(program, server, fixture);
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

async function onPageOf(running, look, act, name) {
  const { page, context, faults } = await openPage(browser, running.url, look);
  try {
    await act(page, running);
    return await judge(page, faults);
  } finally {
    await page.screenshot({ path: join(values.pictures, `${name.replace(/\W+/g, "-")}.png`) });
    await context.close();
  }
}

const looks = SIZES.flatMap((size) => THEMES.map((theme) => ({ ...size, theme })));
for (const { name, server, short, wire, act } of [...STATES, ...APP_STATES]) {
  if (!values.long && !short) continue;
  const shown = values.long ? looks : [LOOK];
  for (const look of shown) {
    const full = `${name}, ${look.width} ${look.theme}`;
    const acts = async (page, running) => {
      // A narrow window begins without the wire.
      if (wire && look.width === 360) await page.locator(".wire-title").click();
      await act(page, running);
    };
    await trial(full, () => onPage(server, look, acts, full));
  }
}
await trial("keyboard only", () => onPage("fixture", LOOK, withoutMouse, "keyboard only"));
await trial("app by keyboard only", () => onPage("apps", LOOK, appWithoutMouse, "app by keyboard only"));
await trial("out of a trap", () => onPage("apps", LOOK, outOfTrap, "out of a trap"));
await trial("skill by keyboard only", () => onPage("fixture", LOOK, skillWithoutMouse, "skill by keyboard only"));
await trial("rows at once", () => onPage("many", LOOK, rowsAtOnce, "rows at once"));
await trial("seven tabs", () => onPage("fixture", LOOK, sevenTabs, "seven tabs"));
await trial("a foreign token", () => onPage("bare", LOOK, foreignToken, "a foreign token"));
if (values.long) {
  await trial("everything", () => onPage("everything", LOOK, everything, "everything"));
  for (const [sdk, command] of JSON.parse(readFileSync(values.servers, "utf8"))) {
    const name = `server of ${sdk}`;
    await trial(name, () => onPage(["--", ...command], LOOK, echoes, name));
  }
  await withProgram("schemas", fillAll);
  await trial("first paint", () => withProgram("bare", firstPaint));
  await trial("frames while scrolling 10,000 tools", () => onPage("many", LOOK, scrolls, "scrolling"));
}
await browser.close();
process.exitCode = failed ? 1 : 0;

/** Schemas of servers of others, filled in by keyboard alone. */
async function fillAll(running) {
  for (const one of JSON.parse(readFileSync(new URL("schemas.json", import.meta.url), "utf8"))) {
    const name = `schema ${one.name}`;
    await trial(name, () => onPageOf(running, LOOK, (page) => fillSchema(page, one), name));
  }
}

async function rowsAtOnce(page) {
  await page.evaluate(() => (location.hash = "#/tools"));
  await page.locator(".split-list .row").first().waitFor();
  const rows = (selector) =>
    page.evaluate((list) => Math.floor((document.querySelector(list)?.clientHeight ?? 0) / 28), selector);
  const messages = await rows(".wire-list");
  await page.locator(".wire-title").click();
  await page.locator(".wire-title").click();
  const tools = await rows(".split-list .list");
  if (messages < ROWS.messages || tools < ROWS.tools) throw new Error(`${tools} tools and ${messages} messages`);
}

/** Calls a tool, and reads the list of each kind. */
async function echoes(page) {
  await go(page, "#/tools/echo");
  await page.locator(".split-detail .form").getByLabel(/^message/i).fill("Hello");
  await page.locator(".split-detail .actions .button.main").first().click();
  await page.locator(".call .part", { hasText: "Hello" }).first().waitFor();
  for (const list of ["prompts", "resources"]) {
    await go(page, `#/${list}`);
    await page.locator(".split-list .row").first().waitFor();
  }
}

/** Browsers allow six connections to a host. */
async function sevenTabs(first, running) {
  await first.waitForSelector(".offers");
  let last = first;
  for (let tab = 2; tab <= 7; ++tab) {
    last = await first.context().newPage();
    await last.goto(running.url);
    await last.waitForSelector(".offers");
  }
  await go(last, "#/tools/add_numbers?a=1&b=2");
  await last.click(".actions .button.main");
  await last.waitForSelector(".call .badge.good");
  await first.getByText("This tab sleeps").waitFor();
  await first.evaluate("dispatchEvent(new Event('focus'))");
  await first.waitForSelector(".stage[data-stale=false]");
}

async function foreignToken(page) {
  await page.evaluate(() => sessionStorage.setItem("trunkline-inspect-token", "foreign"));
  await page.reload();
  await page.getByText("This page has no access to trunkline").waitFor();
}

/** The best of some loads, because a measurement may wait until the script has run. */
async function firstPaint(running) {
  const [painted, complete] = [[], []];
  for (let load = 0; load < LOADS; ++load) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const thread = await ThreadTime.of(page);
    const painting = thread.atFirstPaint();
    await page.goto(running.url);
    await page.waitForSelector(".wire");
    painted.push(await painting);
    complete.push(await thread.used());
    await context.close();
  }
  const faults = [];
  const [first, whole] = [Math.min(...painted), Math.min(...complete)];
  if (first > FIRST_PAINT_MS) faults.push(`the first paint takes ${first.toFixed(1)} ms of the page's thread`);
  if (whole > COMPLETE_MS) faults.push(`the page takes ${whole.toFixed(1)} ms of its thread`);
  return faults;
}

async function scrolls(page) {
  await page.evaluate(() => (location.hash = "#/tools"));
  await page.locator(".split-list .row").first().waitFor();
  const thread = await ThreadTime.of(page);
  const before = await thread.used();
  // By a page in each frame.
  await page.evaluate(async (frames) => {
    const list = document.querySelector(".split-list .list");
    for (let at = 0; at < frames; ++at) {
      list.scrollTop += 700;
      await new Promise(requestAnimationFrame);
    }
  }, FRAMES);
  const time = ((await thread.used()) - before) / FRAMES;
  if (time > FRAME_MS) throw new Error(`a frame takes ${time.toFixed(1)} ms of the page's thread`);
}
