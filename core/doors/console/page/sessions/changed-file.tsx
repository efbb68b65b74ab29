import { plainText } from "../shown-text.ts";
import { addressOf } from "../route.ts";
import { useConsole } from "../console-context.ts";
import { Ago, Failed, useLoaded } from "../parts.tsx";

/** A place in a session that names a changed file. */
interface Hit {
  session_id: string;
  seq: number;
  at: string;
  adapter_id: string;
  type: string;
}

const mostPages = 3;
/** Events that say that a file was changed. */
const telling: ReadonlySet<string> = new Set(["file_change", "artifacts", "turn_ended"]);

/** Whether a search may be for a file: it has a folder or an ending. */
export function isFile(text: string): boolean {
  return /^\S*[\w-][./][\w.-]+$/.test(text.trim());
}

/** The sessions that changed a file, the newest first, from the history's index. */
export function ChangedFile({ name }: { name: string }) {
  const { api } = useConsole();
  const [loaded] = useLoaded((signal) => sessionsThatChanged(name, { get: api.get, signal }), [name]);
  if (loaded === undefined) return <p class="quiet-line">Looking for sessions that changed it …</p>;
  if ("failed" in loaded) return <Failed of={loaded.failed} />;
  if (loaded.value.length === 0) return null;
  return (
    <section class="changed-file" aria-label="Sessions that changed this file">
      <h2>Changed {plainText(name, 120)}</h2>
      <ul class="session-list">
        {loaded.value.map(({ session_id, seq, adapter_id, at, title }) => (
          <li class="session-row changed-row">
            <b class="line-agent">{adapter_id}</b>
            <a class="session-title" href={addressOf("sessions", session_id, seq)}>{plainText(title, 200)}</a>
            <span class="line-age">
              <Ago at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function sessionsThatChanged(
  name: string,
  { get, signal }: {
    get: <T>(path: string, query?: Record<string, string | number | undefined>, signal?: AbortSignal) => Promise<T>;
    signal: AbortSignal;
  },
): Promise<(Hit & { title: string })[]> {
  const found = new Map<string, Hit>();
  let before: number | undefined;
  for (let page = 0; page < mostPages; page++) {
    const { hits, next } = await get<{ hits: Hit[]; next: number | null }>(
      "/v1/search",
      { q: name.trim(), limit: 100, before },
      signal,
    );
    for (const hit of hits) if (telling.has(hit.type) && !found.has(hit.session_id)) found.set(hit.session_id, hit);
    if (next === null) break;
    before = next;
  }
  return await Promise.all(
    [...found.values()].slice(0, 20).map(async (hit) => {
      const path = `/v1/sessions/${encodeURIComponent(hit.session_id)}`;
      const title = await get<{ title: string }>(path, { output: "false" }, signal).then(
        ({ title }) => title,
        () => "",
      );
      return { ...hit, title: title === "" ? "(no prompt)" : title };
    }),
  );
}
