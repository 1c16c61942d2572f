// The result of a call: as text, as structured content, and as it came.
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, JsonView, LongText, ProblemBox, type Segment, Segments } from "../parts";
import { go } from "../place";
import { command } from "../program";
import type { Call, Content, Json, JsonObject } from "../generated/protocol";
import { useAction, useAnswer } from "../store";
import { brief, exact, isObject, objectIn, objectsIn, printable, save, sizeOf, textIn } from "../words";

/** Pictures that a browser decodes and that cannot run anything in an `img`. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

export function ResultView({ call, content }: { call: Call; content: Content }) {
  const [wanted, setWanted] = useState(false);
  const { answer, problem } = useAnswer("body", wanted ? { call: call.id } : null);
  const action = useAction();
  const whole = useMemo(() => (answer ? (exact(answer.text) as Json) : content.json), [answer, content]);
  if (whole !== undefined) return <Views value={whole} />;
  const saveAll = async (): Promise<void> => save("result.json", [(await command("body", { call: call.id })).text], "application/json");
  const failure = problem ?? action.problem;
  return (
    <div className="result">
      <div className="note-line">
        <span>The first {sizeOf(content.part?.length ?? 0)} of {sizeOf(content.bytes)}</span>
        <Button disabled={wanted && !failure} onClick={() => setWanted(true)} text="Show all" />
        <Button icon={Download} disabled={action.busy} onClick={() => action.run(saveAll)} text="Save" />
      </div>
      {failure && <ProblemBox problem={failure} />}
      <LongText text={content.part ?? ""} label="Beginning of the result" />
    </div>
  );
}

function Views({ value }: { value: Json }) {
  const result = isObject(value) ? value : {};
  const parts = partsOf(result);
  const json = (name: string, label: string, shown: Json): Segment => ({
    name,
    view: () => <JsonView value={shown} label={label} />,
    text: () => JSON.stringify(shown, null, 2),
  });
  const segments: Segment[] = [json("Raw", "Result", value)];
  if (result.structuredContent !== undefined) segments.unshift(json("Structured", "Structured content", result.structuredContent));
  if (parts) segments.unshift({ name: "Text", view: () => <Parts parts={parts} />, text: () => textOf(parts) });
  return <Segments label="Views of the result" segments={segments} />;
}

/** The readable parts of a result, each with who says it; `null` if it is of another kind. */
function partsOf(result: JsonObject): { by: string | null; part: JsonObject }[] | null {
  if (Array.isArray(result.content)) return objectsIn(result, "content").map((part) => ({ by: null, part }));
  if (Array.isArray(result.contents)) return objectsIn(result, "contents").map((resource) => ({ by: null, part: { type: "resource", resource } }));
  if (!Array.isArray(result.messages)) return null;
  return objectsIn(result, "messages").map((message) => ({
    by: textIn(message, "role"),
    part: objectIn(message, "content") ?? { type: "text", text: JSON.stringify(message.content ?? null) },
  }));
}

const textOf = (parts: { part: JsonObject }[]): string =>
  parts.map(({ part }) => textIn(part, "text") ?? textIn(objectIn(part, "resource"), "text") ?? JSON.stringify(part)).join("\n");

function Parts({ parts }: { parts: { by: string | null; part: JsonObject }[] }) {
  if (parts.length === 0) return <p className="note">The result has no content.</p>;
  return (
    <div className="parts">
      {parts.map(({ by, part }, at) => (
        <div key={at} className="part">
          {by !== null && <p className="label">{brief(by)}</p>}
          <Part part={part} />
        </div>
      ))}
    </div>
  );
}

function Part({ part }: { part: JsonObject }) {
  const type = textIn(part, "type");
  const text = textIn(part, "text");
  const data = textIn(part, "data");
  const mime = textIn(part, "mimeType") ?? "application/octet-stream";
  const uri = textIn(part, "uri");
  if (type === "text" && text !== null) return <LongText text={text} label="Text" />;
  if ((type === "image" || type === "audio") && data !== null) return <Media data={data} mime={mime} />;
  const resource = objectIn(part, "resource");
  if (type === "resource" && resource) return <Embedded resource={resource} />;
  if (type === "resource_link" && uri !== null) {
    return (
      <p className="note-line">
        <span className="mono">{brief(uri)}</span>
        <span>{brief(textIn(part, "title", "name") ?? "")}</span>
        <Button onClick={() => go("resources", uri)} text="Read it" />
      </p>
    );
  }
  return <JsonView value={part} label="Content" />;
}

function Embedded({ resource }: { resource: JsonObject }) {
  const text = textIn(resource, "text");
  const blob = textIn(resource, "blob");
  const mime = textIn(resource, "mimeType") ?? "";
  return (
    <>
      <p className="note-line">
        <span className="mono">{brief(textIn(resource, "uri") ?? "")}</span>
        <span>{brief(mime)}</span>
      </p>
      {text !== null && <LongText text={text} label="Text of the resource" />}
      {blob !== null && <Media data={blob} mime={mime} />}
    </>
  );
}

function Media({ data, mime }: { data: string; mime: string }) {
  const [broken, setBroken] = useState(false);
  if (!BASE64.test(data)) return <p className="note">This should be base64, and is not: {brief(data, 80)}</p>;
  const bytes = (): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const kind = /^[\w.+-]+\/[\w.+-]+$/.test(mime) ? mime : "application/octet-stream";
  return (
    <figure>
      {PICTURE.test(kind) && !broken && <img src={`data:${kind};base64,${data}`} alt={`${kind} of the server`} onError={() => setBroken(true)} />}
      <figcaption className="note-line">
        <span>
          {printable(kind)}, {sizeOf(Math.floor((data.length * 3) / 4))}
          {broken && ": not a picture that the browser can show"}
        </span>
        <Button icon={Download} onClick={() => save("content", [bytes()], "application/octet-stream")} text="Save" />
      </figcaption>
    </figure>
  );
}
