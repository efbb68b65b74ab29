import { isSameText } from "../../../ground/platform/files/hash.ts";
import {
  chainOrigin,
  type ChainPlace,
  type LinkContent,
  linkOfDeletion,
  linkOfRow,
  nextPlace,
  type Numbers,
  sealBase,
  sealLoss,
} from "../chain.ts";
import { type BareLink, type ChainedRow, type ChainTable, contentOf, prepareChainTable } from "../chain-table.ts";
import type { Draft } from "./draft.ts";

interface SettleOptions {
  draft: Draft;
  key: Uint8Array;
  /** True where the key that made the chain is gone: it is made again, and what was before cannot be verified. */
  isKeyLost: boolean;
  /** Null where they are not known. */
  numbers: Numbers | null;
  /** Called with each batch that stays, in order. */
  onBatch(row: ChainedRow): void;
  /** Called with the numbers of events whose links are missing, before the batch after them. */
  onLost(from: number, to: number): void;
}

/** The chain of a draft. */
export interface SettledChain {
  batches: number;
  events: number;
  /** Links that are missing; none of those before this damage. */
  lostLinks: number;
  /** True where the chain was made again. */
  isRenewed: boolean;
}

/** Goes through the chain of a draft: removes what its host did not write, and signs what is missing. */
export async function settleChain(options: SettleOptions): Promise<SettledChain> {
  const { draft, key } = options;
  const chain = prepareChainTable(draft.database);
  const isRenewed = options.isKeyLost || !(await fitsSomewhere(chain, { draft, key }));
  draft.begin();
  const settling = new Settling({ ...options, chain, isRenewed });
  const settled = await settling.run();
  await draft.commit();
  return { ...settled, isRenewed };
}

/** Whether any batch fits its link, or there is none to tell. */
async function fitsSomewhere(
  chain: ChainTable,
  { draft, key }: { draft: Draft; key: Uint8Array },
): Promise<boolean> {
  const base = chain.base();
  if (base !== null && isSameText(sealBase(key, base).seal, base.seal)) return true;
  let told = 0;
  let numbered = 0;
  let before: ChainPlace | null = chainOrigin;
  for (let after = 0;;) {
    const [row] = chain.rowsAfter(after, 1);
    if (row === undefined) return after === 0 || (numbered > 0 && told < enoughToTell);
    after = row.last_gseq;
    const place = placeOf(row);
    if (place !== null) numbered++;
    if (place !== null && before?.number === place.number - 1) {
      if (fits({ content: linkOfRow(row), place }, { before, key })) return true;
      told++;
    }
    before = place;
    await draft.step(0);
  }
}

/** Batches that do not fit, all of them, of which a wrong key is the likelier cause. */
const enoughToTell = 2;

function placeOf({ number, mac }: { number: number | null; mac: string | null }): ChainPlace | null {
  return number === null || mac === null ? null : { number, mac };
}

function fits(
  { content, place }: { content: LinkContent; place: ChainPlace },
  { before, key }: { before: ChainPlace; key: Uint8Array },
): boolean {
  return isSameText(nextPlace(key, before, content).mac, place.mac);
}

interface SettlingDeps extends SettleOptions {
  chain: ChainTable;
  isRenewed: boolean;
}

class Settling {
  readonly #deps: SettlingDeps;
  readonly #sql;
  #place: ChainPlace = chainOrigin;
  #gseq = 0;
  #settled = { batches: 0, events: 0, lostLinks: 0 };

