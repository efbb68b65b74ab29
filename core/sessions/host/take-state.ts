import { hostVersion } from "../../ground/config/version.ts";
import { type ContainerTerms, type SpareContainer, startSpareContainer } from "../../walls/pool/spare-container.ts";
import { type ChildLedger, type Reaped, startChildLedger } from "../../ground/runtime/child-ledger.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import { ledgerFile, reapFormer } from "./recover.ts";
import { claimState, type StateClaim } from "./state-claim.ts";

/** What a host holds of the state folder, and what it may start from then on. */
export interface HeldState {
  claim: StateClaim;
  /** What the host before left behind; null when it ended in order. */
  reaped: Reaped | null;
  /** Where every child process is written down. */
  children: ChildLedger;
  /** A warden that boots meanwhile; null where no session was announced. */
  spare: SpareContainer | null;
}

/** Options of {@link takeState}. */
export interface TakeStateOptions {
  /** On which terms a spare warden is started; null: none is. */
  spare: ContainerTerms | null;
  /** Takes the first part of the state folder or none. */
  onlyFirst?: boolean;
  writeLog(record: LogRecord): void;
}

/**
 * Takes a part of the state folder and does with it what must come before anything else is started.
 * @throws {BulkheadError} `busy`, `io_error`
 */
export async function takeState(
  stateDir: string,
  { spare, onlyFirst = false, writeLog }: TakeStateOptions,
): Promise<HeldState> {
  const claim = await claimState(stateDir, { onlyFirst });
  try {
    const reaped = await reapFormer(claim.folder, writeLog);
    const children = startChildLedger(ledgerFile(claim.folder), { hostVersion });
    return { claim, reaped, children, spare: spare && startSpareContainer(spare, { children }) };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Gives all of it back when the host could not be made. */
export async function giveBackState({ claim, children, spare }: HeldState): Promise<void> {
  await spare?.close();
  await children.close();
  await claim.release();
}
