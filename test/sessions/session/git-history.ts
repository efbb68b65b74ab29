import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { GitChange } from "../../../plugin-sdk/git-changes.ts";
import { takeOverOf } from "../../../core/sessions/session/session-git.ts";
import type { AgentGit, AgentSession } from "./agent-git.ts";
import { GitHost } from "./git-host.ts";
import { attacks, ofPerson, steps } from "./git-history-steps.ts";

/** A folder in which a person or an agent works. */
interface Place {
  folder: string;
  /** Top of the repository. */
  top: string;
}

/** A session of an agent. */
interface Agent extends Place {
  id: string;
  /** Null when its host is a process of its own. */
  own: AgentSession | null;
}

/** A change that was told, and the top of the repository where its command is run. */
export interface Told {
  change: GitChange;
  top: string;
}

/** Random numbers below a bound, the same for the same seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2654435761 >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A random history of a person and of agents' sessions in one repository. */
export class GitHistory {
  /** Commits that someone made, and lines that someone wrote. */
  readonly commits = new Set<string>();
  readonly lines = new Set<string>();
  readonly told: Told[] = [];
  /** Steps so far, for the one who looks at a failure. */
  readonly log: string[] = [];
  /** Whether a program or a host was killed. */
  wasKilled = false;
  readonly #repo: AgentGit;
  readonly #random: (below: number) => number;
  readonly #kills: boolean;
  readonly #agents: Agent[] = [];
  /** Tops by session, of all hosts that are processes of their own. */
  readonly #tops = new Map<string, string>();
  #host: GitHost | null = null;
  #count = 0;

  /** @param kills whether the host is a process of its own, and it or the agent's program is killed at some steps */
  constructor(repo: AgentGit, { seed, kills }: { seed: number; kills: boolean }) {
    this.#repo = repo;
    this.#random = randomFrom(seed);
    this.#kills = kills;
  }

