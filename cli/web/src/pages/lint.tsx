// Findings about the server, by rule.
import { RefreshCw } from "lucide-react";
import { useEffect, useState } from "react";
import { cell } from "../cell";
import { Badge, Button, Empty, ProblemBox, Select, Skeleton } from "../parts";
import { linkTo, type Page } from "../place";
import { command } from "../program";
import type { Effect, Era, Finding, LintReport, LintRule, ListName } from "../generated/protocol";
import { useAction, useConnection, useEra } from "../store";
import { brief, many } from "../words";

const FIRST = 10;
const PAGES: Record<Finding["list"], Page> = { server: "server", tools: "tools", resources: "resources", resourceTemplates: "resources", prompts: "prompts" };
const LISTS: ListName[] = ["tools", "resources", "resourceTemplates", "prompts"];
const EFFECTS: Record<Effect, string> = {
  refuses: "refuses requests with it",
  drops: "drops it",
  cuts: "cuts it",
  renames: "renames it",
  misreads: "misreads it",
};

const SEVERITIES: [string, string][] = Object.entries({ "": "every severity", error: "errors", warning: "warnings" });

/** The last check, which the rail and the pages share, and the era of its report. */
const checked = cell<{ key: string; report: LintReport | null; of: Era | null }>({ key: "", report: null, of: null });

/** The report about the lists as they are; `null` before the first one. */
export function useLint(): LintReport | null {
  const era = useEra();
  const connection = useConnection();
  const lists = connection ? LISTS.map((name) => connection.lists[name]) : [];
  const isReady = (connection?.openings ?? 0) > 0 && lists.every((list) => list.state !== "loading");
  const key = `${era} ${connection?.openings} ${lists.map((list) => list.version).join(" ")}`;
  useEffect(() => {
    if (!isReady || checked.get().key === key) return;
    checked.set({ ...checked.get(), key });
    command("lint", { era }).then(
      (report) => checked.get().key === key && checked.set({ key, report, of: era }),
      () => undefined,
    );
  }, [era, isReady, key]);
  return checked.useValue(({ report, of }) => (of === era ? report : null));
}

export function Lint() {
  const report = useLint();
  const era = useEra();
  const connection = useConnection();
  const [host, setHost] = useState("");
  const [severity, setSeverity] = useState("");
  const { busy, problem, run } = useAction();
  if (!report) return connection?.openings === 0 ? <Empty title="Not connected." /> : <Skeleton />;
  const titles = report.hosts.map((one): [string, string] => [one.host, one.title]);
  // A finding without hosts concerns all of them.
  const isShown = (one: Finding): boolean =>
    (severity === "" || one.severity === severity) && (host === "" || one.hosts.length === 0 || one.hosts.some((other) => other.host === host));
  const shown = report.findings.filter(isShown);
  const groups = report.rules.map((rule) => ({ rule, findings: shown.filter((one) => one.rule === rule.id) })).filter(({ findings }) => findings.length > 0);
  const again = (): Promise<unknown> =>
    Promise.all(LISTS.filter((list) => connection?.lists[list].state === "ready").map((list) => command("list", { era, list, refresh: true })));
  return (
    <div className="page">
      <header className="head">
        <h2>Lint</h2>
        <span className="count" role="status">
          {shown.length === report.findings.length ? many(shown.length, "finding") : `${shown.length} of ${many(report.findings.length, "finding")}`}
          {report.omitted > 0 && `, and ${report.omitted.toLocaleString("en")} more of the same rules`}
        </span>
        <span className="grow" />
        <Select label="Host" value={host} options={[["", "every host"], ...titles]} onChange={setHost} />
        <Select label="Severity" value={severity} options={SEVERITIES} onChange={setSeverity} />
        <Button icon={RefreshCw} disabled={busy || connection?.state !== "open"} onClick={() => run(again)} text="Read again" />
      </header>
      <p className="description">What hosts refuse, cut or misread, and what people don't see. Reading the lists again compares their order.</p>
      {problem && <ProblemBox problem={problem} />}
      {shown.length === 0 && <Empty title="Nothing found.">{many(report.rules.length, "rule")} were checked.</Empty>}
      {groups.map(({ rule, findings }) => (
        <Group key={rule.id} rule={rule} findings={findings} report={report} />
      ))}
    </div>
  );
}

function Group({ rule, findings, report }: { rule: LintRule; findings: Finding[]; report: LintReport }) {
  const [isWhole, setIsWhole] = useState(false);
  const isBad = findings.some((one) => one.severity === "error");
  return (
    <section aria-label={rule.title} className="rule">
      <h3>
        <Badge tone={isBad ? "bad" : "warn"} text={isBad ? "error" : "warning"} /> {rule.title} <span className="count">{findings.length}</span>
      </h3>
      <p className="note">{rule.why} {rule.advice} <Source url={rule.source} about={rule.title} /></p>
      <ul>
        {findings.slice(0, isWhole ? undefined : FIRST).map((one, at) => (
          <li key={at}>
            <a className="mono" href={linkTo(PAGES[one.list], one.item)} children={brief(one.item ?? one.list, 80)} />
            <span className="mono faint">{brief(one.pointer, 160)}</span>
            <span>{brief(one.what)}</span>
            {one.hosts.length > 0 && (
              <span className="affected">
                {one.hosts.map(({ host, effect, source }) => (
                  <span key={host}>
                    {report.hosts.find((other) => other.host === host)?.title ?? host} {EFFECTS[effect]} <Source url={source} about={host} />
                  </span>
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
      {findings.length > FIRST && !isWhole && <Button kind="quiet" onClick={() => setIsWhole(true)} text={`Show all ${findings.length}`} />}
    </section>
  );
}

/** Our own link, never one of the server. */
export const Source = ({ url, about }: { url: string; about: string }) => (
  <a className="source" href={url} target="_blank" rel="noreferrer" aria-label={`Source: ${about}`} children="source" />
);
