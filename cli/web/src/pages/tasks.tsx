import { Ban, FileText, RefreshCw } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { Calls } from "../call/call-card";
import { Badge, Button, Empty, Head, JsonView, ProblemBox, Split } from "../parts";
import { command } from "../program";
import type { Era, JsonObject } from "../generated/protocol";
import { useAction, useConnection, useEra, useKnown } from "../store";
import { brief, objectIn, textIn } from "../words";

const OVER = ["completed", "failed", "cancelled"];

/** The tasks that calls of this page began, and those that the server lists. */
export function Tasks() {
  const era = useEra();
  const capabilities = useConnection()?.capabilities;
  const calls = useKnown((state) => state.calls);
  const [listed, setListed] = useState<{ tasks: JsonObject[]; of: Era | null }>({ tasks: [], of: null });
  const { problem, run } = useAction();
  const declared = objectIn(capabilities, "tasks");
  const canList = objectIn(declared, "list") !== null;
  const begun = calls.filter((call) => call.era === era && call.task !== null).map((call) => ({ taskId: call.task, about: call.about }));
  // Each task once, as the call that began it: others may wait for the same one.
  const items: JsonObject[] = [...new Map([...(listed.of === era ? listed.tasks : []), ...begun.toReversed()].map((task) => [task.taskId, task])).values()];
  const refresh = (): void => {
    if (canList) run(async () => setListed({ ...(await command("task", { era, action: "list" })), of: era }));
  };
  const isDeclared = declared ?? objectIn(objectIn(capabilities, "extensions"), "io.modelcontextprotocol/tasks");
  const none = isDeclared ? (
    <Empty title="No tasks.">A tool that is called as a task appears here{canList && "; the server can list others"}.</Empty>
  ) : (
    <Empty title="This server makes no tasks.">It did not declare the capability.</Empty>
  );
  return (
    <Split
      page="tasks"
      lists={[["task", { items, problem, state: "ready", refresh }]]}
      names={["taskId"]}
      verb="look at it"
      row={(task) => (
        <>
          <span className="mono ellipsis">{brief(textIn(task, "taskId") ?? "", 80)}</span>
          <span className="faint ellipsis">{brief(textIn(task, "about") ?? "", 60)}</span>
        </>
      )}
      unlisted={(taskId) => ({ taskId })}
      none={problem ? <ProblemBox problem={problem} /> : none}>
      {(task) => <Task era={era} id={textIn(task, "taskId") ?? ""} />}
    </Split>
  );
}

function Task({ era, id }: { era: Era; id: string }) {
  const [state, setState] = useState<JsonObject | null>(null);
  const { busy, problem, run } = useAction();
  const calls = useKnown((known) => known.calls).filter((call) => (call.task ?? call.about) === id && call.era === era);
  const ask = useCallback(
    (action: "get" | "cancel"): void => run(async () => setState((await command("task", { era, action, task: id })).tasks[0] ?? null)),
    [era, id, run],
  );
  const ended = calls.filter((call) => call.state !== "running").length;
  const told = useKnown((known) => known.wire.findLast((row) => row.method?.startsWith("notifications/tasks") && row.text.includes(id))?.id);
  // Again with each news of the task.
  useEffect(() => ask("get"), [ask, ended, told]);
  const status = textIn(state, "status");
  const tone = status === "failed" ? "bad" : status === "completed" ? "good" : "plain";
  const wait = (): Promise<unknown> => command("taskResult", { era, task: id });
  return (
    <>
      <Head name={id} of={{}}>
        {status !== null && <Badge tone={tone} text={brief(status, 40)} />}
      </Head>
      <div className="actions">
        <Button icon={RefreshCw} disabled={busy} onClick={() => ask("get")} text="Ask again" />
        <Button icon={FileText} disabled={busy} onClick={() => run(wait)} text="Wait for its result" />
        <Button icon={Ban} disabled={busy || OVER.includes(status ?? "")} onClick={() => ask("cancel")} text="Cancel it" />
      </div>
      {problem && <ProblemBox problem={problem} />}
      {state && <JsonView value={state} label="State of the task" />}
      <Calls calls={calls} />
    </>
  );
}
