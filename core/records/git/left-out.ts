import { eachInShadow, type ShadowCall, type ShadowRepository } from "./shadow-repository.ts";

/** Tracked paths, as an index marks them. */
interface MarkedPaths {
  /** Left out of the checkout, and not there. */
  leftOut: Uint8Array[];
  others: Uint8Array[];
}

/** Lists the tracked paths of an index: a sparse checkout leaves some out. */
export async function listMarked(shadow: ShadowRepository, call: ShadowCall): Promise<MarkedPaths> {
  const marked: MarkedPaths = { leftOut: [], others: [] };
  const take = (line: Uint8Array) => {
    (line[0] === skipped ? marked.leftOut : marked.others).push(line.subarray(2));
  };
  await eachInShadow(shadow, ["ls-files", "-z", "-t"], { ...call, take });
  return marked;
}

/** Mark of `ls-files -t` for an entry that is left out: `S`. */
const skipped = 0x53;
