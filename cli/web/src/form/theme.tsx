// The look of forms: one column, labels above fields, native controls.
import {
  ADDITIONAL_PROPERTY_FLAG,
  ariaDescribedByIds,
  buttonId,
  canExpand,
  descriptionId,
  errorId,
  getInputProps,
  titleId,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type BaseInputTemplateProps,
  type DescriptionFieldProps,
  type FieldErrorProps,
  type FieldTemplateProps,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type TemplatesType,
  type TitleFieldProps,
  type UnsupportedFieldProps,
  type WidgetProps,
  type WrapIfAdditionalTemplateProps,
} from "@rjsf/utils";
import SelectWidget from "@rjsf/core/lib/components/widgets/SelectWidget.js";
import { ChevronDown, ChevronUp, Copy, Plus, X, type LucideIcon } from "lucide-react";
import type { ChangeEvent, MouseEvent, ReactNode } from "react";
import { flushSync } from "react-dom";
import { Button, IconButton } from "../parts/controls";
import { brief, printable } from "../words";

/** A long description scrolls, and the keyboard must reach it. */
const SCROLLS_FROM = 300;

const isUnion = (schema: { anyOf?: unknown; oneOf?: unknown; enum?: unknown }): boolean =>
  (schema.anyOf !== undefined || schema.oneOf !== undefined) && schema.enum === undefined;

const isStructure = (schema: { type?: unknown }): boolean => schema.type === "object" || schema.type === "array";

function Field(props: FieldTemplateProps) {
  const { id, label, children, errors, description, hidden, required, displayLabel, schema, registry } = props;
  // The library leaves the label of a checkbox to the checkbox, and that of a union to its variant.
  const isLabelled = [displayLabel, schema.type === "boolean", isUnion(schema) && !isStructure(schema)].includes(true);
  if (hidden) return <div hidden>{children}</div>;
  const { WrapIfAdditionalTemplate: Wrap } = registry.templates;
  return (
    <Wrap {...props}>
      {isLabelled && <Label id={id} text={label} required={required === true} type={typeName(schema)} />}
      {isLabelled && description}
      {children}
      {!isStructure(schema) && errors}
    </Wrap>
  );
}

function Label({ id, text, required, type }: { id: string; text: string; required: boolean; type: string }) {
  return (
    <label className="field-label" htmlFor={id}>
      <span className="name">{brief(text)}</span>
      {required && (
        <span className="star" title="required">
          *
        </span>
      )}
      <span className="type">{type}</span>
    </label>
  );
}

function typeName(schema: FieldTemplateProps["schema"]): string {
  if (schema.const !== undefined) return "constant";
  if (schema.enum || (schema.oneOf?.every((one) => typeof one === "object" && "const" in one) ?? false)) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? "");
  return schema.format === undefined ? type : `${type}, ${schema.format}`;
}

interface LegendProps {
  id: string;
  title: string;
  required?: boolean | undefined;
  control?: ReactNode;
}

function Legend({ id, title, required, control }: LegendProps) {
  return (
    <legend id={id} className="field-label">
      <span className="name">{brief(title)}</span>
      {required === true && <span className="star">*</span>}
      {control}
    </legend>
  );
}

const Title = ({ optionalDataControl, ...props }: TitleFieldProps): ReactNode => <Legend {...props} control={optionalDataControl} />;

function Description({ id, description }: Pick<DescriptionFieldProps, "id" | "description">) {
  if (!description) return null;
  return (
    <p id={id} className="field-description" tabIndex={typeof description === "string" && description.length > SCROLLS_FROM ? 0 : undefined}>
      {typeof description === "string" ? brief(description, 10_000) : description}
    </p>
  );
}

function Errors({ errors = [], fieldPathId }: FieldErrorProps) {
  if (errors.length === 0) return null;
  return (
    <ul id={errorId(fieldPathId)} className="field-errors">
      {errors.map((error, at) => (
        <li key={at}>{typeof error === "string" ? brief(error) : error}</li>
      ))}
    </ul>
  );
}

function ObjectFields(props: ObjectFieldTemplateProps) {
  const { title, description, properties, fieldPathId, schema, uiSchema, required, optionalDataControl } = props;
  const content = (
    <>
      {properties.map(({ content: one }) => one)}
      {canExpand(schema, uiSchema, props.formData as object | undefined) && (
        <Adding id={buttonId(fieldPathId, "add")} text="Add a member" disabled={props.disabled} onAdd={props.onAddProperty} />
      )}
    </>
  );
  if (fieldPathId.path.length === 0) return <div className="fields">{content}</div>;
  if (properties.length === 0 && isUnion(schema) && !schema.properties) return null;
  return (
    <fieldset className="fields nested" id={fieldPathId.$id}>
      {title && <Legend id={titleId(fieldPathId)} title={title} required={required} control={optionalDataControl} />}
      <Description id={descriptionId(fieldPathId)} description={description ?? ""} />
      {content}
    </fieldset>
  );
}

