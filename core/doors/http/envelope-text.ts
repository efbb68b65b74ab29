import type { Envelope } from "../../../plugin-sdk/envelope.ts";

const texts = new WeakMap<Envelope, string>();
const adapters = new WeakMap<Envelope["adapter"], string>();

/**
 * Formats an envelope as one line of JSON. The text is shared by all readers and reuses its event's JSON, which costs
 * less than to serialise everything.
 */
export function envelopeText(envelope: Envelope): string {
  let text = texts.get(envelope);
  if (text === undefined) texts.set(envelope, text = write(envelope));
  return text;
}

function write(envelope: Envelope): string {
  const { v, seq, gseq, ts, session_id, attempt, adapter, source, synthetic, machine, cursor, event } = envelope;
  let adapterText = adapters.get(adapter);
  if (adapterText === undefined) adapters.set(adapter, adapterText = JSON.stringify(adapter));
  const head = `{"v":${v},"seq":${seq},"gseq":${gseq},"ts":${JSON.stringify(ts)}`;
  const whose = `"session_id":${JSON.stringify(session_id)},"attempt":${attempt},"adapter":${adapterText}`;
  const made = synthetic ? ',"synthetic":true' : "";
  const where = cursor === undefined ? "" : `,"machine":${JSON.stringify(machine)},"cursor":${JSON.stringify(cursor)}`;
  return `${head},${whose},"source":"${source}"${made}${where},"event":${JSON.stringify(event)}}`;
}
