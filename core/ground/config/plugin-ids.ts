import { idPattern } from "../../../plugin-sdk/manifest.ts";

/** Names that mean something else where a plugin's id may stand. */
export const reservedIds: readonly string[] = [
  "all",
  "any",
  "auto",
  "bulkhead",
  "constructor",
  "default",
  "host",
  "none",
  "prototype",
];

/** Characters of the longest id. */
export const maxIdLength = 64;

/** Form of an id. */
export const idForm: RegExp = new RegExp(idPattern);

/** Whether a text can be the id of a plugin. */
export function isPluginId(text: string): boolean {
  return idForm.test(text) && text.length <= maxIdLength && !reservedIds.includes(text);
}