function Items({ title, schema, fieldPathId, items, canAdd, onAddClick, required, optionalDataControl, disabled }: ArrayFieldTemplateProps) {
  return (
    <fieldset className="fields nested" id={fieldPathId.$id}>
      <Legend id={titleId(fieldPathId)} title={title} required={required} control={optionalDataControl} />
      <Description id={descriptionId(fieldPathId)} description={schema.description ?? ""} />
      {items}
      {canAdd && <Adding id={buttonId(fieldPathId, "add")} text="Add an item" disabled={disabled} onAdd={onAddClick} />}
    </fieldset>
  );
}

interface AddingProps {
  id: string;
  text: string;
  disabled?: boolean | undefined;
  onAdd: (event: MouseEvent) => void;
}

/** Adds a field, and goes to it. */
function Adding({ id, text, disabled, onAdd }: AddingProps) {
  const add = (event: MouseEvent<HTMLButtonElement>): void => {
    // At once, so that no key that follows goes elsewhere.
    flushSync(() => onAdd(event));
    event.currentTarget.previousElementSibling?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  };
  return <Button id={id} icon={Plus} kind="quiet" onClick={add} disabled={disabled} text={text} />;
}

function Item({ children, buttonsProps, hasToolbar, registry }: ArrayFieldItemTemplateProps) {
  const { ArrayFieldItemButtonsTemplate: Buttons } = registry.templates;
  return (
    <div className="item">
      <div className="item-content">{children}</div>
      {hasToolbar && (
        <div className="item-buttons">
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

function Member(props: WrapIfAdditionalTemplateProps) {
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

function Variants({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="fields variants">
      <label className="field">
        <span className="hidden">Variant</span>
        {selector}
      </label>
      {optionSchemaField}
    </div>
  );
}

/** Text grows with its lines; other values have the browser's field. */
function Input(props: BaseInputTemplateProps) {
  const { id, disabled, readonly, onChange, onBlur, onFocus, options, schema, type, placeholder, required } = props;
  const value: unknown = props.value;
  const { type: found, step, min, max } = getInputProps(schema, type as string | undefined, options);
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const shared = {
    id,
    name: id,
    value: text,
    placeholder,
    disabled: disabled === true || readonly === true,
    "aria-required": required === true,
    "aria-describedby": ariaDescribedByIds(id),
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(target.value === "" ? options.emptyValue : target.value),
    onBlur: () => onBlur(id, value),
    onFocus: () => onFocus(id, value),
  };
  const isPlain = found === "text" && schema.format === undefined;
  return (
    <div>
      {isPlain ? <textarea rows={1} spellCheck={false} {...shared} /> : <input type={found} step={step} min={min} max={max} {...shared} />}
      {printable(text) !== text && <p className="field-errors">Hidden characters: {brief(printable(text))}</p>}
    </div>
  );
}

/** A checkbox cannot say that a value is left out. */
function YesNo({ id, disabled, readonly, onChange, schema, required, ...rest }: WidgetProps) {
  const value: unknown = rest.value;
  const isOff = disabled === true || readonly === true;
  if (typeof schema.default === "boolean") {
    return (
      <span className="check">
        <input id={id} type="checkbox" checked={value === true} disabled={isOff} onChange={({ target }) => onChange(target.checked)} />
        {value === true ? "true" : "false"}
      </span>
    );
  }
  return (
    <select
      id={id}
      value={typeof value === "boolean" ? String(value) : ""}
      disabled={isOff}
      aria-required={required === true}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={({ target }) => onChange(target.value === "" ? undefined : target.value === "true")}>
      <option value="" />
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  );
}

function Unsupported({ reason }: UnsupportedFieldProps) {
  return <p className="field-errors">The form has no field for this ({brief(reason)}). JSON takes any value.</p>;
}

const iconButton = (icon: LucideIcon, label: string) =>
  function FormButton({ id, onClick, disabled }: IconButtonProps): ReactNode {
    return <IconButton id={id} icon={icon} label={label} onClick={onClick} disabled={disabled === true} />;
  };

function Recursion({ name, onExpand, fieldPathId }: { name: string; onExpand: (id: string) => void; fieldPathId: { $id: string } }) {
  return <Button icon={Plus} kind="quiet" onClick={() => onExpand(fieldPathId.$id)} text={`Add ${brief(name)}`} />;
}

export const templates: Partial<TemplatesType> = {
  FieldTemplate: Field,
  TitleFieldTemplate: Title,
  DescriptionFieldTemplate: Description,
  FieldErrorTemplate: Errors,
  ObjectFieldTemplate: ObjectFields,
  ArrayFieldTemplate: Items,
  ArrayFieldItemTemplate: Item,
  WrapIfAdditionalTemplate: Member,
  MultiSchemaFieldTemplate: Variants,
  BaseInputTemplate: Input,
  UnsupportedFieldTemplate: Unsupported,
  CyclicSchemaExpandTemplate: Recursion,
  ButtonTemplates: {
    AddButton: iconButton(Plus, "Add"),
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
