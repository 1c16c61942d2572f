// Light or dark: as the system says, until the person says otherwise.
import { cell } from "../cell";

const KEPT_AS = "trunkline-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const { dataset } = document.documentElement;
const kept = localStorage.getItem(KEPT_AS);
if (kept !== null) dataset.theme = kept;

const current = (): string => dataset.theme ?? (system.matches ? "dark" : "light");
const theme = cell(current());
system.addEventListener("change", () => theme.set(current()));

export function toggleTheme(): void {
  dataset.theme = current() === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT_AS, dataset.theme);
  theme.set(dataset.theme);
}

export const useTheme = (): string => theme.useValue((now) => now);
