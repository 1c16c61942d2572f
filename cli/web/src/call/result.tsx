// The result of a call: as text, as structured content, and as it came.
import { Download } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button, Copy, ProblemBox } from "../parts/controls";
import { Segments } from "../parts/segments";
import { JsonView, LongText } from "../parts/text";
import { go } from "../place";
import { command } from "../program";
import type { Call, Content, Json, JsonObject } from "../protocol";
import { useAction } from "../store";
import { brief, isObject, objectIn, objectsIn, printable, save, sizeOf, textIn } from "../words";

/** Pictures that a browser decodes and that cannot run anything in an `img`. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

export function ResultView({ call, content, fetchAll }: { call: Call; content: Content; fetchAll: () => Promise<string> }) {
  const [whole, setWhole] = useState<Json | undefined>(content.json);
  const { busy, problem, run } = useAction();
  useEffect(() => setWhole(content.json), [content]);
  if (whole === undefined) {
    return (
      <div className="result">
        <div className="note-line">
          <span>
            The first {sizeOf(content.part?.length ?? 0)} of {sizeOf(content.bytes)}
          </span>
          <Button disabled={busy} onClick={() => run(async () => setWhole(JSON.parse(await fetchAll()) as Json))} text="Show all" />
          <Button
            icon={Download}
            disabled={busy}
            onClick={() => run(async () => save("result.json", [await fetchAll()], "application/json"))}
            text="Save"
          />
        </div>
        {problem && <ProblemBox problem={problem} />}
        <LongText text={content.part ?? ""} label="Beginning of the result" />
      </div>
    );
  }
  return <Views method={call.method} value={whole} />;
}

function Views({ method, value }: { method: string; value: Json }) {
  const result = isObject(value) ? value : {};
  const structured = result.structuredContent;
  const parts = partsOf(method, result);
  const names = [...(parts === null ? [] : ["Text"]), ...(structured === undefined ? [] : ["Structured"]), "Raw"];
  const [wanted, setWanted] = useState("Text");
  const chosen = names.includes(wanted) ? wanted : (names[0] ?? "Raw");
  const view: Record<string, () => ReactNode> = {
    Text: () => <Parts parts={parts ?? []} />,
    Structured: () => <JsonView value={structured ?? null} label="Structured content" />,
    Raw: () => <JsonView value={value} label="Result" />,
  };
  const text = chosen === "Text" ? textOf(parts ?? []) : JSON.stringify(chosen === "Structured" ? structured : value, null, 2);
  return (
    <Segments
      label="Views of the result"
      chosen={chosen}
      onChoose={setWanted}
      segments={names.map((name) => ({ name, view: view[name] ?? (() => null) }))}>
      <Copy text={text} label="Copy the result" />
    </Segments>
  );
}

/** The parts of a result that can be read, each with who says it; `null` for other methods. */
function partsOf(method: string, result: JsonObject): { by: string | null; part: JsonObject }[] | null {
  if (method === "tools/call") return objectsIn(result, "content").map((part) => ({ by: null, part }));
  if (method === "prompts/get") {
    return objectsIn(result, "messages").map((message) => ({
      by: textIn(message, "role"),
      part: objectIn(message, "content") ?? { type: "text", text: JSON.stringify(message.content ?? null) },
    }));
  }
  if (method === "resources/read") {
    return objectsIn(result, "contents").map((resource) => ({ by: null, part: { type: "resource", resource } }));
  }
  return null;
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
        <span>{brief(textIn(part, "title") ?? textIn(part, "name") ?? "")}</span>
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

export const fetchResult = (call: number) => async (): Promise<string> => (await command("body", { call })).text;
