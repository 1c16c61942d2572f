import { ChevronDown, ChevronsUpDown, CircleHelp, Moon, Search, Sun } from "lucide-react";
import { MOD } from "../keys";
import { IconButton, Menu } from "../parts";
import { StateOf } from "../pages/server";
import { linkTo, usePlace, type Page } from "../place";
import { command } from "../program";
import type { Call, Connection } from "../generated/protocol";
import { chooseEra, revisionOf, useConnection, useKnown } from "../store";
import { brief, many, textIn } from "../words";
import { open } from "./overlays";
import { toggleTheme, useTheme } from "./theme";

export function Header() {
  const connection = useConnection();
  const target = useKnown((state) => state.target);
  const theme = useTheme();
  const rounds = useKnown((state) => state.rounds);
  const calls = useKnown((state) => state.calls);
  const info = connection?.serverInfo;
  const asking = calls.find((call) => pageOf(call) !== null && rounds.some((round) => round.call === call.id));
  return (
    <header className="top">
      <h1 className="ellipsis">{brief(textIn(info, "title", "name") ?? target?.label ?? "trunkline inspect", 80)}</h1>
      <span className="version wide-only">{brief(textIn(info, "version") ?? "", 40)}</span>
      <ServerMenu />
      {target && <span className="transport wide-only">{target.transport}</span>}
      {connection && <EraMenu current={connection} />}
      <span className="grow" />
      {asking && <a className="button main" href={linkTo(pageOf(asking) ?? "tools", asking.about)} children={many(rounds.length, "question")} />}
      <IconButton icon={Search} label={`Find anything (${MOD}K)`} onClick={() => open("palette")} />
      <IconButton icon={theme === "dark" ? Sun : Moon} label={theme === "dark" ? "Light colors" : "Dark colors"} onClick={toggleTheme} />
      <span className="wide-only">
        <IconButton icon={CircleHelp} label="Keys (?)" onClick={() => open("help")} />
      </span>
    </header>
  );
}

/** The servers of this page, if there are several. */
function ServerMenu() {
  const servers = useKnown((state) => state.servers);
  const { server } = usePlace();
  if (servers.length < 2) return null;
  const entries = servers.map(({ id, label }, at) => ({
    key: id,
    label: brief(label, 60),
    isCurrent: server === null ? at === 0 : id === server,
    choose: () => (location.hash = `#/@${id}/server`),
  }));
  return (
    <Menu className="icon-button" title="Another server" entries={entries}>
      <ChevronsUpDown className="icon" aria-label="Another server" />
    </Menu>
  );
}

const PAGES: Partial<Record<string, Page>> = { "tools/call": "tools", "prompts/get": "prompts", "resources/read": "resources", "tasks/result": "tasks" };

/** The page that shows a call, at the item that it is about. */
export const pageOf = ({ method, about }: Call): Page | null => (about === null ? null : (PAGES[method] ?? null));

function EraMenu({ current }: { current: Connection }) {
  const connections = useKnown((state) => state.connections);
  const other = connections.find((one) => one.era !== current.era && one.state === "open");
  const entries = connections.map((one) => ({
    key: one.era,
    label: (
      <>
        <span className="mono">{revisionOf(one)}</span>
        <span className="grow" />
        <StateOf connection={one} />
      </>
    ),
    isCurrent: one.era === current.era,
    choose: () => {
      chooseEra(one.era);
      if (one.state === "idle") void command("reconnect", { era: one.era }).catch(() => undefined);
    },
  }));
  return (
    <Menu className="era-trigger" title={`${current.state}: choose a revision`} entries={entries}>
      <i className={`dot ${current.state}`} aria-hidden />
      <span>{current.revision ?? current.state}</span>
      {other && <span className="also wide-only">also {other.revision}</span>}
      <ChevronDown className="icon" aria-hidden />
    </Menu>
  );
}
