import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { encodeFrame, FrameReader } from "../../ground/checks/frames.ts";
import { findBundlerProgram } from "../../ground/platform/processes/bundler-program.ts";
import { type GuardedProcess, startGuarded } from "../../ground/platform/processes/guarded-process.ts";
import { defaultOsWallUses } from "../../ground/platform/os-walls/os-wall.ts";
import { fileURLToPath } from "../../ground/platform/files/paths.ts";
import { within } from "../../ground/platform/engine/within.ts";
import { acceptScript, type MadeScript } from "./accept-script.ts";
import { deathError, lateError } from "./bundle-errors.ts";
import {
  type BundleAnswer,
  bundleAnswerSchema,
  type BundleJob,
  bundleLanes,
  mostAnswerBytes,
  sourceMapFactor,
} from "./protocol.ts";

// From the build this file is dist/core/packages/bundler/*.js, from source core/packages/bundler/*.ts.
const own = import.meta.url;
const bundlerFile = fileURLToPath(
  new URL(own.endsWith(".ts") ? "../../../dist/walls/bundler.js" : "../../../walls/bundler.js", own),
);

const answerCheck = lazyCheck(bundleAnswerSchema);

/** Characters kept of a bundler's output, for when its source kills it. */
const keepText = 4096;
/** For one bundler in all its life, which its host ends long before: a killed host cannot. */
const cpuSeconds = 600;
/** The program may be short of memory before the kernel says so. */
const programShare = 0.8;

/** A bundler's current job. */
interface Work {
  /** Bytes that came on each lane. */
  texts: Map<number, Uint8Array>;
  maxBytes: number;
  answered(answer: BundleAnswer): void;
}

/** A child process that bundles for one plugin after the other. */
export class BundlerProcess {
  readonly #child: GuardedProcess;
  readonly #mb: number;
  readonly #frames = new FrameReader(256 * 1024 * 1024);
  #work: Work | null = null;
  #ended = false;
  /** Why it is of no more use. */
  #broken: string | null = null;
  #busyMs = 0;

  private constructor(child: GuardedProcess, mb: number) {
    this.#child = child;
    this.#mb = mb;
    child.onBytes((bytes) => this.#take(bytes));
    void child.exited.then(() => (this.#ended = true));
  }

  /** @throws {BulkheadError} `unsupported` where the bundler is not installed */
  static async start(mb: number): Promise<BundlerProcess> {
    const found = findBundlerProgram();
    if (found === null) {
      throw new BulkheadError("unsupported", "Cannot bundle plugins: esbuild is not installed for this system.", {
        hint: "Install Bulkhead again, with its optional dependencies.",
      });
    }
    const { library, program } = found;
    const child = await startGuarded({
      file: bundlerFile,
      keepText,
      osWalls: defaultOsWallUses,
      confinement: { rssMb: mb, openFiles: 256, workers: 0, cpuSeconds },
      bundler: {
        program,
        heapMb: Math.round(mb / 2),
        env: {
          BULKHEAD_ESBUILD: library,
          ESBUILD_BINARY_PATH: program,
          GOTRACEBACK: "none",
          GOMEMLIMIT: `${Math.round(programShare * mb)}MiB`,
        },
      },
    });
    return new BundlerProcess(child, mb);
  }

  /** Megabytes that it may take. */
  get mb(): number {
    return this.#mb;
  }

  /** Whether it can take another job. */
  get usable(): boolean {
    return !this.#ended && this.#broken === null && this.#busyMs < longestUseMs;
  }

  /** Whether this process stays for it. */
  holdHost(holds: boolean): void {
    this.#child.holdHost(holds);
  }

  /**
   * Makes one script; call it when the one before is made. What the source does to the bundler ends the bundler.
   * @throws {BulkheadError} `bundle_failed`, `too_large`
   */
  async make(job: BundleJob, { timeoutMs }: { timeoutMs: number }): Promise<MadeScript> {
    const begun = performance.now();
    const { pluginId, maxBytes } = job.order;
    const texts = new Map<number, Uint8Array>();
    let answer: BundleAnswer | null = null;
    const answered = new Promise<void>((resolve) => {
      this.#work = { texts, maxBytes, answered: (given) => resolve(void (answer = given)) };
      this.#child.write(encodeFrame(0, JSON.stringify(job)));
    });
    try {
      const inTime = await within(Promise.race([answered, this.#child.exited]), timeoutMs);
      if (!inTime) {
        this.#break("it was late.");
        throw lateError(pluginId, timeoutMs);
      }
      if (answer === null) throw this.#died(pluginId);
    } finally {
      this.#work = null;
      this.#busyMs += performance.now() - begun;
    }
    return await acceptScript(job.order, { answer, texts });
  }

  #died(pluginId: string): BulkheadError {
    const mb = this.#mb;
    return deathError(pluginId, { broken: this.#broken, printed: this.#child.printed(), mb });
  }

  /** Ends it at once. */
  async end(): Promise<void> {
    this.#broken ??= "it was ended";
    // An idle one keeps no process: without this, one that has nothing else to do would end while it waits here.
    if (!this.#ended) this.#child.holdHost(true);
    this.#child.kill();
    await this.#child.exited;
  }

  #take(bytes: Uint8Array): void {
    if (this.#broken !== null) return;
    try {
      this.#frames.push(bytes, ({ lane, payload }) => this.#takeFrame(lane, payload));
    } catch (error) {
      this.#break(error instanceof Error ? error.message : String(error));
    }
  }

  #takeFrame(lane: number, payload: Uint8Array): void {
    const work = this.#work;
    if (!work) return this.#break("it spoke without being asked.");
    if (lane !== bundleLanes.answer) {
      const most = work.maxBytes * (lane === bundleLanes.sourceMap ? sourceMapFactor : 1);
      if (lane > bundleLanes.bundled || work.texts.has(lane) || payload.length > most) {
        return this.#break("it sent a text that was not asked for.");
      }
      // The payload is a view that the next bytes may take away.
      work.texts.set(lane, payload.slice());
      return;
    }
    const answer: unknown = payload.length > mostAnswerBytes ? null : JSON.parse(new TextDecoder().decode(payload));
    if (!answerCheck().Check(answer)) return this.#break("it gave an unknown answer.");
    work.answered(answer as BundleAnswer);
  }

  #break(why: string): void {
    this.#broken = why;
    this.#child.kill();
  }
}

/** After so much work a bundler is replaced, long before the kernel counts it out. Milliseconds. */
const longestUseMs = 60_000;
