// A call as code.
import * as Menu from "@radix-ui/react-dropdown-menu";
import { Check, Code, X } from "lucide-react";
import { useState } from "react";
import { Copy, IconButton, ProblemBox } from "../parts/controls";
import { LongText } from "../parts/text";
import { linkTo } from "../place";
import { command } from "../program";
import type { JsonObject } from "../protocol";
import { useAction, useEra, useKnown } from "../store";

export interface Shown {
  label: string;
  text: string;
}

export function CodeMenu({ name, args, onShow }: { name: string; args: JsonObject | null; onShow: (shown: Shown) => void }) {
  const forms = useKnown((state) => state.codeForms);
  const era = useEra();
  const { busy, problem, run } = useAction();
  const [copied, setCopied] = useState(false);
  const show = (label: string, text: string): void => {
    onShow({ label, text });
    setCopied(false);
    void navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="button plain" disabled={busy || args === null}>
          {copied ? <Check className="icon" aria-hidden /> : <Code className="icon" aria-hidden />}
          Copy as
        </Menu.Trigger>
        <Menu.Content className="menu" align="start" sideOffset={4}>
          {forms.map(({ form, label }) => (
            <Menu.Item
              key={form}
              className="menu-item"
              onSelect={() => run(async () => show(label, (await command("code", { era, form, name, arguments: args ?? {} })).text))}>
              {label}
            </Menu.Item>
          ))}
          <Menu.Separator className="menu-line" />
          <Menu.Item className="menu-item" onSelect={() => show("link", `${location.origin}${location.pathname}${linkTo("tools", name, args ?? {})}`)}>
            link to this call
          </Menu.Item>
        </Menu.Content>
      </Menu.Root>
      {problem && <ProblemBox problem={problem} />}
    </>
  );
}

export function CodeView({ shown, onClose }: { shown: Shown; onClose: () => void }) {
  return (
    <section className="code" aria-label={`The call as ${shown.label}`}>
      <header className="call-head">
        <span className="label">{shown.label}, copied</span>
        <Copy text={shown.text} label="Copy again" />
        <IconButton icon={X} label="Close" onClick={onClose} />
      </header>
      <LongText text={shown.text} label={shown.label} />
    </section>
  );
}
