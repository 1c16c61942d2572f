// One message whole: its JSON, its HTTP headers, what it answers; and sent again, edited.
import { ArrowRightLeft, Send, X } from "lucide-react";
import { useMemo, useState } from "react";
import { CallCard } from "../call/call-card";
import { useKey } from "../keys";
import { Button, Copy, Facts, IconButton, JsonField, JsonView, LongText, ProblemBox } from "../parts";
import { command } from "../program";
import type { Json, JsonObject, WireRow } from "../generated/protocol";
import { useAction, useAnswer, useKnown } from "../store";
import { brief, isObject, msOf, parsed, sizeOf, textIn, timeOf } from "../words";

/** Larger messages are fetched when asked for. */
const AT_ONCE = 200_000;

interface Props {
  row: WireRow;
  onChoose: (id: number) => void;
  onClose: () => void;
}

export function Detail({ row, onChoose, onClose }: Props) {
  const [wanted, setWanted] = useState(row.bytes <= AT_ONCE);
  const [edits, setEdits] = useState(false);
  useKey("escape", onClose);
  const other = useKnown((state) => state.wire.find((one) => (row.answers === null ? one.answers === row.id : one.id === row.answers))?.id ?? null);
  const { answer, problem } = useAnswer("body", row.cut && wanted ? { row: row.id } : null);
  const whole = row.cut ? (answer?.text ?? null) : row.text;
  const fetchWhole = async (): Promise<string> => (await command("body", { row: row.id })).text;
  const message = useMemo(() => (whole === null ? undefined : parsed(whole)), [whole]);
  const request = row.direction === "sent" && row.kind === "request" && row.era !== null ? asRequest(message) : null;
  return (
    <aside className="wire-detail" aria-label="Message">
      <header className="call-head">
        <strong className="mono ellipsis">{brief(row.method ?? row.kind, 80)}</strong>
        <span className="figures">
          <span>{row.direction}</span>
          <span>{timeOf(row.at)}</span>
          {row.ms !== null && <span>{msOf(row.ms)}</span>}
          <span>{sizeOf(row.bytes)}</span>
        </span>
        {other !== null && (
          <IconButton icon={ArrowRightLeft} label={row.answers === null ? "To its response" : "To its request"} onClick={() => onChoose(other)} />
        )}
        {request && <IconButton icon={Send} label="Send again, edited" aria-pressed={edits} onClick={() => setEdits(!edits)} />}
        <Copy text={whole ?? fetchWhole} label="Copy this message" />
        <IconButton icon={X} label="Close" onClick={onClose} />
      </header>
      <div className="wire-detail-body" tabIndex={0} role="group" aria-label="Content of the message">
        {problem && <ProblemBox problem={problem} />}
        {edits && request && row.era && <Again era={row.era} request={request} />}
        {row.http && (
          <>
            <p className="mono">{brief(row.text, 2000)}</p>
            {row.http.error !== null && <p className="field-errors">{brief(row.http.error, 1000)}</p>}
            <Headers title="Request" headers={row.http.requestHeaders} />
            <Headers title="Response" headers={row.http.responseHeaders} />
          </>
        )}
        {!row.http && whole === null && !wanted && (
          <p className="note-line">
            <span>The first 2 KB of {sizeOf(row.bytes)}</span>
            <Button onClick={() => setWanted(true)} text="Show all" />
          </p>
        )}
        {!row.http && (message === undefined ? <LongText text={whole ?? row.text} label="Message" /> : <JsonView value={message} label="Message" />)}
      </div>
    </aside>
  );
}

function asRequest(message: Json | undefined): JsonObject | null {
  if (!isObject(message) || typeof message.method !== "string") return null;
  return { method: message.method, ...(isObject(message.params) ? { params: message.params } : {}) };
}

function Headers({ title, headers }: { title: string; headers: [string, string][] }) {
  if (headers.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <Facts className="headers" rows={headers.map(([name, value]) => [brief(name), brief(value, 4000)])} />
    </>
  );
}

function Again({ era, request }: { era: NonNullable<WireRow["era"]>; request: JsonObject }) {
  const [value, setValue] = useState<JsonObject | null>(request);
  const [sent, setSent] = useState<number | null>(null);
  const { busy, problem, run } = useAction();
  const call = useKnown((state) => state.calls.find((one) => one.id === sent) ?? null);
  const method = textIn(value, "method");
  const send = async (): Promise<void> => {
    const params = isObject(value?.params) ? { params: value.params } : {};
    setSent((await command("send", { era, method: method ?? "", ...params })).call);
  };
  return (
    <section className="again" aria-label="Send again, edited">
      <JsonField label="Request" value={request} onChange={setValue} />
      <Button kind="main" icon={Send} disabled={busy || method === null} onClick={() => run(send)} text="Send" />
      {problem && <ProblemBox problem={problem} />}
      {call && <CallCard call={call} open />}
    </section>
  );
}
