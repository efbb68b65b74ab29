import { BulkheadError, type ErrorCode } from "../../../plugin-sdk/errors.ts";
import type { ConfigSchema, OptionSchema } from "../../../plugin-sdk/manifest.ts";
import { isShallow } from "../../ground/checks/depth.ts";
import type { SchemaFault } from "../../ground/checks/schema-faults.ts";
import { scalarOf } from "../../ground/config/environment-references.ts";
import { isSecretName } from "../../ground/config/hidden-values.ts";
import { describeFound, didYouMean } from "../../ground/config/yaml-problems.ts";

/** One thing wrong with a plugin's options. `option` is empty for the whole. */
export interface OptionFault {
  option: string;
  of: "value" | "key";
  expected: string;
  found: string;
  hint?: string | undefined;
}

/** Options of {@link checkPluginConfig}. */
interface CheckConfigOptions {
  /** Code of the error; default `invalid_config`. */
  code?: ErrorCode;
  /** Says where a fault is, such as `bulkhead.yaml:7:5 plugins.demo.config.depth`; default: the option's name. */
  where?: (fault: OptionFault) => string;
  /** Whether an option's value is not to be shown; those whose names speak of secrets never are. */
  hides?: (option: string) => boolean;
  /** Whether an option's value is the text of a variable, to be read as the number or boolean that is expected. */
  isText?: (option: string) => boolean;
}

const nothing = "nothing";
/** Most levels of an object. */
const mostLevels = 32;

/**
 * Values for a plugin's own options, checked against its manifest's `config`, with defaults filled in.
 * Without a schema a plugin has no options.
 * @throws {BulkheadError} `code`, listing every fault
 */
export function checkPluginConfig(
  schema: ConfigSchema | undefined,
  given: Readonly<Record<string, unknown>>,
  {
    code = "invalid_config",
    where = ({ option }) => `option ${option}`,
    hides = () => false,
    isText = () => false,
  }: CheckConfigOptions = {},
): Record<string, unknown> {
  const properties = schema?.properties ?? {};
  const values = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, isText(key) ? readAs(properties[key], value) : value]),
  );
  const faults = [
    ...Object.keys(values).filter((key) => !Object.hasOwn(properties, key)).map((key) =>
      unknownOption(key, properties)
    ),
    ...Object.entries(properties).flatMap(([key, option]) => {
      if (Object.hasOwn(values, key)) return optionFault(key, option, values[key]);
      const missing = schema?.required?.includes(key) === true && option.default === undefined;
      return missing ? [{ option: key, of: "value" as const, expected: describeOption(option), found: nothing }] : [];
    }),
  ];
  if (faults.length > 0) {
    const text = faults.map((fault) => {
      const hidden = fault.of === "value" && fault.found !== nothing &&
        (isSecretName(fault.option) || hides(fault.option));
      const found = hidden ? "something else" : fault.found;
      return `${where(fault)}: expected ${fault.expected}, found ${found}${
        fault.hint && !hidden ? `; ${fault.hint}` : ""
      }`;
    });
    throw new BulkheadError(code, text.join("\n"), { details: { options: faults.map(({ option }) => option) } });
  }
  const defaults = Object.entries(properties).flatMap(([key, option]) =>
    option.default === undefined ? [] : [[key, option.default] as const]
  );
  return structuredClone({ ...Object.fromEntries(defaults), ...values });
}

function readAs(option: OptionSchema | undefined, value: unknown): unknown {
  const read = typeof value === "string" && option?.type !== "string" ? scalarOf(value) : null;
  return read ?? value;
}

/** Finds faults of the schema itself, by option and key: bounds that nothing meets, a default that does not fit. */
export function configSchemaFaults(schema: ConfigSchema): SchemaFault[] {
  const options = Object.entries(schema.properties).flatMap(([name, option]) =>
    schemaFaults(option).map((fault) => ({ ...fault, path: ["config", "properties", name, ...fault.path] }))
  );
  const unknown = (schema.required ?? []).flatMap((name, index) =>
    Object.hasOwn(schema.properties, name) ? [] : [{
      path: ["config", "required", index],
      expected: "the name of a declared option",
      found: describeFound(name),
    }]
  );
  return [...options, ...unknown];
}

