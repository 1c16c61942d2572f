// The strip under everything: each message in a line.
import { ChevronDown, ChevronUp, Download, Pause, Play } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { MOD, useKey } from "../keys";
import { Button, Empty, IconButton, List, Menu, ProblemBox, SearchField, Select } from "../parts";
import { command } from "../program";
import type { Era, WireRow } from "../generated/protocol";
import { fetchOlderRows, useAction, useKnown, useRevision } from "../store";
import { asText, brief, msOf, save, sizeOf, timeOf } from "../words";
import { aligned } from "./align";
import { Detail } from "./detail";

/** A narrow window has little room for the wire. */
const NARROW = 640;
const HEIGHTS = ["closed", "third", "tall"] as const;
type Shown = Era | "both" | "aligned";

export function Wire() {
  const [height, setHeight] = useState<(typeof HEIGHTS)[number]>(() => (innerWidth > NARROW ? "third" : "closed"));
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState<Shown>("both");
  const [paused, setPaused] = useState<WireRow[] | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const live = useKnown((state) => state.wire);
  const hasMore = useKnown((state) => state.wireHasMore);
  const { busy, problem, run } = useAction();
  const all = paused ?? live;
  const wanted = useDeferredValue(filter.toLowerCase());
  const rows = useMemo(() => all.filter((row) => fits(row, shown, wanted)), [all, shown, wanted]);
  const eras = useMemo(() => new Set(all.map((row) => row.era)), [all]);
  const [legacy, modern] = [useRevision("legacy"), useRevision("modern")];
  const years = { legacy: legacy.slice(0, 4), modern: modern.slice(0, 4) };
  const labels: Record<Shown, string> = { both: "both eras", legacy, modern, aligned: "side by side" };
  const open = chosen === null ? null : (all.find((row) => row.id === chosen) ?? null);
  const cycle = (): void => setHeight(HEIGHTS[(HEIGHTS.indexOf(height) + 1) % HEIGHTS.length] ?? "third");
  useKey("mod+j", () => cycle());
  const exported = (form: "jsonl" | "har", label: string) => ({
    key: form,
    label,
    choose: () => run(() => command("export", { form }).then(({ name, text }) => save(name, [text], "application/octet-stream"))),
  });
  return (
    <section className="wire" data-height={height} data-open={open !== null} aria-label="Wire">
      <header className="bar wire-bar">
        <button type="button" className="wire-title" aria-expanded={height !== "closed"} title={`${MOD}J`} onClick={cycle}>
          {height === "tall" ? <ChevronDown className="icon" aria-hidden /> : <ChevronUp className="icon" aria-hidden />}
          Wire
          <span className="count">{all.length.toLocaleString("en")}</span>
        </button>
        {height !== "closed" && (
          <>
            <SearchField label="Filter the wire" placeholder="method, id, text" value={filter} onChange={setFilter} />
            {eras.has("legacy") && eras.has("modern") && (
              <Select label="Eras" value={shown} options={Object.entries(labels)} onChange={(value) => setShown(value as Shown)} />
            )}
            <IconButton
              icon={paused ? Play : Pause}
              label={paused ? "Follow again" : "Pause"}
              aria-pressed={paused !== null}
              onClick={() => setPaused(paused ? null : live)}
            />
            {hasMore && !paused && <Button kind="quiet" disabled={busy} onClick={() => run(fetchOlderRows)} text="Older" />}
            <Menu
              className="icon-button"
              title="Save all"
              disabled={busy}
              entries={[exported("jsonl", "messages and exchanges, as lines of JSON"), exported("har", "HTTP exchanges, as HAR")]}>
              <Download className="icon" aria-label="Save all" />
            </Menu>
          </>
        )}
      </header>
      {problem && <ProblemBox problem={problem} />}
      {height !== "closed" && (
        <div className="wire-body">
          {rows.length === 0 ? (
            <Empty title={all.length === 0 ? "No messages yet." : "No message matches."} />
          ) : shown === "aligned" ? (
            <Aligned rows={rows} chosen={chosen} onChoose={setChosen} />
          ) : (
            <List
              label="Messages"
              className="wire-list"
              items={rows}
              keyOf={(row) => row.id}
              chosen={chosen === null ? -1 : rows.findIndex((row) => row.id === chosen)}
              onChoose={(row) => setChosen(row.id)}
              row={(row) => <Row row={row} years={eras.size > 1 ? years : null} />}
              follow={paused === null}
            />
          )}
          {open && <Detail key={open.id} row={open} onChoose={setChosen} onClose={() => setChosen(null)} />}
        </div>
      )}
    </section>
  );
}

