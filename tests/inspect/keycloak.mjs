// A remote server behind Keycloak: a person logs in there, calls a tool with a token, then with one
// that was renewed, and repeats an exchange.
//
// keycloak.mjs --keycloak FOLDER --browser FILE --pictures FOLDER PROGRAM FIXTURE
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";

import { issuerOf, prepareRealm, startKeycloak } from "../peers/node/keycloak.mjs";
import { go, judge, openPage, startBrowser } from "./page.mjs";
import { inspect } from "./program.mjs";

const START_MS = 30_000;
/** The tokens of the realm are valid for 20 seconds. */
const EXPIRY_MS = 21_000;
const USER = "ada";

const text = { type: "string" };
const { values, positionals } = parseArgs({ allowPositionals: true, options: { keycloak: text, browser: text, pictures: text } });
const [program, fixture] = positionals;

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

/** A server of standard input, reached over HTTP by those with a token of the issuer. */
async function startGuarded(issuer, port, resource) {
  const words = ["bridge", "--listen", `127.0.0.1:${port}`, "--issuer", issuer, "--audience", resource, "--", fixture, "--stdio"];
  const child = spawn(program, words, { stdio: "ignore" });
  for (let waited = 0; (await fetch(resource, { method: "POST" }).catch(() => null))?.status !== 401; waited += 100) {
    if (waited > START_MS || child.exitCode !== null) throw new Error("the guarded server does not start");
    await setTimeout(100);
  }
  return child;
}

/** The pages of Keycloak: its login, then its consent. */
async function logIn(context, address) {
  const page = await context.newPage();
  await page.goto(address);
  await page.fill("#username", USER);
  await page.fill("#password", "any");
  await page.click("#kc-login");
  await page.click("[name=accept]");
  await page.getByText("You can close this page").waitFor();
  await page.close();
}

async function call(page, message) {
  await go(page, `#/tools/echo?message=${message}`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.locator(".call").first().locator(".part", { hasText: message }).waitFor();
}

async function use(page) {
  await page.getByRole("link", { name: "Login" }).click();
  await logIn(page.context(), await page.locator(".round .address .mono").textContent());
  await page.waitForSelector(".era-trigger .dot.open");
  await call(page, "once");
  await setTimeout(EXPIRY_MS);
  await call(page, "renewed");
  await go(page, "#/login");
  const rung = page.locator(".rung", { hasText: "RFC 8414" }).last();
  const before = await rung.locator(".time").textContent();
  await rung.getByRole("button", { name: "Repeat this exchange" }).click();
  await rung.locator(".time", { hasNotText: before }).waitFor();
  if ((await page.locator(".rung[data-pass=false]").count()) > 0) throw new Error("an exchange fails its clause");
}

mkdirSync(values.pictures, { recursive: true });
const [own, port] = [await freePort(), await freePort()];
const resource = `http://127.0.0.1:${port}/mcp`;
const keycloak = await startKeycloak(values.keycloak, `http://127.0.0.1:${own}`, own);
const browser = await startBrowser(values.browser);
const started = [];
try {
  await prepareRealm(keycloak.own, { resource, scopes: ["mcp"], users: { [USER]: true } });
  started.push(await startGuarded(issuerOf(keycloak.own), port, resource));
  const running = await inspect(program, ["--scope", "mcp", resource], fixture);
  try {
    const { page, faults } = await openPage(browser, running.url, { width: 1400, height: 900, theme: "light" });
    await use(page).finally(() => page.screenshot({ path: join(values.pictures, "keycloak.png") }));
    const found = await judge(page, faults);
    if (found.length > 0) throw new Error(found.join("\n  "));
  } finally {
    await running.stop();
  }
  console.log("ok login at Keycloak");
} catch (error) {
  console.log(`not ok login at Keycloak: ${error.message}`);
  process.exitCode = 1;
} finally {
  await browser.close();
  for (const child of started) child.kill();
  await keycloak.close();
}
