import { startBackgroundTimer } from "../../ground/platform/engine/background-timer.ts";

/** Time between looks at the tools. */
const lookEveryMs = 5000;

/** Looks at a list of tools again and again, once a client has seen it, and tells that it has changed. */
export class ToolWatch {
  readonly #read: () => Promise<readonly unknown[]>;
  readonly #onChange: () => void;
  #seen: string | null = null;
  #stop: () => void = () => {};
  #isOver = false;

  constructor(read: () => Promise<readonly unknown[]>, onChange: () => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  /** Notes the list that a client is shown. */
  saw(tools: readonly unknown[]): void {
    if (this.#seen === null && !this.#isOver) this.#lookLater();
    this.#seen = JSON.stringify(tools);
  }

  end(): void {
    this.#isOver = true;
    this.#stop();
  }

  #lookLater(): void {
    this.#stop = startBackgroundTimer(() => void this.#look(), lookEveryMs);
  }

  async #look(): Promise<void> {
    const tools = await this.#read().then((read) => JSON.stringify(read), () => this.#seen);
    if (this.#isOver) return;
    if (tools !== this.#seen) this.#onChange();
    this.#seen = tools;
    this.#lookLater();
  }
}
