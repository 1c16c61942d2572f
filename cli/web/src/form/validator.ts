// The validator of forms. Unlike ajv, json-schema-library compiles no code, which the CSP forbids.
import { toErrorList, toErrorSchema, type RJSFSchema, type RJSFValidationError, type ValidatorType } from "@rjsf/utils";
import { compileSchema, draft07, draft2019, draft2020, type SchemaNode } from "json-schema-library";
import { brief } from "../words";

const drafts = [draft07, draft2019, draft2020];
const compiled = new WeakMap<object, WeakMap<object, SchemaNode>>();

/** A part of a schema with the definitions of the whole. */
function nodeOf(schema: RJSFSchema, root: RJSFSchema): SchemaNode {
  const known = compiled.get(root) ?? new WeakMap<object, SchemaNode>();
  compiled.set(root, known);
  const found = known.get(schema);
  if (found) return found;
  const whole = schema === root ? schema : { ...definitionsOf(root), ...schema };
  const node = compileSchema(whole, { drafts, draft: "draft-2020-12" });
  known.set(schema, node);
  return node;
}

function definitionsOf({ $schema, $id, $defs, definitions, properties }: RJSFSchema): RJSFSchema {
  const all = { $schema, $id, $defs, definitions, properties };
  // References such as `#/properties/a` reach into the whole schema.
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** An empty required field has its star: an error would move the button that is being clicked. */
const WAITED_FOR = "required-property-error";

function errorsOf(schema: RJSFSchema, data: unknown): RJSFValidationError[] {
  const { errors } = nodeOf(schema, schema).validate(data);
  return errors
    .filter(({ code }) => code !== WAITED_FOR)
    .map(({ data: { pointer }, message }) => {
      const said = brief(message.replace(/ in `#[^`]*`/, ""));
      return { name: "schema", message: said, property: pointer.replace(/^#/, "").replaceAll("/", "."), stack: said, params: {} };
    });
}

export const validator: ValidatorType = {
  validateFormData(data, schema) {
    const errors = errorsOf(schema, data ?? {});
    const errorSchema = toErrorSchema(errors);
    return { errors: toErrorList(errorSchema), errorSchema };
  },
  isValid(schema, data, root) {
    try {
      return nodeOf(schema, root).validate(data).valid;
    } catch {
      return false;
    }
  },
  rawValidation(schema, data) {
    return { errors: errorsOf(schema, data) as never[] };
  },
};
