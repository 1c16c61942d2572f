import { Bell, BellOff } from "lucide-react";
import { useState } from "react";
import { Caller } from "../call/caller";
import { CompletedFields } from "../form/completed";
import { Badge, Button, Facts, Head, mono, ProblemBox, Split } from "../parts";
import { command } from "../program";
import type { JsonObject } from "../generated/protocol";
import { useAction, useAnswer, useConnection, useEra, useKnown, useList } from "../store";
import { brief, many, objectIn, sizeOf, textIn, timeOf } from "../words";

const NAMES = ["uri", "uriTemplate"];
const keyOf = (one: JsonObject): string => textIn(one, ...NAMES) ?? "";
const labelOf = (one: JsonObject): string => textIn(one, "title", "name", ...NAMES) ?? "";

export function Resources() {
  const [templates, resources] = [useList("resourceTemplates"), useList("resources")];
  return (
    <Split
      page="resources"
      lists={[["resource", resources], ["template", templates]]}
      names={NAMES}
      verb="read it"
      row={(one) => <Row one={one} />}
      unlisted={(uri) => (uri.includes("{") ? null : { uri })}>
      {(one) => ("uriTemplate" in one ? <Template template={one} /> : <Resource resource={one} />)}
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
      {updates !== undefined && <Badge tone="good" text={many(updates, "update")} />}
    </>
  );
}

function Resource({ resource }: { resource: JsonObject }) {
  const uri = keyOf(resource);
  const { size } = resource;
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
  const { busy, problem, run } = useAction();
  const canSubscribe = objectIn(connection?.capabilities, "resources")?.subscribe === true;
  const subscription = useKnown((state) => state.subscriptions.find((one) => one.uri === uri && one.era === era) ?? null);
  return (
    <Caller verb="Read" method="resources/read" about={uri} isReady={uri !== ""} send={() => command("read", { era, uri })}>
      {canSubscribe && uri !== "" && (
        <Button
          icon={subscription ? BellOff : Bell}
          disabled={busy || connection?.state !== "open"}
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
      {problem && <ProblemBox problem={problem} />}
    </Caller>
  );
}

function Template({ template: one }: { template: JsonObject }) {
  const template = keyOf(one);
  const [values, setValues] = useState<Record<string, string>>({});
  const { answer: variables } = useAnswer("variables", { template });
  const { answer: expanded, problem } = useAnswer("expand", { template, values });
  const names = variables?.names ?? [];
  const isFilled = Object.keys(values).length > 0 || names.length === 0;
  return (
    <>
      <Head name={labelOf(one)} of={one} />
      <Facts
        rows={[
          ["template", mono(template)],
          ["uri", mono(expanded?.uri ?? "")],
        ]}
      />
      {names.length > 0 && (
        <CompletedFields
          reference={{ type: "ref/resource", uri: template }}
          args={names.map((name) => ({ name }))}
          values={values}
          onChange={setValues}
        />
      )}
      {problem && <ProblemBox problem={problem} />}
      <Read uri={isFilled ? (expanded?.uri ?? "") : ""} />
    </>
  );
}