function schemaFaults(option: OptionSchema): SchemaFault[] {
  const { type, minimum, maximum, min_length, max_length } = option;
  const numeric = type === "number" || type === "integer";
  const faults: SchemaFault[] = [];
  for (const key of ["minimum", "maximum"] as const) {
    if (option[key] !== undefined && !numeric) faults.push(misplaced(key, type));
  }
  for (const key of ["min_length", "max_length"] as const) {
    if (option[key] !== undefined && (numeric || type === "boolean" || type === "object")) {
      faults.push(misplaced(key, type));
    }
  }
  if (option.items && type !== "array") faults.push(misplaced("items", type));
  for (const key of ["properties", "required"] as const) {
    if (option[key] && type !== "object") faults.push(misplaced(key, type));
  }
  if (option.enum && (type === "boolean" || type === "array" || type === "object")) {
    faults.push(misplaced("enum", type));
  }
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    faults.push({ path: ["maximum"], expected: `at least the minimum ${minimum}`, found: String(maximum) });
  }
  if (min_length !== undefined && max_length !== undefined && min_length > max_length) {
    faults.push({ path: ["max_length"], expected: `at least the min_length ${min_length}`, found: String(max_length) });
  }
  for (const [key, field] of Object.entries(option.properties ?? {})) {
    faults.push(...schemaFaults(field).map((fault) => ({ ...fault, path: ["properties", key, ...fault.path] })));
  }
  if (option.items) faults.push(...schemaFaults(option.items).map((one) => ({ ...one, path: ["items", ...one.path] })));
  for (const [index, name] of (option.required ?? []).entries()) {
    if (option.properties === undefined || Object.hasOwn(option.properties, name)) continue;
    faults.push({ path: ["required", index], expected: "the name of a declared field", found: describeFound(name) });
  }
  if (faults.length > 0) return faults;
  const { default: fallback, enum: choices, ...plain } = option;
  for (const [index, choice] of (choices ?? []).entries()) {
    if (!fits(plain, choice)) {
      faults.push({ path: ["enum", index], expected: describeOption(plain), found: describeFound(choice) });
    }
  }
  if (fallback !== undefined && !fits(option, fallback)) {
    faults.push({ path: ["default"], expected: describeOption(option), found: describeFound(fallback) });
  }
  return faults;
}

function misplaced(key: string, type: string): SchemaFault {
  return { path: [key], expected: `no "${key}" for an option of type ${type}`, found: `"${key}"` };
}

function unknownOption(option: string, properties: Readonly<Record<string, OptionSchema>>): OptionFault {
  const known = Object.keys(properties);
  const hint = didYouMean(option, known);
  const expected = known.length > 0 ? "a declared option" : "no options";
  return { option, of: "key", expected, found: JSON.stringify(option), hint };
}

function optionFault(name: string, option: OptionSchema, value: unknown): OptionFault[] {
  if (fits(option, value)) return [];
  const hint = typeof value === "string" ? didYouMean(value, (option.enum ?? []).map(String)) : undefined;
  const found = describeFound(value);
  return [{
    option: name,
    of: "value",
    expected: describeOption(option),
    found,
    hint,
  }];
}

function fits(option: OptionSchema, value: unknown): boolean {
  const { type, min_length = 0, max_length = Number.POSITIVE_INFINITY } = option;
  const chosen = option.enum === undefined || option.enum.includes(value as string | number);
  switch (type) {
    case "string":
      return typeof value === "string" && chosen && value.length >= min_length && value.length <= max_length;
    case "array": {
      const item = option.items ?? { type: "string" };
      const all = Array.isArray(value) && value.every((one) => fits(item, one));
      return all && value.length >= min_length && value.length <= max_length;
    }
    case "object":
      return fitsObject(option, value);
    case "boolean":
      return typeof value === "boolean";
    default: {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = option;
      if (typeof value !== "number" || !Number.isFinite(value) || !chosen) return false;
      return (type === "number" || Number.isInteger(value)) && value >= minimum && value <= maximum;
    }
  }
}

function fitsObject({ properties, required = [] }: OptionSchema, value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value) || !isShallow(value, mostLevels)) {
    return false;
  }
  if (!required.every((name) => Object.hasOwn(value, name))) return false;
  return properties === undefined ||
    Object.entries(value).every(([name, one]) => Object.hasOwn(properties, name) && fits(properties[name]!, one));
}

function describeOption(option: OptionSchema): string {
  if (option.enum) return option.enum.map((choice) => JSON.stringify(choice)).join(" or ");
  const kind = kindOf(option);
  const [least, most] = option.type === "string" || option.type === "array"
    ? [option.min_length, option.max_length]
    : [option.minimum, option.maximum];
  const unit = option.type === "string" ? " characters" : option.type === "array" ? " items" : "";
  if (least !== undefined && most !== undefined) return `${kind} of ${least} to ${most}${unit}`;
  if (least !== undefined) return `${kind} of at least ${least}${unit}`;
  return most === undefined ? kind : `${kind} of at most ${most}${unit}`;
}

function kindOf({ type, items, properties = {}, required = [] }: OptionSchema): string {
  if (type === "array") return items ? `a list, of each ${describeOption(items)}` : "a list of strings";
  if (type !== "object") return type;
  const fields = Object.entries(properties).map(([name, field]) =>
    `${name}${required.includes(name) ? "" : "?"}: ${describeOption(field)}`
  );
  return fields.length === 0 ? "an object" : `an object with ${fields.join(", ")}`;
}
