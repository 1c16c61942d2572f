import { Bell, BellOff, Play } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Calls, useCalls } from "../call/call-card";
import { MOD, useKey } from "../keys";
import { CompletedFields } from "../parts/completed";
import { Badge, Button, Empty, Facts, Head, ProblemBox } from "../parts/controls";
import { mono } from "../parts/text";
import { Split } from "../parts/split";
import { go, usePlace } from "../place";
import { command } from "../program";
import type { JsonObject } from "../protocol";
import { useAction, useConnection, useEra, useKnown, useList } from "../store";
import { brief, many, objectIn, sizeOf, textIn, timeOf } from "../words";
import { useInstead } from "./instead";

const keyOf = (one: JsonObject): string => textIn(one, "uri") ?? textIn(one, "uriTemplate") ?? "";
const labelOf = (one: JsonObject): string => textIn(one, "title") ?? textIn(one, "name") ?? keyOf(one);
const searched = (one: JsonObject): string => `${keyOf(one)} ${labelOf(one)} ${textIn(one, "description") ?? ""}`;

export function Resources() {
  const { item } = usePlace();
  const era = useEra();
  const resources = useList("resources");
  const templates = useList("resourceTemplates");
  const noResources = useInstead("resources", "resources", resources);
  const all = useMemo(() => [...(templates.items ?? []), ...(resources.items ?? [])], [templates.items, resources.items]);
  const chosen = all.find((one) => keyOf(one) === item) ?? (item === null || item.includes("{") ? null : { uri: item });
  const refresh = (): void => {
    resources.refresh();
    templates.refresh();
  };
  return (
    <Split
      label="resources"
      items={all}
      keyOf={keyOf}
      textOf={searched}
      row={(one) => <Row one={one} />}
      chosen={item}
      onChoose={(key) => go("resources", key)}
      onRefresh={refresh}
      instead={all.length > 0 ? null : noResources}>
      {chosen && "uriTemplate" in chosen && <Template key={`${era} ${keyOf(chosen)}`} template={chosen} />}
      {chosen && !("uriTemplate" in chosen) && <Resource key={`${era} ${keyOf(chosen)}`} resource={chosen} />}
      {item === null && all.length > 0 && (
        <Empty
          title={`${many(resources.items?.length ?? 0, "resource")} and ${many(templates.items?.length ?? 0, "template")}. Choose one, and read it.`}
        />
      )}
    </Split>
  );
}

function Row({ one }: { one: JsonObject }) {
  const uri = keyOf(one);
  const updates = useKnown((state) => state.subscriptions.find((subscription) => subscription.uri === uri)?.updates);
  return (
    <>
      <span className="ellipsis">{brief(labelOf(one), 120)}</span>
      {"uriTemplate" in one && <Badge text="template" />}
      {updates !== undefined && <Badge tone="good" text={`${updates} updates`} />}
    </>
  );
}

function Resource({ resource }: { resource: JsonObject }) {
  const uri = keyOf(resource);
  const size = resource.size;
  const audience = objectIn(resource, "annotations")?.audience;
  return (
    <>
      <Head name={labelOf(resource)} of={resource} />
      <Facts
        rows={[
          ["uri", mono(uri)],
          ["type", brief(textIn(resource, "mimeType") ?? "")],
          ["size", typeof size === "number" && sizeOf(size)],
          ["audience", Array.isArray(audience) && brief(audience.filter((one) => typeof one === "string").join(", "))],
        ]}
      />
      <Read uri={uri} />
    </>
  );
}

function Read({ uri }: { uri: string }) {
  const era = useEra();
  const connection = useConnection();
  const isOpen = connection?.state === "open";
  const { busy, problem, run } = useAction();
  const calls = useCalls("resources/read", uri);
  const canSubscribe = objectIn(connection?.capabilities, "resources")?.subscribe === true;
  const subscription = useKnown((state) => state.subscriptions.find((one) => one.uri === uri && one.era === era) ?? null);
  const read = (): void => {
    if (!busy && isOpen && uri !== "") run(() => command("read", { era, uri }));
  };
  useKey("mod+enter", () => read());
  return (
    <>
      <div className="actions">
        <Button kind="main" icon={Play} keys={`${MOD}↵`} disabled={busy || !isOpen || uri === ""} onClick={read} text="Read" />
        {canSubscribe && uri !== "" && (
          <Button
            icon={subscription ? BellOff : Bell}
            disabled={busy || !isOpen}
            onClick={() => run(() => command(subscription ? "unsubscribe" : "subscribe", { era, uri }))}
            text={subscription ? "Unsubscribe" : "Subscribe"}
          />
        )}
        {subscription && (
          <span className="note" role="status">
            {many(subscription.updates, "update")}
            {subscription.updatedAt !== null && `, the last at ${timeOf(subscription.updatedAt)}`}
          </span>
        )}
      </div>
      {problem && <ProblemBox problem={problem} />}
      <Calls calls={calls} />
    </>
  );
}

function Template({ template }: { template: JsonObject }) {
  const pattern = keyOf(template);
  const [names, setNames] = useState<string[]>([]);
  const [values, setValues] = useState<Record<string, string>>({});
  const [uri, setUri] = useState("");
  const { problem, run } = useAction();
  useEffect(() => {
    run(() => command("variables", { template: pattern }).then((found) => setNames(found.names)));
  }, [pattern, run]);
  const text = JSON.stringify(values);
  useEffect(() => {
    let current = true;
    run(() =>
      command("expand", { template: pattern, values: JSON.parse(text) as Record<string, string> }).then((found) => {
        if (current) setUri(found.uri);
      }),
    );
    return () => {
      current = false;
    };
  }, [pattern, text, run]);
  return (
    <>
      <Head name={labelOf(template)} of={template} />
      <Facts
        rows={[
          ["template", mono(pattern)],
          ["uri", mono(uri)],
        ]}
      />
      <CompletedFields
        reference={{ type: "ref/resource", uri: pattern }}
        args={names.map((name) => ({ name, description: null, required: false }))}
        values={values}
        onChange={setValues}
      />
      {problem && <ProblemBox problem={problem} />}
      <Read uri={Object.keys(values).length === 0 && names.length > 0 ? "" : uri} />
    </>
  );
}
