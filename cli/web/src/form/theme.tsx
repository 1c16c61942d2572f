// The look of forms: one column, labels above fields, native controls.
import { ADDITIONAL_PROPERTY_FLAG, ariaDescribedByIds, getInputProps, type IconButtonProps, type TemplatesType, type WidgetProps } from "@rjsf/utils";
import SelectWidget from "@rjsf/core/lib/components/widgets/SelectWidget.js";
import { ChevronDown, ChevronUp, Copy, Plus, X, type LucideIcon } from "lucide-react";
import type { ChangeEvent, ComponentType, MouseEvent, ReactNode } from "react";
import { flushSync } from "react-dom";
import { Button, IconButton, Prose } from "../parts";
import { brief, printable } from "../words";
import { useOffered, type Completing } from "./completed";

type Props<Name extends keyof TemplatesType> = TemplatesType[Name] extends ComponentType<infer Found> ? Found : never;

const isUnion = (schema: { anyOf?: unknown; oneOf?: unknown; enum?: unknown }): boolean =>
  (schema.anyOf !== undefined || schema.oneOf !== undefined) && schema.enum === undefined;

const isStructure = (schema: { type?: unknown }): boolean => schema.type === "object" || schema.type === "array";

function Field(props: Props<"FieldTemplate">) {
  const { id, label, children, errors, description, hidden, required, displayLabel, schema, registry } = props;
  // The library leaves the label of a checkbox to the checkbox, and that of a union to its variant.
  const isLabelled = [displayLabel, schema.type === "boolean", isUnion(schema) && !isStructure(schema)].includes(true);
  if (hidden) return <div hidden>{children}</div>;
  const { WrapIfAdditionalTemplate: Wrap } = registry.templates;
  return (
    <Wrap {...props}>
      {isLabelled && (
        <label className="field-label" htmlFor={id}>
          <Name text={label} required={required}><span className="type">{typeName(schema)}</span></Name>
        </label>
      )}
      {isLabelled && description}
      {children}
      {!isStructure(schema) && errors}
    </Wrap>
  );
}

const Name = ({ text, required, children }: { text: string; required?: boolean | undefined; children?: ReactNode }) => (
  <>
    <span className="name">{brief(text)}</span>
    {required === true && <span className="star" title="required" children="*" />}
    {children}
  </>
);

function typeName(schema: Props<"FieldTemplate">["schema"]): string {
  if (schema.const !== undefined) return "constant";
  if (schema.enum || (schema.oneOf?.every((one) => typeof one === "object" && "const" in one) ?? false)) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? "");
  return schema.format === undefined ? type : `${type}, ${schema.format}`;
}

const Title = ({ id, title, required, optionalDataControl }: Props<"TitleFieldTemplate">) => (
  <legend id={id} className="field-label"><Name text={title} required={required} children={optionalDataControl} /></legend>
);

const Description = ({ id, description }: Props<"DescriptionFieldTemplate">) =>
  typeof description === "string" && description !== "" && <Prose id={id} text={description} className="field-description" />;

/** Adds a field, and goes to it. */
function Add({ id, className, disabled, onClick }: IconButtonProps) {
  const add = (event: MouseEvent<HTMLButtonElement>): void => {
    // At once, so that no key that follows goes elsewhere.
    flushSync(() => onClick?.(event));
    const before = event.currentTarget.previousElementSibling;
    const added = before?.matches(".array-item-list") === true ? before.lastElementChild : before;
    added?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  };
  const text = className?.includes("array") === true ? "Add an item" : "Add a member";
  return <Button id={id} icon={Plus} kind="quiet" onClick={add} disabled={disabled} text={text} />;
}

function Member(props: Props<"WrapIfAdditionalTemplate">) {
  const { id, schema, children, label, onKeyRenameBlur, onRemoveProperty, disabled } = props;
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return <div className="field">{children}</div>;
  return (
    <div className="field member">
      <input
        id={`${id}-key`}
        aria-label="Name of the member"
        defaultValue={label}
        onFocus={({ target }) => target.select()}
        onBlur={onKeyRenameBlur}
        disabled={disabled}
      />
      <div className="item-content">{children}</div>
      <IconButton icon={X} label={`Remove ${brief(label)}`} onClick={onRemoveProperty} />
    </div>
  );
}

function Variants({ selector, optionSchemaField }: Props<"MultiSchemaFieldTemplate">) {
  return (
    <div className="variants">
      <label className="field">
        <span className="hidden">Variant</span>
        {selector}
      </label>
      {optionSchemaField}
    </div>
  );
}

