import { Play } from "lucide-react";
import { useState } from "react";
import { Calls, useCalls } from "../call/call-card";
import { MOD, useKey } from "../keys";
import { CompletedFields } from "../parts/completed";
import { Button, Empty, Head, ProblemBox } from "../parts/controls";
import { Split } from "../parts/split";
import { go, usePlace, valuesOf } from "../place";
import { command } from "../program";
import type { JsonObject } from "../protocol";
import { useAction, useConnection, useEra, useList } from "../store";
import { brief, many, objectsIn, textIn } from "../words";
import { useInstead } from "./instead";

const nameOf = (prompt: JsonObject): string => textIn(prompt, "name") ?? "";
const searched = (prompt: JsonObject): string => `${nameOf(prompt)} ${textIn(prompt, "title") ?? ""} ${textIn(prompt, "description") ?? ""}`;

export function Prompts() {
  const { item, query } = usePlace();
  const list = useList("prompts");
  const era = useEra();
  const { items, refresh } = list;
  const prompt = items?.find((one) => nameOf(one) === item) ?? null;
  return (
    <Split
      label="prompts"
      items={items ?? []}
      keyOf={nameOf}
      textOf={searched}
      row={(one) => <span className="mono ellipsis">{brief(nameOf(one), 120)}</span>}
      chosen={item}
      onChoose={(name) => go("prompts", name)}
      onRefresh={refresh}
      instead={useInstead("prompts", "prompts", list)}>
      {prompt && <Prompt key={`${era} ${nameOf(prompt)} ${query}`} prompt={prompt} query={query} />}
      {!prompt && items && item !== null && <Empty title={`There is no prompt ${brief(item)}.`} />}
      {item === null && items && items.length > 0 && <Empty title={`${many(items.length, "prompt")}. Choose one, and get it.`} />}
    </Split>
  );
}

function Prompt({ prompt, query }: { prompt: JsonObject; query: string }) {
  const name = nameOf(prompt);
  const era = useEra();
  const isOpen = useConnection()?.state === "open";
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(Object.entries(valuesOf(query)).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])),
  );
  const { busy, problem, run } = useAction();
  const calls = useCalls("prompts/get", name);
  const get = (): void => {
    if (!busy && isOpen) run(() => command("prompt", { era, name, arguments: values }));
  };
  useKey("mod+enter", () => get());
  const args = objectsIn(prompt, "arguments").map((one) => ({
    name: nameOf(one),
    description: textIn(one, "description"),
    required: one.required === true,
  }));
  return (
    <>
      <Head name={name} of={prompt} />
      <h3>Arguments</h3>
      {args.length === 0 && <p className="note">Takes no arguments.</p>}
      <CompletedFields reference={{ type: "ref/prompt", name }} args={args} values={values} onChange={setValues} />
      <div className="actions">
        <Button kind="main" icon={Play} keys={`${MOD}↵`} disabled={busy || !isOpen} onClick={get} text="Get" />
      </div>
      {problem && <ProblemBox problem={problem} />}
      <Calls calls={calls} />
    </>
  );
}
