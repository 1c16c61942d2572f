// The states of the pages about apps and skills.
import { go } from "./page.mjs";

const RUN = ".actions .button.main";

const runs = async (page, tool) => {
  await go(page, `#/apps/${tool}`);
  await page.locator(`${RUN}:enabled`).click();
  await page.waitForSelector(".hosted iframe");
};
const says = (page, text) => page.locator(".hosted [role=status]", { hasText: text }).waitFor();
/** The document of the app, in the frame in the frame. */
const inside = (page) => page.frameLocator(".hosted iframe").frameLocator("iframe");

async function hasClean(page) {
  for (const frame of page.frames()) {
    const { violations } = await frame.evaluate(() => window.seen);
    if (violations.length > 0) throw new Error(`in ${frame.url()}: ${violations.join(", ")}`);
  }
}

const onWire = (page, text) => page.locator(".wire-list .row", { hasText: text }).first().waitFor();

async function forecast(page) {
  await runs(page, "forecast");
  await inside(page).getByText("Sun all day").waitFor();
  await inside(page).getByRole("heading", { name: "Paris" }).waitFor();
  await says(page, "running");
}

export const APP_STATES = [
  {
    name: "app",
    server: "apps",
    short: true,
    act: async (page) => {
      await forecast(page);
      await hasClean(page);
      // In both directions, and the response knows its request.
      if (page.viewportSize().width > 360) {
        await onWire(page, "⇠ui/initialize");
        await onWire(page, "⇢result ui/initialize");
        await onWire(page, "⇢ui/notifications/tool-result");
      }
    },
  },
  {
    name: "app that asks",
    server: "apps",
    act: async (page) => {
      await forecast(page);
      await inside(page).getByRole("button", { name: "Forget" }).click();
      await inside(page).getByText("The tool is not for apps").waitFor();
      await inside(page).getByRole("button", { name: "Refresh" }).click();
      await page.getByRole("button", { name: "Refuse" }).click();
      await inside(page).getByText("The person refused it").waitFor();
      await inside(page).getByRole("button", { name: "Refresh" }).click();
      await page.getByRole("button", { name: "Allow all of this app" }).click();
      await inside(page).getByText("Rain from noon").waitFor();
      // Not asked again.
      const calls = await page.locator(".calls .call").count();
      await inside(page).getByRole("button", { name: "Refresh" }).click();
      await page.locator(".calls .call").nth(calls).waitFor();
      await inside(page).getByRole("button", { name: "More" }).click();
      await page.getByText("The app asks to open a page").waitFor();
    },
  },
  {
    name: "app that spies",
    server: "apps",
    short: true,
    act: async (page) => {
      await runs(page, "spy");
      await inside(page).getByText("all tried").waitFor();
      const said = await inside(page).locator("#said").textContent();
      if (said.includes("reached") || said.split("refused").length !== 13) throw new Error(said);
      const wire = await page.locator(".wire-list").allTextContents();
      if (wire.join("").includes("past-the-frame")) throw new Error("the page listens to others than the frame");
      await page.getByText("*; script-src *", { exact: true }).waitFor();
    },
  },
  {
    name: "app that floods",
    server: "apps",
    short: true,
    act: async (page) => {
      await runs(page, "flood");
      await says(page, "closed: it sent more than 200 messages in a second");
    },
  },
  {
    name: "app that is silent",
    server: "apps",
    act: async (page) => {
      await runs(page, "silent");
      await says(page, "does not initialize");
    },
  },
  {
    name: "app that leaves",
    server: "apps",
    act: async (page) => {
      await runs(page, "leaving");
      await says(page, "closed: it left its page");
    },
  },
  {
    name: "app that never rests",
    server: "apps",
    act: async (page) => {
      await runs(page, "busy");
      await page.getByRole("button", { name: "Close the app" }).click();
      await says(page, "closed");
    },
  },
  {
    name: "app of others",
    server: "app of others",
    act: async (page) => {
      await runs(page, "get-time");
      await says(page, "running");
      await inside(page).getByRole("button", { name: "Get Server Time" }).click();
      await page.getByRole("button", { name: "Allow", exact: true }).click();
      await page.locator(".call .badge.good").nth(1).waitFor();
    },
  },
  {
    name: "no apps",
    server: "bare",
    act: async (page) => {
      await go(page, "#/apps");
      await page.waitForSelector(".empty");
    },
  },
  {
    name: "skill",
    server: "fixture",
    short: true,
    act: async (page) => {
      await go(page, "#/skills");
      await page.locator(".split-list .row", { hasText: /^unit-conversion$/ }).click();
      await page.locator(".text", { hasText: "name: unit-conversion" }).waitFor();
      await page.locator(".files button").last().click();
      await page.locator(".text", { hasText: "1 inch is 2.54 cm" }).waitFor();
    },
  },
  {
    name: "no skills",
    server: "bare",
    act: async (page) => {
      await go(page, "#/skills");
      await page.getByText("Skills are an extension of 2026-07-28").waitFor();
    },
  },
];