  async run(): Promise<void> {
    for (let left = 8 + this.#random(8); left > 0; left--) await this.#step();
    while (this.#agents.length > 0) await this.#end();
    if (this.#kills) await this.#hear();
  }

  async #step(): Promise<void> {
    const kind = this.#random(11);
    if (this.#agents.length === 0 || kind === 10 && this.#agents.length < 2) return await this.#begin();
    if (kind === 9) return await this.#end();
    const isAgent = kind < 5;
    const name = `${isAgent ? "agent" : "person"}-${++this.#count}`;
    const all = isAgent ? steps : [...steps, ...ofPerson];
    const step = all[this.#random(all.length)]!;
    if (isAgent) {
      const script = this.#random(8) === 0
        ? attacks[this.#random(attacks.length)]!
        : step({ name, isAgent, outside: "/tmp" });
      await this.#byAgent(this.#agents[this.#random(this.#agents.length)]!, { name, script });
    } else {
      const { folder } = await this.#place();
      const script = step({ name, isAgent, outside: this.#repo.root });
      const said = await this.#repo.sh(`set +e; ${told(name, script)}; true`, folder);
      this.#heard(`${name} in ${folder}: ${script}`, said);
    }
  }

  async #byAgent(agent: Agent, { name, script }: { name: string; script: string }): Promise<void> {
    const about = `${name} in ${agent.id}: ${script}`;
    const text = told(name, script);
    if (agent.own !== null) {
      const said = await agent.own.run(text).catch((error: unknown) => `no start: ${String(error)}`);
      this.#heard(about, said);
      // Nothing starts once the person has renamed the folder.
      if (!said.includes(`end of ${name}`)) await expect(stat(agent.folder), this.log.join("\n")).rejects.toThrow();
      return;
    }
    const isKilled = this.#random(4) === 0;
    const who = this.#random(2) === 0 ? "host" : "agent";
    const kill = isKilled ? { who, afterMs: this.#random(120) } as const : undefined;
    const said = await this.#host!.run(agent.id, text, kill);
    this.#heard(isKilled ? `${about} (${who} killed after ${kill!.afterMs} ms)` : about, said);
    if (!isKilled) return;
    await this.#afterKill(who === "host" ? this.#agents : [agent]);
    if (who === "host") this.#left();
  }

  /** What an agent had committed when it or its host was killed is in its git folder, and counts as well. */
  async #afterKill(agents: readonly Agent[]): Promise<void> {
    this.wasKilled = true;
    for (const { id } of agents) {
      const folders = `find '${this.#repo.stateDir}' -type d -path '*/git/${id}/*/git' -prune 2>/dev/null`;
      const said = await this.#repo.sh(
        `for one in $(${folders}); do git --git-dir=$one rev-parse -q --verify HEAD || true; done`,
      );
      for (const id of said.match(/^[0-9a-f]{40}$/gm) ?? []) this.commits.add(id);
    }
  }

  /** The host is gone, and the sessions are left to the next one. */
  #left(): void {
    this.#agents.splice(0);
    this.#host = null;
  }

  #heard(about: string, said: string): void {
    this.log.push(`${about} -> ${said.trim().split("\n").join(" | ").slice(-160)}`);
    for (const [, id] of said.matchAll(/^commit ([0-9a-f]{40})$/gm)) this.commits.add(id!);
    for (const [, line] of said.matchAll(/^wrote (\S+)$/gm)) this.lines.add(line!);
  }

  async #place(): Promise<Place> {
    const { work, sh } = this.#repo;
    const found = (await sh("ls -d packages*/a ../linked* sub*/.git 2>/dev/null || true")).split("\n").filter((line) =>
      line !== ""
    );
    const places = found.sort().map((path): Place => {
      const folder = join(work, path.replace(/\/\.git$/, ""));
      return { folder, top: path.startsWith("packages") ? work : folder };
    });
    places.unshift({ folder: work, top: work });
    // Half of all happens at the top.
    return this.#random(2) === 0 ? places[0]! : places[this.#random(places.length)]!;
  }

  async #begin(): Promise<void> {
    const place = await this.#place();
    let agent: Agent;
    if (this.#kills) {
      this.#host ??= await GitHost.open(this.#repo);
      const id = await this.#host.begin(place.folder);
      this.#tops.set(id, place.top);
      agent = { id, own: null, ...place };
    } else {
      const own = await this.#repo.session({ workdir: place.folder });
      agent = { id: own.id, own, ...place };
    }
    this.#agents.push(agent);
    this.log.push(`begin of ${agent.id} in ${place.folder}`);
    // Inside, an agent may run what it likes: only out here there is such a home.
    const { home, work } = this.#repo;
    const run = `printf '#!/bin/sh\\n[ -e ${home}/.gitconfig.own ] && touch ${work}/ran\\n' > run; chmod +x run`;
    await (agent.own === null ? this.#host!.run(agent.id, run) : agent.own.run(run));
  }

  /** Ends one session, or its host. */
  async #end(): Promise<void> {
    const [agent] = this.#agents.splice(this.#random(this.#agents.length), 1);
    if (agent === undefined) return;
    const { id, own, top } = agent;
    const isKilled = this.#random(5) === 0;
    if (own === null) {
      const killMs = isKilled ? this.#random(300) : undefined;
      this.log.push(`end of ${id}${isKilled ? ` (host killed after ${killMs} ms)` : ""}`);
      await this.#host!.end(id, killMs);
      if (!isKilled) return;
      await this.#afterKill([agent, ...this.#agents]);
      return this.#left();
    }
    let changes: readonly GitChange[];
    if (!isKilled) changes = await own.end();
    else {
      await own.kill();
      changes = (await takeOverOf(join(this.#repo.stateDir, "git", id)))?.changes ?? [];
    }
    this.log.push(`end of ${id}: ${JSON.stringify(changes)}`);
    this.told.push(...changes.map((change) => ({ change, top })));
  }

  /** Collects what all sessions were told, from the journal of the last host. */
  async #hear(): Promise<void> {
    this.#host ??= await GitHost.open(this.#repo);
    for (const [id, top] of this.#tops) {
      for (const change of await this.#host.gitChanges(id)) {
        this.log.push(`told of ${id}: ${JSON.stringify(change)}`);
        this.told.push({ change, top });
      }
    }
    await this.#host.close();
    this.log.push(...this.#host.logs);
  }
}

/** Script of a step that tells of the lines that it wrote and of the commits that it saw. */
function told(name: string, script: string): string {
  return `exec 3>&1
put() { echo "$1" >> "$2" && wrote "$1"; }
wrote() { echo "wrote $1" >&3; }
seen() { echo "commit $(git -C "$1" rev-parse -q --verify HEAD)" >&3; }
( ${script} ) > /dev/null 2>&1 < /dev/null
seen .; echo "end of ${name}"`;
}
