// A question of the server, in the call that it belongs to.
import { CircleHelp, ExternalLink } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Form } from "../form/form";
import { MOD } from "../keys";
import { Button, Copy, JsonField, LongText, ProblemBox } from "../parts";
import { command } from "../program";
import type { JsonObject, Round } from "../generated/protocol";
import { useAction } from "../store";
import { brief, objectIn, objectsIn, printable, textIn } from "../words";

const SAMPLE: JsonObject = { role: "assistant", content: { type: "text", text: "" }, model: "a person", stopReason: "endTurn" };

const ASKS = "The server asks";
const TITLES = { form: ASKS, url: `${ASKS} to open a page`, sampling: `${ASKS} for a message of a model`, login: "Log in" };

export const RoundCards = ({ rounds }: { rounds: Round[] }) => rounds.map((round) => <RoundCard key={round.id} round={round} />);

function RoundCard({ round }: { round: Round }) {
  const { busy, problem, run } = useAction();
  const schema = objectIn(round.params, "requestedSchema");
  const [content, setContent] = useState<JsonObject | null>(round.kind === "sampling" ? SAMPLE : {});
  const card = useRef<HTMLElement>(null);
  const answer = (action: "accept" | "decline" | "cancel"): void => {
    const withContent = action === "accept" && round.kind !== "url" && content !== null;
    run(() => command("answer", { round: round.id, action, ...(withContent ? { content } : {}) }));
  };
  useEffect(() => {
    const idle = document.activeElement === document.body || document.activeElement instanceof HTMLButtonElement;
    card.current?.scrollIntoView({ block: "nearest" });
    // Focus the answer after a call, but never take the focus from a field that is being edited.
    if (idle) card.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  }, []);
  return (
    <section
      ref={card}
      className="round"
      aria-label={TITLES[round.kind]}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
        event.stopPropagation();
        event.preventDefault();
        if (!busy && content !== null && round.kind !== "login") answer("accept");
      }}>
      <h3>
        <CircleHelp className="icon" aria-hidden />
        {TITLES[round.kind]}
      </h3>
      {round.kind !== "sampling" && <p className="message">{printable(round.message)}</p>}
      {round.kind === "form" && schema && <Form schema={schema} value={{}} onChange={setContent} disabled={busy} />}
      {round.kind === "sampling" && <Sampling params={round.params} />}
      {round.kind === "sampling" && <JsonField label="Message" value={SAMPLE} onChange={setContent} />}
      {(round.kind === "url" || round.kind === "login") && <Address params={round.params} />}
      {round.kind === "form" && <p className="note">The server gets what you enter. Give it no password and no key.</p>}
      {problem && <ProblemBox problem={problem} />}
      <div className="actions">
        {round.kind !== "login" && (
          <Button
            kind="main"
            keys={`${MOD}↵`}
            disabled={busy || content === null}
            onClick={() => answer("accept")}
            text={round.kind === "url" ? "I have opened it" : "Answer"}
          />
        )}
        {round.kind !== "login" && <Button disabled={busy} onClick={() => answer("decline")} text="Decline" />}
        {round.kind !== "sampling" && <Button disabled={busy} onClick={() => answer("cancel")} text="Cancel" />}
      </div>
    </section>
  );
}

/** An address of the server: shown whole, and opened by a click in a tab that cannot reach this. */
export function Address({ params, onOpen }: { params: JsonObject; onOpen?: () => void }) {
  const url = textIn(params, "url") ?? "";
  const code = textIn(params, "userCode");
  const host = /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url).host : null;
  const open = (): void => {
    window.open(url, "_blank", "noopener,noreferrer");
    onOpen?.();
  };
  return (
    <div className="address">
      <p className="mono">{brief(url, 2000)}</p>
      {code !== null && (
        <p>
          <span className="label">code</span> <strong className="mono">{brief(code)}</strong> <Copy text={code} label="Copy the code" />
        </p>
      )}
      {host === null ? (
        <p className="note">This is no address of a web page, so it is not opened.</p>
      ) : (
        <Button icon={ExternalLink} onClick={open} text={`Open ${brief(host, 100)}`} />
      )}
    </div>
  );
}

function Sampling({ params }: { params: JsonObject }) {
  const system = textIn(params, "systemPrompt");
  const said = objectsIn(params, "messages").map((message) => {
    const content = objectIn(message, "content");
    return `${textIn(message, "role") ?? ""}: ${textIn(content, "text") ?? JSON.stringify(message.content ?? null)}`;
  });
  return <LongText text={[...(system === null ? [] : [`system: ${system}`]), ...said].join("\n\n")} label="Messages" />;
}
