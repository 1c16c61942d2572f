import { Play } from "lucide-react";
import { useEffect, useState } from "react";
import { Calls, useCalls } from "../call/call-card";
import { CodeMenu, CodeView, type Shown } from "../call/code";
import { Form } from "../form/form";
import { MOD, useKey } from "../keys";
import { Badge, Button, Empty, Head, ProblemBox } from "../parts/controls";
import { JsonField } from "../parts/json-field";
import { Segments } from "../parts/segments";
import { Split } from "../parts/split";
import { JsonView } from "../parts/text";
import { go, linkTo, usePlace, valuesOf } from "../place";
import { command } from "../program";
import type { Connection, JsonObject } from "../protocol";
import { useAction, useConnection, useEra, useKnown, useList } from "../store";
import { brief, many, objectIn, textIn } from "../words";
import { useInstead } from "./instead";

const CHECK_AFTER_MS = 250;
/** A longer address is no link that a person passes on. */
const LINK_MOST = 2000;

const nameOf = (tool: JsonObject): string => textIn(tool, "name") ?? "";
const searched = (tool: JsonObject): string => `${nameOf(tool)} ${textIn(tool, "title") ?? ""} ${textIn(tool, "description") ?? ""}`;

/** Arguments by tool, kept while the person looks at others. */
const entered = new Map<string, JsonObject>();

export function Tools() {
  const { item, query } = usePlace();
  const list = useList("tools");
  const { items, refresh } = list;
  const era = useEra();
  const tool = items?.find((one) => nameOf(one) === item) ?? null;
  return (
    <Split
      label="tools"
      items={items ?? []}
      keyOf={nameOf}
      textOf={searched}
      row={(one) => <Row tool={one} />}
      chosen={item}
      onChoose={(name) => go("tools", name)}
      onRefresh={refresh}
      instead={useInstead("tools", "tools", list)}>
      {tool && <Tool key={`${era} ${nameOf(tool)} ${query}`} tool={tool} query={query} />}
      {!tool && items && item !== null && <Empty title={`There is no tool ${brief(item)}.`} />}
      {item === null && items && items.length > 0 && (
        <Empty title={`${many(items.length, "tool")}. Choose one, and call it.`}>
          <p>
            <kbd>j</kbd> <kbd>k</kbd> move, <kbd>/</kbd> filters, <kbd>{MOD}K</kbd> finds anything.
          </p>
        </Empty>
      )}
    </Split>
  );
}

function Row({ tool }: { tool: JsonObject }) {
  const name = nameOf(tool);
  const running = useKnown((state) => state.calls.some((call) => call.state === "running" && call.method === "tools/call" && call.about === name));
  return (
    <>
      <span className="mono ellipsis">{brief(name, 120)}</span>
      {running && <i className="dot" title="running" />}
    </>
  );
}

const HINTS: [string, string, "plain" | "good" | "warn"][] = [
  ["reads", "readOnlyHint", "good"],
  ["destroys", "destructiveHint", "warn"],
  ["repeatable", "idempotentHint", "plain"],
  ["reaches out", "openWorldHint", "plain"],
];

/** The hints of the server; one that only reads destroys nothing. */
function hints(tool: JsonObject): typeof HINTS {
  const said = objectIn(tool, "annotations");
  return HINTS.filter(([, name]) => said?.[name] === true && !(name === "destructiveHint" && said.readOnlyHint === true));
}

/** Says whether a call may become a task: the server and the tool decide. */
function taskSupport(tool: JsonObject, connection: Connection | null): "no" | "may" | "must" {
  const requests = objectIn(objectIn(objectIn(connection?.capabilities, "tasks"), "requests"), "tools");
  if (!requests?.call) return "no";
  const said = textIn(objectIn(tool, "execution"), "taskSupport");
  return said === "required" ? "must" : said === "optional" ? "may" : "no";
}

function Tool({ tool, query }: { tool: JsonObject; query: string }) {
  const name = nameOf(tool);
  const era = useEra();
  const connection = useConnection();
  const slot = `${era} ${name}`;
  const [view, setView] = useState("Form");
  const [args, setArgs] = useState<JsonObject | null>(() => (query === "" ? (entered.get(slot) ?? {}) : valuesOf(query)));
  const tasks = taskSupport(tool, connection);
  const [asTask, setAsTask] = useState(tasks === "must");
  const [shown, setShown] = useState<Shown | null>(null);
  const { busy, problem, run } = useAction();
  const calls = useCalls("tools/call", name);
  const objection = useObjection(name, args);
  const isOpen = connection?.state === "open";
  const change = (value: JsonObject | null): void => {
    setArgs(value);
    if (value) entered.set(slot, value);
  };
  const call = (): void => {
    if (args === null || busy || !isOpen) return;
    const link = linkTo("tools", name, args);
    if (link.length <= LINK_MOST) history.replaceState(null, "", link);
    run(() => command("call", { era, name, arguments: args, ...(asTask ? { task: true } : {}) }));
  };
  useKey("mod+enter", () => call());
  const schema = objectIn(tool, "inputSchema") ?? {};
  return (
    <>
      <Head name={name} of={tool}>
        {hints(tool).map(([text, title, tone]) => (
          <Badge key={text} tone={tone} title={title} text={text} />
        ))}
      </Head>
      <Segments
        label="Arguments"
        chosen={view}
        onChoose={setView}
        segments={[
          { name: "Form", view: () => <Form schema={schema} value={args ?? {}} onChange={change} /> },
          { name: "JSON", view: () => <JsonField label="Arguments" value={args ?? {}} onChange={change} /> },
          { name: "Schema", view: () => <JsonView value={tool} label="The tool as the model gets it" /> },
        ]}>
        <h3>Arguments</h3>
      </Segments>
      <p className="objection" role="status">
        {objection !== null && <>The library would refuse: {brief(objection, 500)}</>}
      </p>
      <div className="actions">
        <Button kind="main" icon={Play} keys={`${MOD}↵`} disabled={args === null || busy || !isOpen} onClick={call} text="Call" />
        {tasks !== "no" && (
          <label className="check">
            <input type="checkbox" checked={asTask} disabled={tasks === "must"} onChange={({ target }) => setAsTask(target.checked)} />
            <span>as a task</span>
          </label>
        )}
        <CodeMenu name={name} args={args} onShow={setShown} />
      </div>
      {problem && <ProblemBox problem={problem} />}
      {shown && <CodeView shown={shown} onClose={() => setShown(null)} />}
      <Calls calls={calls} />
    </>
  );
}

/** The library's objection to the arguments, which it would raise before sending them. */
function useObjection(name: string, args: JsonObject | null): string | null {
  const era = useEra();
  const [objection, setObjection] = useState<string | null>(null);
  const text = JSON.stringify(args);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      const value = JSON.parse(text) as JsonObject | null;
      if (value === null || Object.keys(value).length === 0) {
        setObjection(null);
        return;
      }
      command("check", { era, name, arguments: value }).then(
        ({ problem }) => current && setObjection(problem),
        () => current && setObjection(null),
      );
      return undefined;
    }, CHECK_AFTER_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [era, name, text]);
  return objection;
}
