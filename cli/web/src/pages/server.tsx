import { Activity } from "lucide-react";
import { Fragment, useEffect, useState, type ReactNode } from "react";
import { Form } from "../form/form";
import { Badge, Button, Copy, Empty, Facts, Head, LongText, mono, ProblemBox, Reconnect, Select, Skeleton } from "../parts";
import { linkTo, type Page } from "../place";
import { command } from "../program";
import type { Connection, Json, JsonObject, ListName, Target } from "../generated/protocol";
import { revisionOf, useAction, useConnection, useEra, useKnown } from "../store";
import { brief, isObject, many, msOf, objectsIn, sizeOf, textIn, timeOf } from "../words";
import { Hosts } from "./hosts";

const LOGS_SHOWN = 100;

export function Server() {
  const connection = useConnection();
  const target = useKnown((state) => state.target);
  const isEarly = useEarly();
  if (!connection || !target || isEarly) return <Skeleton />;
  const info = connection.serverInfo;
  return (
    <div className="page">
      <Head name={textIn(info, "title", "name") ?? target.label} of={info ?? {}}>
        {textIn(info, "version") !== null && <Badge text={brief(textIn(info, "version") ?? "", 60)} />}
      </Head>
      {connection.revision !== null && <Next connection={connection} />}
      <div className="columns">
        <Identity connection={connection} target={target} />
        <Eras connection={connection} />
      </div>
      <Instructions connection={connection} />
      <Roots />
      <Logs connection={connection} />
      <Hosts />
    </div>
  );
}

/** An open era waits this long for the other one, so that the page need not move. */
const OTHER_ERA_MS = 1000;

function useEarly(): boolean {
  const opening = useKnown((state) => state.connections).filter((one) => one.state === "connecting" && one.openings === 0);
  const era = useEra();
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), OTHER_ERA_MS);
    return () => clearTimeout(timer);
  }, []);
  return opening.some((one) => one.era === era || !isLate);
}

const OFFERS: [ListName, string, Page][] = [
  ["tools", "tool", "tools"],
  ["resources", "resource", "resources"],
  ["resourceTemplates", "template", "resources"],
  ["prompts", "prompt", "prompts"],
];

/** Next steps: each list with its size. */
function Next({ connection }: { connection: Connection }) {
  const offered = OFFERS.filter(([name]) => connection.lists[name].state !== "absent");
  if (offered.length === 0) return <Empty title="This server offers no tools, resources or prompts." />;
  return (
    <nav className="offers" aria-label="What the server offers">
      {offered.map(([name, word, page]) => (
        <a key={name} className="offer" href={linkTo(page)}>
          <strong>{connection.lists[name].state === "ready" ? connection.lists[name].count.toLocaleString("en") : "…"}</strong>
          <span className="faint">{connection.lists[name].count === 1 ? word : `${word}s`}</span>
        </a>
      ))}
    </nav>
  );
}

function Identity({ connection, target }: { connection: Connection; target: Target }) {
  const { busy, problem, run } = useAction();
  const [ms, setMs] = useState<number | null>(null);
  const info = connection.serverInfo;
  return (
    <section aria-label="Connection">
      <h3>Connection</h3>
      <Facts
        rows={[
          ["name", mono(textIn(info, "name"))],
          ["target", mono(target.label)],
          ["transport", target.transport + (connection.pid === null ? "" : `, process ${connection.pid}`)],
          ["opened", opened(connection)],
          ["website", mono(textIn(info, "websiteUrl"))],
          ["this page", <>{mono(target.command)} <Copy text={target.command} label="Copy the command" /></>],
        ]}
      />
      <div className="actions">
        <Button
          icon={Activity}
          disabled={busy || connection.state !== "open"}
          onClick={() => run(async () => setMs((await command("ping", { era: connection.era })).ms))}
          text="Ping"
        />
        <Reconnect connection={connection} busy={busy} run={run} />
        {ms !== null && <span className="note" role="status" children={`answered in ${msOf(ms)}`} />}
      </div>
      {problem && <ProblemBox problem={problem} />}
    </section>
  );
}

function opened({ openedAt, tookMs, openings }: Connection): string {
  if (openedAt === null) return "";
  const took = tookMs === null ? "" : `, in ${msOf(tookMs)}`;
  return timeOf(openedAt) + took + (openings > 1 ? `, ${openings} times` : "");
}

/** The members of a capability, one a line: `tools.listChanged`. */
function flat(value: Json | undefined, path: string, out: Map<string, string>): Map<string, string> {
  if (!isObject(value)) {
    if (value !== undefined) out.set(path, JSON.stringify(value));
    return out;
  }
  if (path !== "" && Object.keys(value).length === 0) out.set(path, "yes");
  for (const [name, one] of Object.entries(value)) flat(one, path === "" ? name : `${path}.${name}`, out);
  return out;
}

