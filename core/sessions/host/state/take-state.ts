import { hostVersion } from "../../../ground/config/version.ts";
import {
  type ContainerOptions,
  type SpareContainer,
  startSpareContainer,
} from "../../../walls/pool/spare-container.ts";
import { type ChildLedger, type Reaped, startChildLedger } from "../../../ground/platform/processes/child-ledger.ts";
import type { LogRecord } from "../../../ground/log/log-record.ts";
import type { Trash } from "../../../ground/platform/files/trash.ts";
import { ledgerFile, openTrash, reapFormer } from "./recover.ts";
import { claimState, type StateClaim } from "./state-claim.ts";

/** The host's claim on the state folder, and what depends on it. */
export interface HeldState {
  claim: StateClaim;
  /** Leftovers of the previous host that were cleaned up; null when it ended in order. */
  reaped: Reaped | null;
  /** Takes what sessions leave. */
  trash: Trash;
  /** Records every child process. */
  children: ChildLedger;
  /** A warden that boots in the meantime; null when no session was announced. */
  spare: SpareContainer | null;
}

interface TakeStateOptions {
  /** Terms of a spare warden; null: none is started. */
  spare: ContainerOptions | null;
  /** As of `HostOptions`. */
  onlyFirst?: boolean | undefined;
  program?: string | undefined;
  writeLog(record: LogRecord): void;
}

/**
 * Takes a part of the state folder and cleans it up, which must happen before anything else starts.
 * @throws {BulkheadError} `busy`, `io_error`
 */
export async function takeState(
  stateDir: string,
  { spare, onlyFirst, program, writeLog }: TakeStateOptions,
): Promise<HeldState> {
  const claim = await claimState(stateDir, { onlyFirst, program });
  try {
    const trash = openTrash(claim.folder, writeLog);
    const reaped = await reapFormer(claim.folder, { trash, writeLog });
    const children = startChildLedger(ledgerFile(claim.folder), { hostVersion });
    return { claim, reaped, trash, children, spare: spare && startSpareContainer(spare, { children }) };
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Releases all of it when the host could not be made. */
export async function giveBackState({ claim, children, spare }: HeldState): Promise<void> {
  await spare?.close();
  await children.close();
  await claim.release();
}
