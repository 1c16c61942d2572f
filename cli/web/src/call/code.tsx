// A call as it would be sent, and as code.
import { Code, X } from "lucide-react";
import { useState } from "react";
import { Button, Copy, IconButton, LongText, Menu, ProblemBox } from "../parts";
import { linkTo } from "../place";
import { command } from "../program";
import type { JsonObject } from "../generated/protocol";
import { useAction, useEra, useKnown } from "../store";

export function CodeMenu({ name, args, asTask }: { name: string; args: JsonObject | null; asTask: boolean }) {
  const forms = useKnown((state) => state.codeForms);
  const era = useEra();
  const { busy, problem, run } = useAction();
  const [shown, setShown] = useState<{ label: string; text: string } | null>(null);
  const copy = (label: string, text: string): void => {
    setShown({ label: `${label}, copied`, text });
    void navigator.clipboard.writeText(text).catch(() => undefined);
  };
  const entries = forms.map(({ form, label }) => ({
    key: form,
    label,
    choose: () => run(async () => copy(label, (await command("code", { era, form, name, arguments: args ?? {} })).text)),
  }));
  const link = `${location.origin}${location.pathname}${linkTo("tools", name, args ?? {})}`;
  const preview = async (): Promise<void> =>
    setShown({ label: "the requests", text: (await command("preview", { name, arguments: args ?? {} })).text });
  return (
    <>
      <Button
        disabled={busy || args === null || asTask}
        title="The request in each era; nothing is sent"
        onClick={() => run(preview)}
        text="Dry run"
      />
      <Menu
        className="button plain"
        disabled={busy || args === null}
        entries={[...entries, { key: "link", label: "link to this call", choose: () => copy("link", link) }]}>
        <Code className="icon" aria-hidden />
        Copy as
      </Menu>
      {problem && <ProblemBox problem={problem} />}
      {shown && (
        <section className="code" aria-label={`The call as ${shown.label}`}>
          <header className="call-head">
            <span className="label">{shown.label}</span>
            <Copy text={shown.text} label="Copy" />
            <IconButton icon={X} label="Close" onClick={() => setShown(null)} />
          </header>
          <LongText text={shown.text} label={shown.label} />
        </section>
      )}
    </>
  );
}
