import { Ban, FileText, RefreshCw } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Calls } from "../call/call-card";
import { Badge, Button, Empty, Head, ProblemBox } from "../parts/controls";
import { Split } from "../parts/split";
import { JsonView } from "../parts/text";
import { go, usePlace } from "../place";
import { command } from "../program";
import type { Era, JsonObject } from "../protocol";
import { useAction, useConnection, useEra, useKnown } from "../store";
import { brief, objectIn, textIn } from "../words";

const OVER = ["completed", "failed", "cancelled"];

const idOf = (task: JsonObject): string => textIn(task, "taskId") ?? "";

/** The tasks that calls of this page began, and those that the server lists. */
export function Tasks() {
  const { item } = usePlace();
  const era = useEra();
  const connection = useConnection();
  const calls = useKnown((state) => state.calls);
  const [listed, setListed] = useState<JsonObject[]>([]);
  const { problem, run } = useAction();
  const canList = objectIn(objectIn(connection?.capabilities, "tasks"), "list") !== null;
  const tasks = useMemo(() => {
    const begun = calls.filter((call) => call.era === era && call.task !== null).map((call) => ({ taskId: call.task, about: call.about }));
    const names = new Set(begun.map((task) => task.taskId));
    return [...begun, ...listed.filter((task) => !names.has(idOf(task)))] as JsonObject[];
  }, [calls, era, listed]);
  const refresh = (): void => {
    if (!canList) return;
    run(async () => setListed((await command("task", { era, action: "list" })).tasks));
  };
  const declared =
    objectIn(connection?.capabilities, "tasks") ?? objectIn(objectIn(connection?.capabilities, "extensions"), "io.modelcontextprotocol/tasks");
  const none = declared ? (
    <Empty title="No tasks.">
      {canList ? "A tool that is called as a task appears here; the server can list others." : "A tool that is called as a task appears here."}
    </Empty>
  ) : (
    <Empty title="This server makes no tasks.">It did not declare the capability.</Empty>
  );
  return (
    <Split
      label="tasks"
      items={tasks}
      keyOf={idOf}
      textOf={(task) => `${idOf(task)} ${textIn(task, "about") ?? ""}`}
      row={(task) => (
        <>
          <span className="mono ellipsis">{brief(idOf(task), 80)}</span>
          {textIn(task, "about") !== null && <span className="faint ellipsis">{brief(textIn(task, "about") ?? "", 60)}</span>}
        </>
      )}
      chosen={item}
      onChoose={(id) => go("tasks", id)}
      onRefresh={refresh}
      instead={tasks.length > 0 ? null : ((problem && <ProblemBox problem={problem} />) ?? none)}>
      {item !== null && <Task key={`${era} ${item}`} era={era} id={item} />}
    </Split>
  );
}

function Task({ era, id }: { era: Era; id: string }) {
  const [state, setState] = useState<JsonObject | null>(null);
  const [result, setResult] = useState<number | null>(null);
  const { busy, problem, run } = useAction();
  const calls = useKnown((known) => known.calls).filter((call) => call.id === result || (call.task === id && call.era === era));
  const ask = useCallback(
    (action: "get" | "cancel"): void => run(async () => setState((await command("task", { era, action, task: id })).tasks[0] ?? null)),
    [era, id, run],
  );
  useEffect(() => ask("get"), [ask]);
  const status = textIn(state, "status");
  const isOver = status !== null && OVER.includes(status);
  return (
    <>
      <Head name={id} of={{}}>
        {status !== null && <Badge tone={status === "failed" ? "bad" : status === "completed" ? "good" : "plain"} text={brief(status, 40)} />}
      </Head>
      <div className="actions">
        <Button icon={RefreshCw} disabled={busy} onClick={() => ask("get")} text="Ask again" />
        <Button
          icon={FileText}
          disabled={busy}
          onClick={() => run(async () => setResult((await command("taskResult", { era, task: id })).call))}
          text="Wait for its result"
        />
        <Button icon={Ban} disabled={busy || isOver} onClick={() => ask("cancel")} text="Cancel it" />
      </div>
      {problem && <ProblemBox problem={problem} />}
      <Calls calls={calls} />
      {state && <JsonView value={state} label="State of the task" />}
    </>
  );
}
