// Overlays: the palette, which finds anything, and the list of keys.
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { cell } from "../cell";
import { MOD, useKey } from "../keys";
import { Facts, List } from "../parts";
import { go, type Page } from "../place";
import type { Era, ListName } from "../generated/protocol";
import { command } from "../program";
import { useConnection, useEra, useList } from "../store";
import { brief, objectIn, textIn } from "../words";
import { ENTRIES } from "./rail";
import { toggleTheme } from "./theme";

type Overlay = "palette" | "help";

const shown = cell<Overlay | null>(null);

export const open = shown.set;

export function Overlays() {
  const overlay = shown.useValue((now) => now);
  useKey("mod+k", () => open("palette"));
  useKey("?", () => open("help"));
  for (const { page, key } of ENTRIES) {
    // The table is fixed, so that the order of the hooks is.
    // eslint-disable-next-line react-hooks/rules-of-hooks
    useKey(`g ${key}`, () => go(page));
  }
  if (overlay === null) return null;
  return (
    <Dialog label={overlay === "palette" ? "Find anything" : "Keys"}>
      {overlay === "palette" ? <Palette /> : <Facts className="keys" rows={KEYS} />}
    </Dialog>
  );
}

/** The browser's dialog: it keeps the focus, and Escape closes it. */
function Dialog({ label, children }: { label: string; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-label={label}
      onClose={() => open(null)}
      onKeyDown={(event) => event.key === "Escape" && event.stopPropagation()}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}>
      {children}
    </dialog>
  );
}

const reconnect = (era: Era): void => void command("reconnect", { era }).catch(() => undefined);

interface Found {
  key: string;
  kind: string;
  text: string;
  run: () => void;
}

/** The lists that are searched, each with the page and the member that names an item. */
const LISTS: [kind: string, list: ListName, page: Page, member: string][] = [
  ["tool", "tools", "tools", "name"],
  ["prompt", "prompts", "prompts", "name"],
  ["skill", "skills", "skills", "uri"],
  ["resource", "resources", "resources", "uri"],
  ["template", "resourceTemplates", "resources", "uriTemplate"],
];

function useFindable(): Found[] {
  const era = useEra();
  const openings = useConnection()?.openings ?? 0;
  const listed = LISTS.flatMap(([kind, list, page, member]) => {
    // This table is fixed, too.
    // eslint-disable-next-line react-hooks/rules-of-hooks
    const { items } = useList(list);
    return (items ?? []).map((item): Found => {
      const key = textIn(item, member) ?? "";
      const name = textIn(item, "name") ?? textIn(objectIn(item, "frontmatter"), "name") ?? key;
      return { key: `${kind} ${key}`, kind, text: name === key ? key : `${name} ${key}`, run: () => go(page, key) };
    });
  });
  return [
    ...ENTRIES.map(({ page, title }) => ({ key: `page ${page}`, kind: "page", text: title, run: () => go(page) })),
    ...listed,
    { key: "theme", kind: "do", text: "Switch between light and dark", run: toggleTheme },
    { key: "reconnect", kind: "do", text: openings > 0 ? "Reconnect" : "Connect", run: () => reconnect(era) },
  ];
}

function Palette() {
  const all = useFindable();
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState(0);
  const words = wanted.toLowerCase().split(/\s+/);
  const found = all.filter(({ kind, text }) => words.every((word) => `${kind} ${text}`.toLowerCase().includes(word)));
  const run = (one: Found | undefined): void => {
    if (!one) return;
    open(null);
    one.run();
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) setChosen(Math.max(0, Math.min(found.length - 1, chosen + by)));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div className="palette" onKeyDown={press}>
      <input
        autoFocus
        value={wanted}
        placeholder="a page, tool, prompt, resource or skill"
        aria-label="Find"
        onChange={({ target }) => {
          setWanted(target.value);
          setChosen(0);
        }}
      />
      <List
        label="Found"
        items={found}
        keyOf={(one) => one.key}
        chosen={chosen}
        onChoose={run}
        row={(one) => (
          <>
            <span className="kind">{one.kind}</span>
            <span className="ellipsis">{brief(one.text, 160)}</span>
          </>
        )}
      />
      {found.length === 0 && <p className="note">Nothing has this name.</p>}
    </div>
  );
}

const KEYS: [string, string][] = [
  ...ENTRIES.map(({ key, title }): [string, string] => [`g ${key}`, title]),
  ["/", "filter the list"],
  ["j  k", "next and previous row"],
  [`${MOD}↵`, "call, read, get, or answer"],
  [`${MOD}.`, "cancel the running call"],
  [`${MOD}K`, "find anything"],
  [`${MOD}J`, "wire: closed, low, high"],
  ["Esc", "close the innermost thing"],
  ["Esc  Esc", "leave an app"],
  ["?", "these keys"],
];
