import { Value } from "@sinclair/typebox/value";
import { parseJson } from "../../../plugin-sdk/json-fields.ts";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import { absent } from "../errors/write-fault.ts";
import { readFile } from "../platform/files/files.ts";

/** The content of a file as JSON. A file that was not written in one piece, or by another version, says nothing. */
export async function readRecord<T>(path: string, schema: SchemaOf<T>): Promise<T | null> {
  return parseRecord(await readFile(path, "utf8").catch(absent) ?? "", schema);
}

/** Parses a JSON text; null for anything that does not fit. */
export function parseRecord<T>(text: string, schema: SchemaOf<T>): T | null {
  const value = parseJson(text);
  return Value.Check(schema, value) ? value : null;
}