function fits(row: WireRow, shown: Shown, wanted: string): boolean {
  if ((shown === "legacy" || shown === "modern") && row.era !== null && row.era !== shown) return false;
  if (wanted === "") return true;
  const id = row.rpcId === null ? "" : `#${asText(row.rpcId)}`;
  return [row.method, row.about, id, row.text].some((text) => text?.toLowerCase().includes(wanted));
}

/** The year of a revision tells the eras apart. */
type Years = Record<Era, string>;

function Row({ row, years }: { row: WireRow; years: Years | null }) {
  return (
    <>
      <span className="time">{timeOf(row.at)}</span>
      {years && <span className="era">{row.era === null ? "" : years[row.era]}</span>}
      <Name row={row} />
      <span className="preview ellipsis">{brief(row.preview)}</span>
      <span className="ms">{row.ms !== null && msOf(row.ms)}</span>
      <span className="bytes">{sizeOf(row.bytes)}</span>
    </>
  );
}

const DIRECTIONS = { sent: "sent", received: "received", toApp: "to the app", fromApp: "from the app" };
const ARROWS = { sent: "→", received: "←", toApp: "⇢", fromApp: "⇠" };

function Name({ row }: { row: WireRow }) {
  const isBad = row.kind === "error" || (row.http !== null && (row.http.error !== null || (row.http.status ?? 0) >= 400));
  return (
    <>
      <span className={`arrow ${row.direction}`} title={DIRECTIONS[row.direction]}>{ARROWS[row.direction]}</span>
      <span className={`method ${row.kind}`} data-bad={isBad}>
        {row.kind === "result" || row.kind === "error" ? `${row.kind} ` : ""}
        <b className="ellipsis">{brief(row.method ?? "", 80)}</b>
        {row.http && <span>{row.http.status ?? "…"}</span>}
        {row.about !== null && !row.http && <span className="about ellipsis">{brief(row.about, 120)}</span>}
        {row.rpcId !== null && <span className="rpc-id">#{brief(asText(row.rpcId), 40)}</span>}
      </span>
    </>
  );
}

function Aligned({ rows, chosen, onChoose }: { rows: WireRow[]; chosen: number | null; onChoose: (id: number) => void }) {
  const pairs = useMemo(() => aligned(rows), [rows]);
  const cell = (row: WireRow | null) => (
    <span
      className="cell"
      data-chosen={row !== null && row.id === chosen}
      onClick={(event) => {
        if (!row) return;
        event.stopPropagation();
        onChoose(row.id);
      }}>
      {row && <Name row={row} />}
      {row && <span className="preview ellipsis">{brief(row.preview)}</span>}
    </span>
  );
  return (
    <List
      label="Messages of both eras"
      className="wire-list aligned"
      items={pairs}
      keyOf={(pair) => pair.key}
      chosen={pairs.findIndex((pair) => chosen !== null && (pair.legacy?.id === chosen || pair.modern?.id === chosen))}
      onChoose={(pair) => onChoose(pair.legacy?.id ?? pair.modern?.id ?? 0)}
      row={(pair) => (
        <>
          {cell(pair.legacy)}
          {cell(pair.modern)}
        </>
      )}
      follow
    />
  );
}
