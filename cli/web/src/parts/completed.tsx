// Fields for the arguments of a prompt or the variables of a template, completed by the server.
import { useEffect, useId, useState } from "react";
import { command } from "../program";
import type { Commands } from "../protocol";
import { useConnection, useEra } from "../store";
import { brief } from "../words";
import { Prose } from "./controls";

const ASK_AFTER_MS = 150;

type Reference = Commands["complete"][0]["ref"];

interface Argument {
  name: string;
  description: string | null;
  required: boolean;
}

interface Props {
  reference: Reference;
  args: Argument[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}

export function CompletedFields({ reference, args, values, onChange }: Props) {
  return (
    <div className="fields">
      {args.map((argument) => (
        <Field
          key={argument.name}
          reference={reference}
          argument={argument}
          values={values}
          onChange={(value) => {
            const { [argument.name]: _old, ...rest } = values;
            onChange(value === "" ? rest : { ...values, [argument.name]: value });
          }}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  reference: Reference;
  argument: Argument;
  values: Record<string, string>;
  onChange: (value: string) => void;
}

function Field({ reference, argument: { name, description, required }, values, onChange }: FieldProps) {
  const id = useId();
  const [asked, setAsked] = useState(false);
  const value = values[name] ?? "";
  const found = useCompletion(reference, name, values, asked);
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        <span className="name">{brief(name)}</span>
        {required && <span className="star">*</span>}
        {found.values.length > 0 && (
          <span className="type">
            {found.total ?? found.values.length}
            {found.hasMore ? " or more" : ""} offered
          </span>
        )}
      </label>
      {description !== null && <Prose text={description} className="field-description" />}
      <input
        id={id}
        value={value}
        list={`${id}-offered`}
        aria-required={required}
        autoComplete="off"
        spellCheck={false}
        onFocus={() => setAsked(true)}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={`${id}-offered`}>
        {found.values.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  );
}

const NONE: Commands["complete"][1] = { values: [], total: null, hasMore: false };

function useCompletion(reference: Reference, name: string, values: Record<string, string>, asked: boolean): Commands["complete"][1] {
  const era = useEra();
  const offers = useConnection()?.capabilities?.completions !== undefined;
  const [found, setFound] = useState(NONE);
  const { [name]: value = "", ...others } = values;
  const question = JSON.stringify({ ref: reference, argument: { name, value }, context: others });
  useEffect(() => {
    if (!asked || !offers) return;
    let current = true;
    const timer = setTimeout(() => {
      command("complete", { era, ...(JSON.parse(question) as Omit<Commands["complete"][0], "era">) }).then(
        (next) => current && setFound(next),
        // A server without completions for this argument: the field works without.
        () => current && setFound(NONE),
      );
    }, ASK_AFTER_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [era, offers, asked, question]);
  return found;
}