/** Both eras in one table, with what differs marked. */
function Eras({ connection }: { connection: Connection }) {
  const connections = useKnown((state) => state.connections);
  const known = connections.map((one) => flat(one.capabilities ?? undefined, "", new Map()));
  const names = [...new Set(known.flatMap((one) => [...one.keys()]))].sort();
  const both = connections.every((one) => one.capabilities !== null);
  const hints = OFFERS.flatMap(([name, word]) => {
    const { ttlMs, cacheScope } = connection.lists[name];
    return typeof ttlMs !== "number" ? [] : `${word}s ${msOf(ttlMs)}${cacheScope === null ? "" : `, ${brief(cacheScope)}`}`;
  });
  return (
    <section aria-label="Capabilities">
      <h3>Capabilities</h3>
      <table className="table eras">
        <thead>
          <tr>
            <th scope="col">capability</th>
            {connections.map((one) => (
              <th key={one.era} scope="col">{revisionOf(one)} <StateOf connection={one} /></th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const values = known.map((one) => one.get(name) ?? null);
            return (
              <tr key={name} data-differs={both && new Set(values).size > 1}>
                <th scope="row" className="mono">
                  {/* Broken between its parts. */}
                  {brief(name, 120).split(/(?<=[./])/).map((part, at) => <Fragment key={at}>{part}<wbr /></Fragment>)}
                </th>
                {values.map((value, at) => (
                  <td key={at}>{value === null ? <span className="faint">{connections[at]?.capabilities ? "–" : ""}</span> : brief(value, 120)}</td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {names.length === 0 && <p className="note">None are known yet.</p>}
      {both && <p className="note">Marked: what the eras say differently.</p>}
      {hints.length > 0 && <p className="note">Cache hints: {hints.join("; ")}.</p>}
    </section>
  );
}

const STATES: Record<Connection["state"], [string, "plain" | "good" | "warn" | "bad"]> = {
  idle: ["not tried", "plain"],
  connecting: ["connecting", "plain"],
  open: ["open", "good"],
  unsupported: ["not spoken", "plain"],
  failed: ["failed", "bad"],
  closed: ["closed", "warn"],
};

export function StateOf({ connection }: { connection: Connection }): ReactNode {
  const [text, tone] = STATES[connection.state];
  return <Badge tone={tone} text={text} />;
}

function Instructions({ connection }: { connection: Connection }) {
  if (connection.instructions === null) return null;
  return (
    <section aria-label="Instructions">
      <h3>Instructions <span className="count">{sizeOf(connection.instructionsBytes)}</span></h3>
      <LongText text={connection.instructions} label="Instructions" />
    </section>
  );
}

const ROOT = { type: "object", properties: { uri: { type: "string", format: "uri" }, name: { type: "string" } }, required: ["uri"] };
const ROOTS = { type: "object", properties: { roots: { type: "array", title: "", items: ROOT } } };

/** The roots that a server gets when it requests them. */
function Roots() {
  const roots = useKnown((state) => state.roots);
  const [entered, setEntered] = useState<JsonObject>({ roots });
  const { busy, problem, run } = useAction();
  const put = (): Promise<unknown> => command("roots", { roots: objectsIn(entered, "roots") as typeof roots });
  return (
    <section className="roots" aria-label="Roots">
      <h3>Roots</h3>
      <p className="note">The folders that the server gets when it asks, such as file:///home/me/project. None at first.</p>
      <Form key={JSON.stringify(roots)} schema={ROOTS} value={{ roots }} onChange={setEntered} disabled={busy} />
      {JSON.stringify(entered.roots) !== JSON.stringify(roots) && (
        <Button kind="main" disabled={busy} onClick={() => run(put)} text="Use these roots" />
      )}
      {problem && <ProblemBox problem={problem} />}
    </section>
  );
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

function Logs({ connection }: { connection: Connection }) {
  const logs = useKnown((state) => state.logs);
  const { busy, problem, run } = useAction();
  const [level, setLevel] = useState("");
  const choose = (chosen: string): void => {
    setLevel(chosen);
    run(() => command("logLevel", { era: connection.era, level: chosen }));
  };
  if (logs.length === 0 && connection.capabilities?.logging === undefined) return null;
  return (
    <section aria-label="Log messages">
      <h3>
        Log messages <span className="count">{many(logs.length, "message")}</span>
        <span className="grow" />
        <Select
          label="Least level that the server sends"
          value={level}
          options={[["", "level", true], ...LEVELS.map((one): [string, string] => [one, one])]}
          disabled={busy || connection.state !== "open"}
          onChange={choose}
        />
      </h3>
      {problem && <ProblemBox problem={problem} />}
      <ul className="logs" tabIndex={0} aria-label="Log messages">
        {logs.slice(-LOGS_SHOWN).map((log, at) => (
          <li key={at}>
            <span className="time">{timeOf(log.at)}</span>
            <Badge tone={toneOf(log.level)} text={brief(log.level, 20)} />
            {log.logger !== null && <span className="mono">{brief(log.logger, 60)}</span>}
            <span className="mono said">{brief(log.text, 2000)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const toneOf = (level: string): "plain" | "warn" | "bad" =>
  level === "warning" ? "warn" : ["error", "critical", "alert", "emergency"].includes(level) ? "bad" : "plain";
