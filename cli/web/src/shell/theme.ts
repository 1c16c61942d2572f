// Light or dark: as the system says, until the person says otherwise.
import { useSyncExternalStore } from "react";

type Theme = "light" | "dark";

const KEPT_AS = "trunkline-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const readers = new Set<() => void>();

const root = document.documentElement;
const kept = localStorage.getItem(KEPT_AS);
if (kept !== null) root.dataset.theme = kept;

function theme(): Theme {
  return root.dataset.theme === "dark" || (root.dataset.theme === undefined && system.matches) ? "dark" : "light";
}

export function toggleTheme(): void {
  const next = theme() === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  localStorage.setItem(KEPT_AS, next);
  for (const read of readers) read();
}

export function useTheme(): Theme {
  return useSyncExternalStore((read) => {
    readers.add(read);
    system.addEventListener("change", read);
    return () => {
      readers.delete(read);
      system.removeEventListener("change", read);
    };
  }, theme);
}
