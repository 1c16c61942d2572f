// A field for a JSON object.
import { Suspense, lazy, useState } from "react";
import type { JsonObject } from "../generated/protocol";
import { exact, isObject } from "../words";

const Editor = lazy(() => import("./editor"));

interface Props {
  label: string;
  value: JsonObject;
  /** `null` while the text is no JSON object. */
  onChange: (value: JsonObject | null) => void;
}

/** The object in a text, or why there is none. */
function read(text: string): JsonObject | string {
  try {
    const value = exact(text.trim() === "" ? "{}" : text) as JsonObject;
    return isObject(value) ? value : "This must be a JSON object, such as {}.";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function JsonField({ label, value, onChange }: Props) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const found = read(text);
  const change = (next: string): void => {
    setText(next);
    const now = read(next);
    onChange(typeof now === "string" ? null : now);
  };
  return (
    <div className="json-field">
      <div className="editor">
        <Suspense fallback={<pre className="editor-wait">{text}</pre>}>
          <Editor text={text} label={label} onChange={change} />
        </Suspense>
      </div>
      <p className="fault" role="status">
        {typeof found === "string" ? found : ""}
      </p>
    </div>
  );
}
