import type { Redactor } from "../../ground/log/redact.ts";
import { Breath } from "../../ground/platform/engine/breath.ts";
import { asBuffer } from "../../ground/platform/files/as-buffer.ts";
import { dataLines, rewriteAnswer } from "./event-streams.ts";
import { recordedBody } from "./record-files.ts";
import type { RecordedBody } from "./record-format.ts";

/** Returns a body without secrets. Other work has its turn meanwhile. */
export async function cleanBody(body: Uint8Array, redactor: Redactor | null): Promise<RecordedBody> {
  const recorded = recordedBody(body);
  if (redactor === null) return recorded;
  if ("text" in recorded) return { text: await cleanText(recorded.text, redactor) };
  // Of bytes that are no text each is one letter, so that a secret is found in them.
  const clean = await cleanText(asBuffer(body).toString("latin1"), redactor);
  return recordedBody(Uint8Array.from(clean, (letter) => letter.charCodeAt(0)));
}

/** Returns the body of an answer without secrets, also where one is spread over several events; null where one could be unseen. */
export async function cleanAnswer(body: Uint8Array, redactor: Redactor | null): Promise<RecordedBody | null> {
  const clean = await cleanBody(body, redactor);
  if (redactor === null) return clean;
  if ("base64" in clean) return dataLines(asBuffer(body).toString("latin1")).next().done === true ? clean : null;
  const breath = new Breath();
  let isSeen = true;
  const rewrite = {
    // Alone each text is clean. The first one gets all: where in them the secret stood is not known.
    async stream(texts: readonly string[]) {
      const said = texts.length === 1 ? "" : texts.join("");
      const whole = await cleanText(said, redactor, breath);
      return whole === said ? null : texts.map((_, index) => index === 0 ? whole : "");
    },
    text: (part: string) => Promise.resolve(part),
    unread: () => void (isSeen = false),
  };
  const text = await rewriteAnswer(clean.text, rewrite, breath);
  return isSeen ? { text } : null;
}

async function cleanText(text: string, redactor: Redactor, breath = new Breath()): Promise<string> {
  const stream = redactor.stream();
  let clean = "";
  for (let at = 0; at < text.length; at += lettersInATurn) {
    clean += stream.push(text.slice(at, at + lettersInATurn));
    await breath.take();
  }
  return clean + stream.end();
}

const lettersInATurn = 64 * 1024;
