import { tried } from "../kept-entries.ts";
import { fieldsOrNone, listOf, parseJson, stringOf } from "../../../../../plugin-sdk/json-fields.ts";
import type { PageKey } from "../api.ts";

const keyName = "bulkhead-key";
const wantedName = "bulkhead-wanted";
/** Time in which the next key opens a place that was asked for without one. Milliseconds. */
const wantedMs = 15 * 60_000;
const longestPlace = 2048;

/**
 * Returns the key of this tab, which outlives a reload and ends with the tab; null where there is none.
 * The storage is of one tab and one port. A cookie would go to every port of this machine's name.
 */
export function keptKey(): PageKey | null {
  return readKey(parseJson(tried(() => sessionStorage.getItem(keyName)) ?? ""));
}

/** Keeps a key for this tab. */
export function keepKey(key: PageKey): void {
  tried(() => sessionStorage.setItem(keyName, JSON.stringify(key)));
}

/** Forgets the key of this tab. */
export function dropKey(): void {
  tried(() => sessionStorage.removeItem(keyName));
}

/** Whether the time of a key has passed. */
export function isOver({ expires_at }: Pick<PageKey, "expires_at">): boolean {
  return Date.parse(expires_at) <= Date.now();
}

/** Says that a key is over, and when it ended. */
export function overText({ expires_at }: Pick<PageKey, "expires_at">): string {
  return `The key of this tab ended at ${new Date(expires_at).toLocaleString()}: a key lasts 12 hours.`;
}

/** Checks a key that a storage or another tab gave; null for anything else. */
export function readKey(value: unknown): PageKey | null {
  const fields = fieldsOrNone(value);
  const [token, id, expires_at] = [fields["token"], fields["id"], fields["expires_at"]].map(stringOf);
  const scopes = listOf(fields["scopes"]).map(stringOf).filter((one) => one !== null);
  return token && id && expires_at && /^[\w-]{1,256}$/.test(token) ? { token, id, scopes, expires_at } : null;
}

/** Keeps a place that was asked for without a key, for the tab that gets the next one. */
export function wantPlace(hash: string): void {
  if (!hash.startsWith("#/") || hash.length > longestPlace) return;
  tried(() => localStorage.setItem(wantedName, JSON.stringify({ hash, at: Date.now() })));
}

/** Takes the place that was asked for last; null where that is long ago. */
export function takeWantedPlace(): string | null {
  const { hash, at } = fieldsOrNone(parseJson(tried(() => localStorage.getItem(wantedName)) ?? ""));
  tried(() => localStorage.removeItem(wantedName));
  const isRecent = typeof at === "number" && Math.abs(Date.now() - at) < wantedMs;
  return isRecent && typeof hash === "string" && hash.startsWith("#/") ? hash : null;
}
