// Keys that work everywhere on the page. The control that asked last for a key gets it.
import { useEffect, useRef } from "react";

/** Returns `false` to let the browser, or who asked before, have the key. */
type Handler = () => unknown;

const handlers: { key: string; call: Handler }[] = [];
let before = "";

/** `mod+k`, `escape`, `j`, or two in a row: `g t`. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  return mod + event.key.toLowerCase();
}

function isTyping(target: EventTarget | null): boolean {
  const inside = target instanceof HTMLElement ? (target.shadowRoot?.activeElement ?? target) : null;
  return inside instanceof HTMLElement && (inside.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(inside.tagName));
}

addEventListener("keydown", (event) => {
  const name = nameOf(event);
  if (event.isComposing || event.altKey || (isTyping(event.target) && !name.startsWith("mod+") && name !== "escape")) return;
  const names = [`${before} ${name}`, name];
  before = name;
  for (const wanted of names) {
    for (const { key, call } of handlers.toReversed()) {
      if (key === wanted && call() !== false) {
        event.preventDefault();
        before = "";
        return;
      }
    }
  }
});

export function useKey(key: string, call: Handler): void {
  const last = useRef(call);
  useEffect(() => {
    last.current = call;
  });
  useEffect(() => {
    const handler = { key, call: () => last.current() };
    handlers.push(handler);
    return () => void handlers.splice(handlers.indexOf(handler), 1);
  }, [key]);
}

const isMac = navigator.userAgent.includes("Mac");
export const MOD = isMac ? "⌘" : "Ctrl ";
