// A form for a JSON Schema.
import withTheme from "@rjsf/core/lib/withTheme.js";
import { TranslatableString, englishStringTranslator, type UiSchema } from "@rjsf/utils";
import { Component, useId, useMemo, useRef, useState, type ReactNode } from "react";
import type { JsonObject } from "../generated/protocol";
import { computable, isObject } from "../words";
import type { Completing } from "./completed";
import { behavior, filled, forForm } from "./schema";
import { templates, widgets } from "./theme";
import { validator } from "./validator";

const Themed = withTheme({ templates, widgets });

const ui: UiSchema = { "ui:submitButtonOptions": { norender: true } };

interface Props {
  schema: JsonObject;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  disabled?: boolean;
  completing?: Completing | null;
}

export function Form({ schema, disabled = false, completing = null, ...rest }: Props) {
  const id = useId();
  const shown = useMemo(() => forForm(computable(schema)), [schema]);
  const isOpen = ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"].some((key) => key in shown);
  const named = isObject(shown.properties) && Object.keys(shown.properties).length > 0;
  if (!isOpen && !named && !isObject(shown.additionalProperties)) {
    return <p className="note">Takes no arguments.</p>;
  }
  return (
    <Guard key={JSON.stringify(schema).length}>
      <Inner id={id} schema={shown} disabled={disabled} completing={completing} {...rest} />
    </Guard>
  );
}

function Inner({ id, schema, value, onChange, disabled, completing }: Required<Props> & { id: string }) {
  // The form keeps what it was given, and fields that are not yet filled.
  const [first] = useState(() => computable(value));
  const data = useRef<unknown>(first);
  return (
    <Themed
      tagName="div"
      className="form"
      idPrefix={id}
      schema={schema}
      uiSchema={ui}
      validator={validator}
      formData={data.current}
      formContext={{ completing }}
      disabled={disabled}
      liveValidate="onBlur"
      showErrorList={false}
      noHtml5Validate
      translateString={translate}
      experimental_defaultFormStateBehavior={behavior}
      onChange={({ formData }: { formData?: unknown }) => {
        data.current = formData;
        onChange((filled(formData, schema, schema) ?? {}) as JsonObject);
      }}
    />
  );
}

/** A new member begins empty. */
const translate = (text: TranslatableString, params?: string[]): string =>
  text === TranslatableString.NewStringDefault ? "" : englishStringTranslator(text, params);

/** A schema that the form cannot show is left to the JSON view. */
class Guard extends Component<{ children: ReactNode }, { failed: string | null }> {
  override state: { failed: string | null } = { failed: null };

  static getDerivedStateFromError(error: unknown): { failed: string } {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    if (this.state.failed === null) return this.props.children;
    return <p className="note">The form cannot show this schema ({this.state.failed}). JSON takes any arguments.</p>;
  }
}
