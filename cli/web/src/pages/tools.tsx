import { useState } from "react";
import { Caller } from "../call/caller";
import { CodeMenu } from "../call/code";
import { Form } from "../form/form";
import { Badge, Head, JsonField, JsonView, RowName, Segments, Split } from "../parts";
import { linkTo, valuesOf } from "../place";
import { command } from "../program";
import type { Connection, JsonObject } from "../generated/protocol";
import { useAnswer, useConnection, useEra, useKnown, useList } from "../store";
import { brief, objectIn, textIn } from "../words";

const CHECK_AFTER_MS = 250;
/** A longer address is no link that a person passes on. */
const LINK_MOST = 2000;

const nameOf = (tool: JsonObject): string => textIn(tool, "name") ?? "";

/** Arguments by tool, kept while the person looks at others. */
const entered = new Map<string, JsonObject>();

export function Tools() {
  return (
    <Split page="tools" lists={[["tool", useList("tools")]]} names={["name"]} verb="call it" row={(one) => <Row tool={one} />}>
      {(tool, query) => <Tool tool={tool} query={query} />}
    </Split>
  );
}

function Row({ tool }: { tool: JsonObject }) {
  const name = nameOf(tool);
  const running = useKnown((state) => state.calls.some((call) => call.state === "running" && call.method === "tools/call" && call.about === name));
  return (
    <>
      <RowName text={name} />
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
  const [args, setArgs] = useState<JsonObject | null>(() => (query === "" ? (entered.get(slot) ?? {}) : valuesOf(query)));
  const tasks = taskSupport(tool, connection);
  const [asTask, setAsTask] = useState(tasks === "must");
  const isBlank = args === null || Object.keys(args).length === 0;
  const objection = useAnswer("check", isBlank ? null : { era, name, arguments: args }, CHECK_AFTER_MS).answer?.problem;
  const change = (value: JsonObject | null): void => {
    setArgs(value);
    if (value) entered.set(slot, value);
  };
  const call = (): Promise<unknown> => {
    const link = linkTo("tools", name, args ?? {});
    if (link.length <= LINK_MOST) history.replaceState(null, "", link);
    return command("call", { era, name, arguments: args ?? {}, task: asTask });
  };
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
        segments={[
          { name: "Form", view: () => <Form schema={schema} value={args ?? {}} onChange={change} /> },
          { name: "JSON", view: () => <JsonField label="Arguments" value={args ?? {}} onChange={change} /> },
          { name: "Schema", view: () => <JsonView value={tool} label="The tool as the model gets it" /> },
        ]}>
        <h3>Arguments</h3>
      </Segments>
      <p className="objection" role="status">{objection && <>The library would refuse: {brief(objection, 500)}</>}</p>
      <Caller verb="Call" method="tools/call" about={name} isReady={args !== null} send={call}>
        {tasks !== "no" && (
          <label className="check">
            <input type="checkbox" checked={asTask} disabled={tasks === "must"} onChange={({ target }) => setAsTask(target.checked)} />
            <span>as a task</span>
          </label>
        )}
        <CodeMenu name={name} args={args} asTask={asTask} />
      </Caller>
    </>
  );
}
