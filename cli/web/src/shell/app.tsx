import { useEffect } from "react";
import { RoundCards } from "../call/round";
import { useKey } from "../keys";
import { Apps } from "../pages/apps";
import { Lint } from "../pages/lint";
import { Login } from "../pages/login";
import { Prompts } from "../pages/prompts";
import { Resources } from "../pages/resources";
import { Server } from "../pages/server";
import { Skills } from "../pages/skills";
import { Tasks } from "../pages/tasks";
import { Tools } from "../pages/tools";
import { go, usePlace } from "../place";
import { useConnection, useKnown, useLink } from "../store";
import { brief, textIn } from "../words";
import { Wire } from "../wire/wire";
import { Banner } from "./banner";
import { Header, pageOf } from "./header";
import { Overlays } from "./overlays";
import { Rail } from "./rail";

const VIEWS = { server: Server, tools: Tools, resources: Resources, prompts: Prompts, tasks: Tasks, apps: Apps, skills: Skills, login: Login, lint: Lint };

export function App() {
  const { page, item } = usePlace();
  const link = useLink();
  const connection = useConnection();
  const name = textIn(connection?.serverInfo, "name");
  const label = useKnown((state) => state.target?.label ?? null);
  useEffect(() => {
    document.title = brief(name ?? label ?? "trunkline inspect", 80);
  }, [name, label]);
  useKey("escape", () => {
    if (item === null) return false;
    go(page);
    return true;
  });
  const View = VIEWS[page];
  // The last data stays, greyed, when there is nobody left to ask.
  const isAway = connection !== null && connection.openings > 0 && ["closed", "failed"].includes(connection.state);
  const stale = page !== "login" && (link.state !== "live" || isAway);
  return (
    <div className="app">
      <Header />
      <Rail />
      <main className="stage" data-stale={stale}>
        <div className="view">{link.state !== "unknown" && <View />}</div>
        {/* Below, so that nothing moves when they come. */}
        <Questions />
        <Banner />
      </main>
      <Wire />
      <Overlays />
    </div>
  );
}

/** Questions of the server that belong to no call, or to one that no page shows. */
function Questions() {
  const rounds = useKnown((state) => state.rounds);
  const calls = useKnown((state) => state.calls);
  const { page } = usePlace();
  const isShown = (id: number | null): boolean => calls.some((call) => call.id === id && pageOf(call) !== null);
  const alone = rounds.filter((round) => !isShown(round.call) || (page === "login" && round.kind === "login"));
  if (alone.length === 0) return null;
  return (
    <div className="questions">
      <RoundCards rounds={alone} />
    </div>
  );
}
