import type { QuotaWindow } from "../../../../plugin-sdk/access-modes.ts";
import type { HttpFields } from "../http-head.ts";

/** Windows of one answer: more are no answer of a provider that is known. */
const mostWindows = 12;

/** Waits that are longer are none that a provider asks for. Milliseconds. */
const longestMs = 31 * 86_400_000;

const anthropic = /^anthropic-ratelimit-(?<name>[a-z0-9][a-z0-9-]{0,40})-(?<part>limit|remaining|reset)$/;
const openai = /^x-ratelimit-(?<part>limit|remaining|reset)(?:-(?<name>[a-z0-9][a-z0-9-]{0,40}))?$/;

/** Reads the limits in the head of an answer, of Anthropic's and OpenAI's kind. */
export function quotaWindows(headers: HttpFields, now: number): QuotaWindow[] {
  const windows = new Map<string, QuotaWindow>();
  for (const [field, value] of headers) {
    const found = anthropic.exec(field.toLowerCase()) ?? openai.exec(field.toLowerCase());
    if (found === null) continue;
    const { name = "requests", part } = found.groups ?? {};
    const key = name.replaceAll("-", "_");
    const window = windows.get(key) ?? { name: key, limit: null, remaining: null, reset_at: null };
    if (windows.size >= mostWindows && !windows.has(key)) continue;
    if (part === "reset") window.reset_at = resetAt(value.trim(), now);
    else if (part === "limit" || part === "remaining") {
      window[part] = /^\d{1,15}$/.test(value.trim()) ? Number(value) : null;
    }
    windows.set(key, window);
  }
  return [...windows.values()].filter(({ remaining, limit }) => remaining !== null || limit !== null);
}

/** Returns the wait in `retry-after-ms` or `retry-after`, in milliseconds; null where there is none that can be. */
export function retryAfter(headers: HttpFields, now: number): number | null {
  const told = (field: string) => headers.find(([name]) => name.toLowerCase() === field)?.[1].trim() ?? "";
  const exact = told("retry-after-ms");
  const ms = number.test(exact) ? Number(exact) : waitIn(told("retry-after"), now);
  return ms >= 0 && ms <= longestMs ? Math.ceil(ms) : null;
}

const number = /^\d{1,15}(?:\.\d+)?$/;

/** A time, seconds or milliseconds since 1970, seconds from now, or a span like `1h2m3.5s` and `20ms`. */
function resetAt(text: string, now: number): string | null {
  const wait = spanIn(text) ?? waitIn(text, now);
  return Number.isNaN(wait) || Math.abs(wait) > longestMs ? null : new Date(now + wait).toISOString();
}

/** Returns the milliseconds from now until a time; NaN for none. A number is seconds, or a time where it is that large. */
function waitIn(text: string, now: number): number {
  if (!number.test(text)) return Date.parse(text) - now;
  const told = Number(text);
  return told >= 1e11 ? told - now : told >= 1e8 ? told * 1000 - now : told * 1000;
}

function spanIn(text: string): number | null {
  const [whole, days, hours, minutes, seconds, milliseconds] =
    /^(?:(\d{1,3})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,8}(?:\.\d+)?)s)?(?:(\d{1,8})ms)?$/.exec(text) ?? [];
  if (!whole) return null;
  const of = (part: string | undefined, ms: number) => Number(part ?? 0) * ms;
  return of(days, 86_400_000) + of(hours, 3_600_000) + of(minutes, 60_000) + of(seconds, 1000) + of(milliseconds, 1);
}