  constructor(deps: SettlingDeps) {
    this.#deps = deps;
    const { database } = deps.draft;
    this.#sql = {
      dropBatch: database.prepare("DELETE FROM batch WHERE last_gseq = ?"),
      dropLink: database.prepare("DELETE FROM link WHERE number = ?"),
      dropLinks: database.prepare("DELETE FROM link"),
      dropBase: database.prepare("DELETE FROM base"),
      chain: database.prepare("UPDATE batch SET number = ?, mac = ? WHERE last_gseq = ?"),
      wasLost: database.prepare("SELECT 1 AS one FROM was_lost_link WHERE first = ? AND last = ?"),
      bareDeleted: database.prepare(
        `SELECT session_id, max(gseq) AS gseq FROM link WHERE kind = 'erased' AND session_id NOT IN
          (SELECT session_id FROM link WHERE kind = 'deleted') GROUP BY session_id ORDER BY 2`,
      ),
      state: database.prepare("UPDATE state SET last_gseq = ?, head_number = ?, head_mac = ?"),
    };
  }

  async run(): Promise<Omit<SettledChain, "isRenewed">> {
    const { chain, draft } = this.#deps;
    this.#begin();
    let row = this.#nextRow(0);
    let link = this.#nextLink(this.#place.number);
    while (row !== undefined || link !== undefined) {
      if (link !== undefined && link.number <= (row?.number ?? Infinity)) {
        this.#bare(link);
        link = this.#nextLink(link.number);
      } else if (row !== undefined) {
        this.#batch(row);
        await draft.step(this.#deps.isRenewed ? row.body.length : 0);
        row = this.#nextRow(row.last_gseq);
      }
      await draft.step(0);
    }
    this.#finish(chain);
    return this.#settled;
  }

  #begin(): void {
    const { chain, isRenewed, key } = this.#deps;
    const base = chain.base();
    if (isRenewed) this.#sql.dropLinks.run();
    if (base === null) return;
    if (isRenewed || !isSameText(sealBase(key, base).seal, base.seal)) this.#sql.dropBase.run();
    else {
      this.#place = base;
    }
  }

  #nextRow(after: number): ChainedRow | undefined {
    return this.#deps.chain.rowsAfter(after, 1)[0];
  }

  #nextLink(after: number): BareLink | undefined {
    return this.#deps.chain.bareAfter(after, 1)[0];
  }

  #batch(row: ChainedRow): void {
    const isInOrder = row.first_gseq > this.#gseq && row.last_gseq <= (this.#deps.numbers?.last_gseq ?? Infinity);
    if (!isInOrder || !this.#isNext(linkOfRow(row), { place: placeOf(row), gseq: row.first_gseq })) {
      this.#sql.dropBatch.run(row.last_gseq);
      return;
    }
    if (this.#deps.isRenewed) this.#sql.chain.run(this.#place.number, this.#place.mac, row.last_gseq);
    this.#gseq = row.last_gseq;
    this.#settled.batches++;
    this.#settled.events += row.count;
    this.#deps.onBatch(row);
  }

  #bare(link: BareLink): void {
    if (!this.#isNext(contentOf(link), { place: link, gseq: link.gseq })) this.#sql.dropLink.run(link.number);
    else if (link.kind === "erased") this.#gseq = Math.max(this.#gseq, link.gseq);
  }

  /** Goes on to a link, over those that are missing; false for one that its host did not write, or deleted. */
  #isNext(content: LinkContent, { place, gseq }: { place: ChainPlace | null; gseq: number }): boolean {
    const { key, isRenewed } = this.#deps;
    if (isRenewed) {
      this.#place = nextPlace(key, this.#place, content);
      return true;
    }
    if (place === null || place.number <= this.#place.number) return false;
    if (place.number > (this.#deps.numbers?.number ?? Infinity)) return false;
    const isLost = place.number > this.#place.number + 1;
    if (!isLost && !fits({ content, place }, { before: this.#place, key })) return false;
    if (isLost) {
      this.#deps.onLost(this.#gseq + 1, gseq - 1);
      this.#lose({ last: place.number - 1, mac: null }, { ...content, mac: place.mac });
    }
    this.#place = place;
    return true;
  }

  #lose(
    { last, mac }: { last: number; mac: string | null },
    next: (LinkContent & { mac: string }) | null,
  ): void {
    const lost = { first: this.#place.number + 1, last, mac };
    this.#deps.chain.noteLoss({ ...lost, seal: sealLoss(this.#deps.key, lost, next) });
    if (this.#sql.wasLost.get(lost.first, last) === undefined) this.#settled.lostLinks += last - lost.first + 1;
  }

  /** Links the deletion of sessions again whose batches were erased and whose deletion is lost: else they would be missing. */
  #deleteAgain(chain: ChainTable): void {
    for (const deleted of this.#sql.bareDeleted.all() as { session_id: string; gseq: number }[]) {
      const content = linkOfDeletion(deleted);
      this.#place = nextPlace(this.#deps.key, this.#place, content);
      chain.insert({ ...this.#place, ...content, kind: "deleted" });
    }
  }

  #finish(chain: ChainTable): void {
    const { numbers, isRenewed } = this.#deps;
    const base = chain.base()?.gseq ?? 0;
    if (numbers !== null && !isRenewed && numbers.number > this.#place.number) {
      this.#deps.onLost(this.#gseq + 1, numbers.last_gseq);
      this.#lose({ last: numbers.number, mac: numbers.mac }, null);
      this.#place = { number: numbers.number, mac: numbers.mac };
    }
    this.#deleteAgain(chain);
    // Where the numbers given out so far are unknown, the time is beyond all of them.
    const last = Math.max(numbers?.last_gseq ?? Date.now(), this.#gseq, base);
    this.#sql.state.run(last, this.#place.number, this.#place.mac);
  }
}
