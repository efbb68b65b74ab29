import { plainly } from "./text.ts";

const hostCrypto = globalThis.crypto;
const hostClone = globalThis.structuredClone;
const started = performance.now();

/** Globals without authority that common libraries expect. */
export function plainEndowments(): Record<string, unknown> {
  return {
    // The start compartment's own: the `Date` and `Math` of other compartments have no clock and no random numbers.
    Date,
    Math,
    Float32Array,
    Float64Array,
    structuredClone: (value: unknown) => plainly(() => hostClone(value)),
    crypto: {
      randomUUID: () => hostCrypto.randomUUID(),
      getRandomValues: (target: Uint8Array<ArrayBuffer>) => {
        const bytes = new Uint8Array(plainly(() => target.byteLength));
        plainly(() => hostCrypto.getRandomValues(bytes));
        new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(bytes);
        return target;
      },
    },
    // Whole milliseconds: a finer clock is a side channel.
    performance: { now: () => Math.floor(performance.now() - started), timeOrigin: 0 },
  };
}
