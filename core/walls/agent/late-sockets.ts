import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import { isBelow, relative } from "../../ground/platform/files/paths.ts";
import type { SeenSockets } from "./program-view.ts";
import { type UnixSocket, unixSockets } from "./unix-sockets.ts";

/** Sockets that are told one by one; of more, their number. */
const mostTold = 20;

/** Characters of a path. */
const mostShown = 400;

const reason = "This socket was opened by a program outside while the agent's programs ran: they could connect to it.";

/** Unix sockets that others open where a session's programs see them: a view gets no new mounts. */
export class LateSockets {
  readonly #project: string;
  readonly #emit: (event: CapabilityEvent) => void;
  readonly #running = new Set<{ known: ReadonlySet<string>; visible: SeenSockets["visible"] }>();
  readonly #told = new Set<string>();
  #looks: Promise<void> = Promise.resolve();

  /** @param options the folder below which paths are told as the project's. Real path */
  constructor({ project, emit }: { project: string; emit(event: CapabilityEvent): void }) {
    this.#project = project;
    this.#emit = emit;
  }

  /** Notes that a program runs; call the returned function when it has ended. */
  began({ known, visible }: SeenSockets): () => void {
    const program = { known: new Set(known.map(({ id }) => id)), visible };
    this.#running.add(program);
    return () => {
      this.look();
      this.#looks = this.#looks.then(() => void this.#running.delete(program));
    };
  }

  /** Begins a look. Never throws. */
  look(): void {
    if (this.#running.size > 0) this.#looks = this.#looks.then(() => this.#find()).catch(() => {});
  }

  /** Resolves once all looks are over, and tells how many more there were. */
  async close(): Promise<void> {
    await this.#looks;
    const more = this.#told.size - mostTold;
    if (more > 0) this.#tell(`(and ${more} more sockets)`);
  }

  async #find(): Promise<void> {
    const sockets = (await unixSockets()).filter(({ isOpen }) => isOpen);
    for (const { known, visible } of this.#running) {
      const late = sockets.filter(({ id }) => !known.has(id) && !this.#told.has(id));
      for (const socket of late) await this.#tellIfSeen(socket, visible);
    }
  }

  async #tellIfSeen(socket: UnixSocket, visible: SeenSockets["visible"]): Promise<void> {
    const [path] = await visible([socket]);
    if (path === undefined) return;
    this.#told.add(socket.id);
    if (this.#told.size <= mostTold) {
      this.#tell(isBelow(this.#project, path) ? `workdir:${relative(this.#project, path)}` : path);
    }
  }

  #tell(target: string): void {
    const shown = cleanLine(target, mostShown);
    this.#emit({ type: "capability", permission: "write", target: shown, decision: "allowed", reason });
  }
}
