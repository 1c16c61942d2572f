import { useState } from "react";
import { Caller } from "../call/caller";
import { CompletedFields } from "../form/completed";
import { Head, Split } from "../parts";
import { valuesOf } from "../place";
import { command } from "../program";
import type { JsonObject } from "../generated/protocol";
import { useEra, useList } from "../store";
import { asText, objectsIn, textIn } from "../words";

export function Prompts() {
  return (
    <Split page="prompts" lists={[["prompt", useList("prompts")]]} names={["name"]} verb="get it">
      {(prompt, query) => <Prompt prompt={prompt} query={query} />}
    </Split>
  );
}

function Prompt({ prompt, query }: { prompt: JsonObject; query: string }) {
  const name = textIn(prompt, "name") ?? "";
  const era = useEra();
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(Object.entries(valuesOf(query)).map(([key, value]) => [key, asText(value)])),
  );
  return (
    <>
      <Head name={name} of={prompt} />
      <h3>Arguments</h3>
      <CompletedFields reference={{ type: "ref/prompt", name }} args={objectsIn(prompt, "arguments")} values={values} onChange={setValues} />
      <Caller verb="Get" method="prompts/get" about={name} send={() => command("prompt", { era, name, arguments: values })} />
    </>
  );
}