/** Text grows with its lines; other values have the browser's field. */
function Input(props: Props<"BaseInputTemplate">) {
  const { id, name, disabled, readonly, onChange, onBlur, onFocus, options, schema, type, placeholder, required, registry } = props;
  const value: unknown = props.value;
  const { type: found, step, min, max } = getInputProps(schema, type as string | undefined, options);
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const { completing } = registry.formContext as { completing: Completing | null };
  const offered = useOffered(completing, name);
  const shared = {
    id,
    name: id,
    value: text,
    placeholder: offered.hint || placeholder,
    disabled: disabled === true || readonly === true,
    "aria-required": required === true,
    "aria-describedby": ariaDescribedByIds(id),
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(target.value === "" ? options.emptyValue : target.value),
    onBlur: () => onBlur(id, value),
    onFocus: () => {
      offered.ask();
      onFocus(id, value);
    },
  };
  const isPlain = found === "text" && schema.format === undefined && completing === null;
  return (
    <div>
      {isPlain ? (
        <textarea rows={1} spellCheck={false} {...shared} />
      ) : (
        <input type={found} step={step} min={min} max={max} list={`${id}-offered`} {...shared} />
      )}
      {completing && <datalist id={`${id}-offered`} children={offered.values.map((one) => <option key={one} value={one} />)} />}
      {typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && <p className="field-errors">Too large for a form: JSON keeps all digits.</p>}
      {printable(text) !== text && <p className="field-errors">Hidden characters: {brief(printable(text))}</p>}
    </div>
  );
}

/** A checkbox cannot say that a value is left out. */
function YesNo(props: WidgetProps) {
  const { id, disabled, onChange, schema } = props;
  const value: unknown = props.value;
  if (typeof schema.default === "boolean") {
    return (
      <span className="check">
        <input id={id} type="checkbox" checked={value === true} disabled={disabled} onChange={({ target }) => onChange(target.checked)} />
        {value === true ? "true" : "false"}
      </span>
    );
  }
  const enumOptions = (schema.enum ?? [true, false]).map((one) => ({ value: one, label: JSON.stringify(one) }));
  return <SelectWidget {...props} options={{ ...props.options, enumOptions }} />;
}

function Unsupported({ reason }: Props<"UnsupportedFieldTemplate">) {
  return <p className="field-errors">The form has no field for this ({brief(reason)}). JSON takes any value.</p>;
}

const iconButton = (icon: LucideIcon, label: string) =>
  function FormButton({ id, onClick, disabled }: IconButtonProps): ReactNode {
    return <IconButton id={id} icon={icon} label={label} onClick={onClick} disabled={disabled === true} />;
  };

function Recursion({ name, onExpand, fieldPathId }: Props<"CyclicSchemaExpandTemplate">) {
  return <Button icon={Plus} kind="quiet" onClick={() => onExpand(fieldPathId.$id)} text={`Add ${brief(name)}`} />;
}

export const templates: Partial<TemplatesType> = {
  FieldTemplate: Field,
  TitleFieldTemplate: Title,
  DescriptionFieldTemplate: Description,
  WrapIfAdditionalTemplate: Member,
  MultiSchemaFieldTemplate: Variants,
  BaseInputTemplate: Input,
  UnsupportedFieldTemplate: Unsupported,
  CyclicSchemaExpandTemplate: Recursion,
  ButtonTemplates: {
    AddButton: Add,
    CopyButton: iconButton(Copy, "Copy this item"),
    MoveUpButton: iconButton(ChevronUp, "Move this item up"),
    MoveDownButton: iconButton(ChevronDown, "Move this item down"),
    RemoveButton: iconButton(X, "Remove this item"),
    ClearButton: iconButton(X, "Clear"),
    SubmitButton: () => null,
  },
};

/** A text field: the browser's date and time fields would reformat what is typed. */
function Time(props: WidgetProps) {
  const { BaseInputTemplate } = props.registry.templates;
  return <BaseInputTemplate {...props} type="text" placeholder={EXAMPLES[props.schema.format ?? ""] ?? ""} />;
}

const EXAMPLES: Partial<Record<string, string>> = { "date-time": "2026-07-28T12:00:00Z", date: "2026-07-28", time: "12:00:00Z" };

/** Several of a few values are checked, as a list in which Space chooses hides how. */
function Choice(props: WidgetProps) {
  const { schema, registry, multiple } = props;
  const { CheckboxesWidget: Several } = registry.widgets;
  const names = ((multiple === true ? schema.items : schema) as { enumNames?: string[] }).enumNames ?? [];
  const enumOptions = props.options.enumOptions?.map((option, at) => ({ ...option, label: brief(names[at] ?? option.label) })) ?? [];
  const shown = { ...props, options: { ...props.options, enumOptions } };
  return multiple === true && Several ? <Several {...shown} /> : <SelectWidget {...shown} />;
}

export const widgets = { CheckboxWidget: YesNo, SelectWidget: Choice, DateTimeWidget: Time, DateWidget: Time, TimeWidget: Time };
