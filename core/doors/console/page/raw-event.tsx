import { lineGroups } from "./api.ts";
import { noticeOf, useConsole } from "./console-context.ts";
import { Failure, useLoaded } from "./parts.tsx";
import { addressOf } from "./route.ts";
import { LongText } from "./text.tsx";

/** The whole envelope of one event, as the host sends it, beside the timeline. */
export function RawEvent({ id, seq, close }: { id: string; seq: number; close: () => void }) {
  const { api } = useConsole();
  const [loaded] = useLoaded(async (signal) => {
    const path = `/v1/sessions/${encodeURIComponent(id)}/events`;
    for await (const [line] of lineGroups(await api.open(path, { after: seq - 1, limit: 1, follow: false }, signal))) {
      if (line !== undefined) return JSON.stringify(JSON.parse(line), null, 2);
    }
    return "";
  }, [id, seq]);
  return (
    <aside class="side raw" aria-label={`Envelope of event ${seq}`}>
      <header class="side-head">
        <h2>Event {seq}</h2>
        <a href={addressOf("sessions", id, seq)}>Link</a>
        <button type="button" class="plain" onClick={close} aria-label="Close the envelope">Close</button>
      </header>
      {loaded === undefined && <p class="quiet-line">Reading …</p>}
      {loaded !== undefined && "failed" in loaded && <Failure {...noticeOf(loaded.failed)} />}
      {loaded !== undefined && "value" in loaded &&
        (loaded.value === "" ? <p>It is no longer stored.</p> : <LongText of={loaded.value} class="json" />)}
    </aside>
  );
}
