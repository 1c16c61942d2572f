// The apps of tools: what each may do, and the app itself in its frame. The program is its host.
import { AppWindow, Play, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { CallCard } from "../call/call-card";
import { Address } from "../call/round";
import { Form } from "../form/form";
import { MOD, useKey } from "../keys";
import { Badge, Button, Empty, Facts, Head, IconButton, JsonView, mono, ProblemBox, Split } from "../parts";
import { command } from "../program";
import type { AppShown, AppWish, JsonObject, OpenedApp } from "../generated/protocol";
import { useTheme } from "../shell/theme";
import { useAction, useConnection, useEra, useKnown, useList } from "../store";
import { brief, objectIn, sizeOf, textIn } from "../words";

const nameOf = (tool: JsonObject): string => textIn(tool, "name") ?? "";
const interfaceOf = (tool: JsonObject): string | null => {
  const meta = objectIn(tool, "_meta");
  return textIn(objectIn(meta, "ui"), "resourceUri") ?? textIn(meta, "ui/resourceUri");
};

export function Apps() {
  const list = useList("tools");
  const items = useMemo(() => list.items?.filter((tool) => interfaceOf(tool) !== null) ?? null, [list.items]);
  const none = <Empty title="No tool of this server has an app." children={<p>A tool names its app in _meta.ui.resourceUri, from 2025-06-18 on.</p>} />;
  return (
    <Split
      page="apps"
      lists={[["app", { ...list, items }]]}
      names={["name"]}
      verb="run it"
      none={list.items && list.items.length > 0 ? none : undefined}>
      {(tool) => <App tool={tool} />}
    </Split>
  );
}

function App({ tool }: { tool: JsonObject }) {
  const era = useEra();
  const theme = useTheme();
  const uri = interfaceOf(tool) ?? "";
  const isOpen = useConnection()?.state === "open";
  const [app, setApp] = useState<OpenedApp | null>(null);
  const [args, setArgs] = useState<JsonObject>({});
  const [shown, setShown] = useState<number | null>(null);
  const { busy, problem, run } = useAction();
  useEffect(() => {
    if (isOpen) run(async () => setApp(await command("app", { era, uri, origin: location.origin })));
  }, [isOpen, era, uri, run]);
  const start = async (): Promise<void> => {
    const context = { theme, locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
    if (app) setShown((await command("appRun", { era, app: app.app, tool: nameOf(tool), arguments: args, context })).run);
  };
  const ready = isOpen && app !== null && !busy;
  useKey("mod+enter", () => ready && run(start));
  const visibility = objectIn(objectIn(tool, "_meta"), "ui")?.visibility;
  return (
    <>
      <Head name={nameOf(tool)} of={tool}>
        {Array.isArray(visibility) && <Badge text={`for ${brief(visibility.map(String).join(", "))}`} title="_meta.ui.visibility" />}
      </Head>
      <Facts
        rows={[
          ["interface", mono(uri)],
          ["size", app && sizeOf(app.bytes)],
          ["policy", app && <code className="policy">{app.policy}</code>],
          ["refused", app && brief(app.refused.join(" "), 1000)],
          ["permissions", app?.allow ?? null],
          ["domain", brief(textIn(app?.ui, "domain") ?? "")],
        ]}
      />
      {/* Not before the policy, which would move it. */}
      {app && (
        <>
          <h3>Arguments</h3>
          <Form schema={objectIn(tool, "inputSchema") ?? {}} value={args} onChange={setArgs} />
          <div className="actions">
            <Button kind="main" icon={Play} keys={`${MOD}↵`} disabled={!ready} onClick={() => run(start)} text="Run" />
          </div>
        </>
      )}
      {problem && <ProblemBox problem={problem} />}
      {app && shown !== null && <Frame key={shown} app={app} run={shown} name={nameOf(tool)} />}
    </>
  );
}

const SAYINGS: Record<AppShown["state"], string> = {
  loading: "loading",
  silent: "The app does not initialize: it has sent no ui/initialize for 5 seconds.",
  initializing: "The app has sent no ui/notifications/initialized yet.",
  ready: "running",
  closed: "closed",
};

function Frame({ app, run, name }: { app: OpenedApp; run: number; name: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [at, setAt] = useState<AppShown | null>(null);
  const all = useKnown((state) => state.calls);
  const origin = `${location.protocol}//${location.hostname}:${app.port}`;
  useEffect(() => {
    let said: Promise<unknown> = Promise.resolve();
    const receive = ({ source, data, origin: from }: MessageEvent): void => {
      if (from !== origin || source === null || source !== frame.current?.contentWindow) return;
      const { kind, text } = data as { kind: string; text: string };
      if (kind === "leave") return frame.current.closest("section")?.querySelector("button")?.focus();
      // One after the other, so that they stay in their order.
      said = said.then(() => command("appSaid", { run, text, stopped: kind === "stopped" })).catch(() => undefined);
    };
    const gone = new AbortController();
    addEventListener("message", receive, { signal: gone.signal });
    const follow = async (): Promise<void> => {
      let seen = 0;
      while (!gone.signal.aborted) {
        const { messages, version, shown } = await command("appNext", { run, seen });
        for (const text of messages) frame.current?.contentWindow?.postMessage(text, origin);
        seen = version;
        setAt(shown);
        if (shown.state === "closed") return;
      }
    };
    // A program that has ended says so elsewhere.
    void follow().catch(() => undefined);
    return () => gone.abort();
  }, [origin, run]);
  const decide = (action: "allow" | "always" | "refuse" | "close", number?: number): void =>
    void command("appLeave", { run, action, ...(number === undefined ? {} : { number }) }).catch(() => undefined);
  const state = at?.state ?? "loading";
  const height = at?.height ?? 240;
  return (
    <>
      <section className="call hosted" aria-label="App">
        <header className="call-head">
          <AppWindow className="icon faint" aria-hidden />
          <span className="figures" role="status">
            {SAYINGS[state]}
            {at?.why && `: ${at.why}`}
          </span>
          {state !== "closed" && <IconButton icon={X} label="Close the app" onClick={() => decide("close")} />}
        </header>
        {state !== "closed" && (
          <iframe
            ref={frame}
            title={`App of ${brief(name, 80)}`}
            src={`${origin}/${app.token}/`}
            sandbox="allow-scripts allow-same-origin allow-forms"
            allow={app.allow}
            style={{ height }}
          />
        )}
        {/* Nothing moves when the app goes. */}
        {state === "closed" && <div style={{ height }} />}
      </section>
      {/* The newest below, so that nothing moves when one comes. */}
      <div className="calls" aria-live="polite">
        {all.filter((call) => at?.calls.includes(call.id)).map((call) => (
          <CallCard key={call.id} call={call} open={false} />
        ))}
        {at?.asked.map((wish) => (
          <Wish key={wish.number} wish={wish} decide={(action) => decide(action, wish.number)} />
        ))}
      </div>
    </>
  );
}

/** A request of the app that needs the leave of the person. */
function Wish({ wish, decide }: { wish: AppWish; decide: (action: "allow" | "always" | "refuse") => void }) {
  const opens = wish.method === "ui/open-link";
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    card.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section ref={card} className="round" aria-label="The app asks">
      <h3>{opens ? "The app asks to open a page" : `The app asks for ${wish.method}`}</h3>
      {opens ? <Address params={wish.params ?? {}} onOpen={() => decide("allow")} /> : <JsonView value={wish.params} label="Parameters" />}
      <div className="actions">
        {!opens && <Button kind="main" onClick={() => decide("allow")} text="Allow" />}
        <Button onClick={() => decide("refuse")} text="Refuse" />
        {!opens && <Button kind="quiet" onClick={() => decide("always")} text="Allow all of this app" />}
      </div>
    </section>
  );
}
