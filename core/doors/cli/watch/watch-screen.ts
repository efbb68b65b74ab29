import { untilAborted } from "../../../ground/platform/engine/wait.ts";
import type { SessionHost } from "../../../sessions/host/session-host.ts";
import { startBackgroundTimer } from "../../../ground/platform/engine/background-timer.ts";
import type { Terminal } from "../../../ground/platform/terminal/terminal.ts";
import { LiveView } from "../render/live-view.ts";
import { createPaint, type Paint } from "../render/paint.ts";
import { shortId } from "../../../ground/log/short-id.ts";
import { drawingColumns } from "../show-session.ts";
import { watchScreen } from "./watch-rows.ts";
import type { WatchedSession, WatchedSessions } from "./watched-sessions.ts";

interface WatchScreenDeps {
  terminal: Terminal;
  watched: WatchedSessions;
  sessions: Pick<SessionHost, "open">;
  /** Ends the watch. */
  leave(): void;
}

/** The other screen of a terminal, which keeps what stood on the first one; and back (xterm's control sequences). */
const otherScreen = "\u001b[?1049h\u001b[?25l";
const firstScreen = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const eraseLineEnd = "\u001b[K";
const eraseDown = "\u001b[J";

/** Time between two pictures at least, and at most. Milliseconds. */
const soonMs = 100;
const everyMs = 1000;

/** A table of sessions that changes in place, on a screen of its own, with keys. */
export class WatchScreen {
  readonly #deps: WatchScreenDeps;
  readonly #paint: Paint;
  readonly #stopKeys: () => void;
  /** Id of the row that keys act on. */
  #selected: string | null = null;
  /** The session that the person may interrupt with one more key. */
  #asked: WatchedSession | null = null;
  /** Ends the view of one session's events; null while the table stands. */
  #back: AbortController | null = null;
  #cancel: () => void = () => {};
  #isSoon = false;

  constructor(deps: WatchScreenDeps) {
    this.#deps = deps;
    this.#paint = createPaint(deps.terminal.colours.stdout);
    this.#stopKeys = deps.terminal.stdin.onKey((key) => this.#take(key));
    void deps.terminal.stdout.write(otherScreen);
    this.#draw();
  }

  /** A session has changed: draws again, but not more often than a person can read. */
  changed(_: WatchedSession): void {
    if (this.#isSoon || this.#back !== null) return;
    this.#isSoon = true;
    this.#later(soonMs);
  }

  /** Leaves the screen, and the table as it was last below what stood there before. */
  async close(): Promise<void> {
    const { stdout } = this.#deps.terminal;
    this.#stopKeys();
    this.#cancel();
    if (this.#back === null) await stdout.write(`${firstScreen}${this.#lines().slice(0, -1).join("\n")}\n`);
    this.#back?.abort();
  }

  #later(ms: number): void {
    this.#cancel();
    this.#cancel = startBackgroundTimer(() => this.#draw(), ms);
  }

  #draw(): void {
    if (this.#back !== null) return;
    this.#isSoon = false;
    const lines = this.#lines().map((line) => `${line}${eraseLineEnd}`);
    void this.#deps.terminal.stdout.write(`${home}${lines.join("\r\n")}${eraseDown}`);
    this.#later(everyMs);
  }

  #lines(): string[] {
    const { terminal: { stdout }, watched } = this.#deps;
    const asked = this.#asked &&
      `Interrupt ${shortId(this.#asked.id)}, ${this.#asked.facts.adapter}? [y]es  any other key: no`;
    return watchScreen(watched.inOrder, {
      paint: this.#paint,
      columns: Math.max(40, stdout.columns || 80),
      rows: stdout.rows || 24,
      selected: this.#index(),
      now: Date.now(),
      asked,
    });
  }

  /** Row of the selected session; the first where it is gone. */
  #index(): number {
    return Math.max(0, this.#deps.watched.inOrder.findIndex(({ id }) => id === this.#selected));
  }

  #take(key: string): void {
    if (this.#back !== null) {
      if (key === "q" || key === "\u001b") this.#back.abort();
      return;
    }
    const asked = this.#asked;
    this.#asked = null;
    if (asked !== null) {
      if (key === "y") void this.#interrupt(asked);
    } else if (key === "q") return this.#deps.leave();
    else if (key === "j" || key === "\u001b[B" || key === "\u001bOB") this.#move(1);
    else if (key === "k" || key === "\u001b[A" || key === "\u001bOA") this.#move(-1);
    else if (key === "i") this.#asked = this.#running();
    else if (key === "\r" || key === "\n") return void this.#open();
    this.#draw();
  }

  #move(by: number): void {
    const { inOrder } = this.#deps.watched;
    const index = Math.max(0, Math.min(inOrder.length - 1, this.#index() + by));
    this.#selected = inOrder[index]?.id ?? null;
  }

  #running(): WatchedSession | null {
    const one = this.#deps.watched.inOrder[this.#index()];
    return one === undefined || one.facts.outcome !== null ? null : one;
  }

  async #interrupt({ id }: WatchedSession): Promise<void> {
    // What came of it shows in its row.
    await (await this.#deps.sessions.open(id)).interrupt().catch(() => {});
  }

  /** Shows one session's events on the first screen, until a key leads back. */
  async #open(): Promise<void> {
    const one = this.#deps.watched.inOrder[this.#index()];
    if (one === undefined) return;
    const { terminal, sessions } = this.#deps;
    const back = new AbortController();
    this.#back = back;
    this.#cancel();
    const line = this.#paint("dim", `── ${shortId(one.id)} · [q] goes back to the table ──`);
    await terminal.stdout.write(`${firstScreen} ${line}\n`);
    const view = new LiveView({
      write: (text) => terminal.stdout.write(text),
      paint: this.#paint,
      columns: drawingColumns(terminal),
      adapters: [],
      lone: true,
      endings: true,
    });
    try {
      for await (const envelope of (await sessions.open(one.id)).events({ signal: back.signal })) {
        await view.show(envelope);
      }
      await view.finish();
      await untilAborted(back.signal);
    } catch {
      // A session that was deleted meanwhile has no events.
    }
    this.#back = null;
    await terminal.stdout.write(otherScreen);
    this.#draw();
  }
}
