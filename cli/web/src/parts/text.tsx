// Text and JSON of any size.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, type ReactNode } from "react";
import type { Json as JsonValue } from "../generated/protocol";
import { brief, printable } from "../words";

/** Longer texts are drawn line by line, as they come into view. */
const WHOLE = 60_000;
const COLORED = 40_000;
const LINE = 18;
/** Longer lines are broken, so that a line of megabytes does not stop the browser. */
const WIDTH = 240;

/** A name, address or command. */
export const mono = (text: string | null): ReactNode => text !== null && <span className="mono">{brief(text, 1000)}</span>;

export function LongText({ text, label }: { text: string; label: string }) {
  if (text.length > WHOLE) return <Lines text={text} label={label} />;
  return (
    <pre className="text" tabIndex={0} aria-label={label}>{printable(text)}</pre>
  );
}

function Lines({ text, label }: { text: string; label: string }) {
  const lines = useMemo(() => broken(text), [text]);
  const box = useRef<HTMLPreElement>(null);
  const rows = useVirtualizer({ count: lines.length, getScrollElement: () => box.current, estimateSize: () => LINE, overscan: 20 });
  return (
    <pre ref={box} className="text lines" tabIndex={0} aria-label={label}>
      <div className="list-all" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((one) => (
          <div key={one.key} className="line" style={{ transform: `translateY(${one.start}px)` }}>
            {printable(lines[one.index] ?? "")}
          </div>
        ))}
      </div>
    </pre>
  );
}

function broken(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (line.length <= WIDTH) lines.push(line);
    else for (let at = 0; at < line.length; at += WIDTH) lines.push(line.slice(at, at + WIDTH));
  }
  return lines;
}

export function JsonView({ value, label }: { value: JsonValue; label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  if (text.length > COLORED) return <LongText text={text} label={label} />;
  return (
    <pre className="text json" tabIndex={0} aria-label={label}>{colored(printable(text))}</pre>
  );
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** Marks the names, strings and other values of JSON text. */
function colored(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [whole, quoted, colon] = found;
    out.push(text.slice(at, found.index));
    const kind = colon !== undefined ? "name" : quoted !== undefined ? "string" : "value";
    out.push(
      <span key={found.index} className={`json-${kind}`}>
        {whole}
      </span>,
    );
    at = found.index + whole.length;
  }
  out.push(text.slice(at));
  return out;
}
