import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { askLook } from "../../../core/records/gate/ask-gate.ts";
import { startLook } from "../../../core/records/gate/known-entries.ts";
import type { LookAnswer, LookBounds } from "../../../core/records/gate/look-question.ts";
import { afterEveryTest } from "../../clean-up.ts";

/** A folder that a session works in, and a look at what it left. */
export interface GateFixture {
  top: string;
  write(path: string, text?: string, mode?: number): void;
  link(path: string, target: string): void;
  move(from: string, to: string): void;
  /** Begins a session. */
  start(): Promise<void>;
  look(bounds?: LookBounds): Promise<LookAnswer>;
  /** Kinds of what is held, by path. */
  held(): Promise<Record<string, string>>;
}

const made: string[] = [];
afterEveryTest(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function gateFixture(): GateFixture {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "bulkhead-gate-")));
  made.push(top);
  let started: Awaited<ReturnType<typeof startLook>> | null = null;
  const place = (path: string) => {
    const at = join(top, path);
    mkdirSync(dirname(at), { recursive: true });
    return at;
  };
  const look = (bounds?: LookBounds) =>
    askLook({ top, skip: [], named: [], ...started!, ...(bounds === undefined ? {} : { bounds }) });
  return {
    top,
    write(path, text = "", mode) {
      const at = place(path);
      writeFileSync(at, text);
      if (mode !== undefined) chmodSync(at, mode);
    },
    link: (path, target) => symlinkSync(target, place(path)),
    move: (from, to) => renameSync(join(top, from), place(to)),
    async start() {
      // Change times are in whole seconds on one of the runtimes, and in steps of some milliseconds on the other.
      await pause("Deno" in globalThis ? 1100 : 20);
      started = await startLook(top);
    },
    look,
    held: async () => Object.fromEntries((await look()).found.map(({ path, kind }) => [path, kind])),
  };
}
