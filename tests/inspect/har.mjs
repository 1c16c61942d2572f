// Judges a HAR file by the schema of HAR 1.2.
import { createRequire } from "node:module";
import Ajv from "ajv";

const require = createRequire(import.meta.url);

/** The faults of a file; none if it is valid. */
export function faultsOfHar(text) {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-06.json"));
  for (const schema of Object.values(require("har-schema"))) ajv.addSchema(schema);
  const isValid = ajv.validate("har.json#", JSON.parse(text));
  return isValid ? [] : ajv.errors.map(({ instancePath, message }) => `HAR: ${instancePath} ${message}`);
}
