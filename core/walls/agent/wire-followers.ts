import type { Buffer } from "node:buffer";
import type { EgressEndpoint } from "./model-endpoint.ts";
import type { WireAnswer, WireFollower, WireHead, WireRequest } from "./wire.ts";

/** Asks the wires of a place about a request: those that follow it, and the first one that answers it. */
export function beginWires(
  { url, wires = [] }: Pick<EgressEndpoint, "url" | "wires">,
  request: Omit<WireRequest, "base">,
): { followers: WireFollowers; answer: WireAnswer | null } {
  const followers = new WireFollowers();
  for (const wire of wires) {
    const begun = wire.begin({ ...request, base: url.href });
    if (begun !== null && "answer" in begun) return { followers, answer: begun };
    if (begun !== null) followers.add(begun);
  }
  return { followers, answer: null };
}

/** Those that follow one exchange. One that throws gets no more of it: the agent's call goes on. */
export class WireFollowers implements Required<WireFollower> {
  #all: WireFollower[] = [];
  #hasEnded = false;

  add(one: WireFollower): void {
    this.#all.push(one);
  }

  refused(): string | null {
    for (const one of this.#all) {
      const why = one.refused?.() ?? null;
      if (why !== null) return why;
    }
    return null;
  }

  sent(piece: Buffer): void {
    this.#each((one) => one.sent?.(piece));
  }

  unsent(piece: Buffer): void {
    this.#each((one) => one.unsent?.(piece));
  }

  answered(head: WireHead): void {
    this.#each((one) => one.answered?.(head));
  }

  received(piece: Buffer): void {
    this.#each((one) => one.received?.(piece));
  }

  isComplete(): boolean {
    return this.#all.some((one) => one.isComplete?.() === true);
  }

  /** Only the first call counts. */
  ended(isWhole: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#each((one) => one.ended?.(isWhole));
    this.#all = [];
  }

  #each(tell: (one: WireFollower) => void): void {
    for (const one of this.#all) {
      try {
        tell(one);
      } catch {
        this.#all = this.#all.filter((other) => other !== one);
      }
    }
  }
}
