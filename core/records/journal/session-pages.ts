import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { Journal } from "./journal.ts";

/** Reads a session's envelopes from the first on, in order, a page at a time; on request without what is damaged. */
export async function* sessionPages(
  journal: Pick<Journal, "read">,
  sessionId: string,
  { skipDamaged = false }: { skipDamaged?: boolean } = {},
): AsyncGenerator<Envelope[], void, void> {
  for (let after = 0;;) {
    const page = await journal.read({ after, sessionId, skipDamaged });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.gseq;
  }
}
