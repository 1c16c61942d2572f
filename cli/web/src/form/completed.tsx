// A form for the arguments of a prompt or the variables of a template, completed by the server.
import { useMemo, useState } from "react";
import type { Commands, JsonObject } from "../generated/protocol";
import { useAnswer, useConnection, useEra } from "../store";
import { asText, textIn } from "../words";
import { Form } from "./form";

const ASK_AFTER_MS = 150;

type Values = Record<string, string>;

/** The values of a form, and what they complete. */
export interface Completing {
  reference: Commands["complete"][0]["ref"];
  values: Values;
}

interface Props extends Completing {
  args: JsonObject[];
  onChange: (values: Values) => void;
}

export function CompletedFields({ reference, args, values, onChange }: Props) {
  const text = JSON.stringify(args);
  const schema = useMemo(() => {
    const all = JSON.parse(text) as JsonObject[];
    const properties = all.map(({ name, title, description }) => [
      name,
      { type: "string", ...(title && { title }), ...(description && { description }) },
    ]);
    const required = all.filter((one) => one.required === true).map((one) => textIn(one, "name"));
    return { type: "object", properties: Object.fromEntries(properties) as JsonObject, required };
  }, [text]);
  return <Form schema={schema} value={values} onChange={(next) => onChange(next as Values)} completing={{ reference, values }} />;
}

/** The values that the server offers for a field, from the time when the person has come to it. */
export function useOffered(completing: Completing | null, name: string): { values: string[]; hint: string; ask: () => void } {
  const era = useEra();
  const offers = useConnection()?.capabilities?.completions !== undefined;
  const [asked, setAsked] = useState(false);
  const { [name]: value = "", ...context } = completing?.values ?? {};
  const question = completing && asked && offers ? { era, ref: completing.reference, argument: { name, value }, context } : null;
  const { values, total, hasMore } = useAnswer("complete", question, ASK_AFTER_MS).answer ?? { values: [], total: null, hasMore: false };
  const hint = values.length === 0 ? "" : `${asText(total ?? values.length)}${hasMore ? " or more" : ""} offered`;
  return { values, hint, ask: () => setAsked(true) };
}
