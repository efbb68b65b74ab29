import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { linesOf } from "./lines.ts";
import { type OpenPeer, type Peer, PieceCount, type RunTimes } from "./peer.ts";

/** The agent's program and a client of fifty lines: what the way costs where there is nothing on it. */
export const bareClient: Peer = {
  name: "bare_client",
  open: ({ agent, workdir }) => Promise.resolve(new BareClient(agent, workdir)),
};

class BareClient implements OpenPeer {
  readonly root = null;
  readonly #agent: string;
  readonly #workdir: string;
  readonly #held: ChildProcess[] = [];

  constructor(agent: string, workdir: string) {
    this.#agent = agent;
    this.#workdir = workdir;
  }

  async run(prompt: string): Promise<RunTimes> {
    const count = new PieceCount();
    const child = this.#start(prompt);
    for await (const lines of linesOf(child.stdout!)) {
      for (const line of lines) count.take(line);
      const last = lines.map((line) => JSON.parse(line) as { id?: number }).at(-1);
      if (last?.id === 2) child.stdin!.end();
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return count.end();
  }

  async hold(): Promise<void> {
    const child = this.#start("[wait]");
    this.#held.push(child);
    child.stdout!.setEncoding("utf8");
    for await (const piece of child.stdout!.iterator({ destroyOnReturn: false })) {
      if (String(piece).includes("waiting")) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#held.map(async (child) => {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    }));
  }

  /** The agent answers in turn, so that all three questions may wait for it. */
  #start(prompt: string): ChildProcess {
    const child = spawn(this.#agent, [], { cwd: this.#workdir, stdio: ["pipe", "pipe", "inherit"] });
    const messages = questions(this.#workdir, prompt).map((message) => `${JSON.stringify(message)}\n`);
    child.stdin.write(messages.join(""));
    return child;
  }
}

/** What a client asks an agent from its greeting to a prompt. */
export function questions(workdir: string, prompt: string): object[] {
  const text = [{ type: "text", text: prompt }];
  return [
    { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
    { jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: workdir, mcpServers: [] } },
    { jsonrpc: "2.0", id: 2, method: "session/prompt", params: { sessionId: "stub", prompt: text } },
  ];
}
