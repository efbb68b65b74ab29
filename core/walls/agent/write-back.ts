import { fieldsOf, parseJson } from "../../../plugin-sdk/json-fields.ts";
import { readPlainText, readRealFile } from "../../ground/platform/files/read-plain-file.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { lstat, realpath } from "../../ground/platform/files/files.ts";

/** A copied file of which some fields go back to the real one. */
export interface WriteBack {
  copy: string;
  /** Real path. */
  real: string;
  /** Text of the copy when it was made. */
  before: string;
  fields: readonly string[];
}

/** Bytes of such a file, and of one field that is written back. */
const maxBytes = 1_000_000;
const maxFieldBytes = 16_384;

/** Writes the login of an agent back: fields that it changed and the person did not. Never throws. */
export async function writeBack({ copy, real, before, fields }: WriteBack): Promise<void> {
  const [left, now] = await Promise.all([
    readPlainText(copy, maxBytes),
    readRealFile(real, maxBytes),
  ]);
  const [own, then, current] = [left ?? "", before, new TextDecoder().decode(now?.bytes)].map((text) => {
    return fieldsOf(parseJson(text)) as Record<string, unknown> | null;
  });
  if (!own || !then || !current) return;
  const changed = fields.filter((field) =>
    same(then[field], current[field]) && !same(then[field], own[field]) && isPlainLogin(own[field])
  );
  if (changed.length === 0) return;
  for (const field of changed) current[field] = own[field];
  // The path is real; a link that was made there meanwhile would lead the file elsewhere.
  if (await realpath(real).catch(() => null) !== real) return;
  const mode = await lstat(real).then((info) => info.mode & 0o777, () => 0o600);
  await replaceFile(real, JSON.stringify(current, null, 2), mode).catch(() => {});
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A text, or names with plain values: a login holds no lists, and nothing that could be run. */
function isPlainLogin(value: unknown): boolean {
  const isPlain = (part: unknown) => part === null || ["string", "number", "boolean"].includes(typeof part);
  if (JSON.stringify(value)?.length > maxFieldBytes) return false;
  if (isPlain(value)) return true;
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isPlain);
}
