import { Value } from "@sinclair/typebox/value";
import type { SchemaOf } from "../../../plugin-sdk/schema.ts";
import { absent } from "../errors/write-fault.ts";
import { readFile } from "../platform/files/files.ts";

/** The content of a file as JSON. A file that was not written in one piece, or by another version, says nothing. */
export async function readRecord<T>(path: string, schema: SchemaOf<T>): Promise<T | null> {
  const text = await readFile(path, "utf8").catch(absent);
  try {
    const value: unknown = text === null ? null : JSON.parse(text);
    return Value.Check(schema, value) ? value : null;
  } catch {
    return null;
  }
}
