// Stands between the page and an app: shows the app in a frame, and passes on their messages as
// text. An app that sends too many, or too large ones, or goes elsewhere, is removed.
"use strict";

const { page, sandbox, allow } = document.currentScript.dataset;
const MAX_MESSAGES = 200;
const WITHIN_MS = 1000;
const MAX_BYTES = 1_000_000;

const frame = document.createElement("iframe");
frame.title = "App";
frame.sandbox = sandbox;
frame.allow = allow;
frame.src = "app";
frame.style.cssText = "display: block; width: 100%; height: 100vh; border: 0";
document.body.style.margin = "0";

const tell = (kind, text) => parent.postMessage({ kind, text }, page);

function stop(why) {
  frame.remove();
  tell("stopped", why);
}

let hasLoaded = false;
frame.addEventListener("load", () => {
  if (hasLoaded) stop("it left its page");
  hasLoaded = true;
});

let began = 0;
let count = 0;

function receive(data) {
  const now = performance.now();
  if (now - began > WITHIN_MS) [began, count] = [now, 0];
  if (++count > MAX_MESSAGES) return stop(`it sent more than ${MAX_MESSAGES} messages in a second`);
  let text;
  try {
    text = JSON.stringify(data) ?? "null";
  } catch {
    return stop("it sent a message that is no JSON");
  }
  // A character has at most three bytes of UTF-8.
  if (text.length > MAX_BYTES / 3 && new Blob([text]).size > MAX_BYTES) return stop("it sent a message of more than 1 MB");
  return tell("message", text);
}

addEventListener("message", ({ source, origin, data }) => {
  if (source === null) return;
  // The origin of the app is opaque, and its frame shows nothing else.
  if (source === parent && origin === page) frame.contentWindow?.postMessage(JSON.parse(data), "*");
  // The app could send this too, and would give away the focus.
  else if (source === frame.contentWindow && data === "leave") tell("leave", "");
  else if (source === frame.contentWindow) receive(data);
});

document.body.append(frame);
