// A call: how far it is, what the server asks, and what it has brought.
import { ChevronDown, ChevronRight, Square } from "lucide-react";
import { useState } from "react";
import { Badge, Button, IconButton, ProblemBox } from "../parts";
import { useKey } from "../keys";
import { linkTo } from "../place";
import { command } from "../program";
import type { Call, JsonObject, Problem, Round } from "../generated/protocol";
import { useAction, useKnown, useRevision } from "../store";
import { brief, isObject, msOf, objectsIn, sizeOf, timeOf } from "../words";
import { ResultView } from "./result";
import { Address, RoundCards } from "./round";

function outcome(call: Call): { tone: "plain" | "good" | "warn" | "bad"; text: string } {
  if (call.state === "running") return { tone: "plain", text: "running" };
  if (call.state === "cancelled") return { tone: "warn", text: "cancelled" };
  if (call.state === "failed") return { tone: "bad", text: "failed" };
  return isObject(call.result?.json) && call.result.json.isError === true ? { tone: "bad", text: "error of the tool" } : { tone: "good", text: "result" };
}

export function CallCard({ call, open }: { call: Call; open: boolean }) {
  const rounds = useKnown((state) => state.rounds);
  const mine = rounds.filter((round) => round.call === call.id);
  const [folded, setFolded] = useState<boolean | null>(null);
  const isOpen = mine.length > 0 || !(folded ?? !open);
  const { tone, text } = mine.length > 0 ? { tone: "warn" as const, text: "waits for you" } : outcome(call);
  const revision = useRevision(call.era);
  const { busy, problem, run } = useAction();
  const cancel = (): void => run(() => command("cancel", { call: call.id }));
  return (
    <article className="call" aria-label={`Call ${call.id}`}>
      <header className="call-head">
        <IconButton
          icon={isOpen ? ChevronDown : ChevronRight}
          label={isOpen ? "Fold this call" : "Unfold this call"}
          aria-expanded={isOpen}
          onClick={() => setFolded(isOpen)}
        />
        <Badge tone={tone} text={text} />
        <span className="figures">
          {call.ms !== null && <span>{msOf(call.ms)}</span>}
          {call.result && <span>{sizeOf(call.result.bytes)}</span>}
          <span>{timeOf(call.at)}</span>
          <span className="wide-only">{revision}</span>
          {call.task !== null && <a className="source" href={linkTo("tasks", call.task)}>task {brief(call.task, 8)}</a>}
        </span>
        {call.state === "running" && <Button icon={Square} disabled={busy} onClick={cancel} text="Cancel" />}
      </header>
      {isOpen && <Body call={call} rounds={mine} />}
      {problem && <ProblemBox problem={problem} />}
    </article>
  );
}

const elicited = ({ rpc }: Problem): JsonObject[] => (isObject(rpc?.data) ? objectsIn(rpc.data, "elicitations") : []);

function Body({ call, rounds }: { call: Call; rounds: Round[] }) {
  return (
    <div className="call-body">
      {call.state === "running" && rounds.length === 0 && <Progress call={call} />}
      <RoundCards rounds={rounds} />
      {call.problem && (
        <ProblemBox problem={call.problem}>
          {/* The pages that must be opened before a call can be made. */}
          {elicited(call.problem).map((params, at) => <Address key={at} params={params} />)}
        </ProblemBox>
      )}
      {call.result && <ResultView call={call} content={call.result} />}
    </div>
  );
}

function Progress({ call }: { call: Call }) {
  const { progress: done, total, message } = call.progress ?? { progress: undefined, total: null, message: null };
  return (
    <div className="progress">
      <progress value={total ? done : undefined} max={total ?? 1} aria-label="Progress" />
      <span className="figures">
        <span>{total === null ? done : `${done} of ${total}`}</span>
        {message !== null && <span>{brief(message)}</span>}
      </span>
    </div>
  );
}

/** The calls of a page, newest first; the newest is unfolded. */
export function Calls({ calls }: { calls: Call[] }) {
  const running = calls.find((call) => call.state === "running");
  useKey("mod+.", () => {
    if (!running) return false;
    void command("cancel", { call: running.id }).catch(() => undefined);
    return true;
  });
  return (
    <div className="calls" aria-live="polite">
      {calls.toReversed().map((call, at) => (
        <CallCard key={call.id} call={call} open={at === 0} />
      ))}
    </div>
  );
}
