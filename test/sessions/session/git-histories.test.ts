import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import type { GitChange } from "../../../plugin-sdk/git-changes.ts";
import { takeOverOf } from "../../../core/sessions/session/session-git.ts";
import { needsWall } from "../../ground/runtime/os-walls/needs-wall.ts";
import { type AgentGit, type AgentSession, makeAgentGit } from "./agent-git.ts";

/** Histories of a run, and the seed of the first one. */
const histories = Number(process.env["BULKHEAD_GIT_HISTORIES"] ?? 4);
const firstSeed = Number(process.env["BULKHEAD_GIT_SEED"] ?? 1);

/** Random numbers below a bound, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2654435761 >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Scripts of one actor, with a name of its own for what each writes; a step that git refuses changes nothing. */
const steps: readonly ((name: string) => string)[] = [
  (name) => `echo ${name} > ${name}; git add ${name}; git commit -qm ${name}`,
  (name) => `echo ${name} > ${name}; git add ${name}; git commit -q --amend -m ${name}`,
  (name) => `echo ${name} > ${name}; git add ${name}`,
  (name) => `echo ${name} >> shared; git add shared; git commit -qm ${name}`,
  (name) => `echo ${name} >> shared`,
  (name) => `git switch -qc ${name}`,
  () => "git switch -q main",
  (name) => `echo ${name} >> shared; git stash`,
  (name) => `git tag ${name}`,
  () => "git gc -q --prune=now",
  (name) => `git switch -qc ${name}; echo ${name} > clash; git add clash; git commit -qm ${name}; git rebase -q main`,
  () => "git merge -q side",
  () => "git reset -q --soft HEAD~1",
];

/** Scripts of an agent that try to have its program run outside. */
const attacks: readonly string[] = [
  "git config core.fsmonitor ./run; git config core.hooksPath hooks",
  "mkdir -p .git/hooks; for h in pre-commit post-checkout post-merge reference-transaction; do cp run .git/hooks/$h; done",
  "echo ../evil > .git/commondir; mkdir -p evil/objects evil/refs; cp .git/HEAD .git/config evil; git config -f evil/config core.fsmonitor ./run",
];

class History {
  readonly #random: (below: number) => number;
  readonly #repo: AgentGit;
  readonly #agents: AgentSession[] = [];
  readonly #changes: GitChange[] = [];
  /** Commits that someone made, and lines that someone wrote. */
  readonly #commits = new Set<string>();
  readonly #lines = new Set<string>();
  #count = 0;
  /** Steps so far, for the one who looks at a failure. */
  readonly #log: string[] = [];

  constructor(repo: AgentGit, seed: number) {
    this.#repo = repo;
    this.#random = randomFrom(seed);
  }

  async run(): Promise<void> {
    for (let left = 8 + this.#random(8); left > 0; left--) await this.#step();
    while (this.#agents.length > 0) await this.#end();
    await this.#check();
  }

  async #step(): Promise<void> {
    const kind = this.#random(10);
    if (this.#agents.length === 0 || kind === 9 && this.#agents.length < 2) {
      const agent = await this.#repo.session();
      this.#agents.push(agent);
      // Inside, an agent may run what it likes: only out here there is such a home.
      const { home, work } = this.#repo;
      await agent.run(`printf '#!/bin/sh\\n[ -e ${home}/.gitconfig.own ] && touch ${work}/ran\\n' > run; chmod +x run`);
      return;
    }
    if (kind === 8) return await this.#end();
    const name = `${kind < 5 ? "agent" : "person"}-${++this.#count}`;
    const script = steps[this.#random(steps.length)]!(name);
    const told = `(${script}) >/dev/null 2>&1; git rev-parse -q --verify HEAD`;
    const agent = this.#agents[this.#random(this.#agents.length)]!;
    const said = kind < 5 ? await agent.run(told) : await this.#repo.sh(`set +e; ${told}; true`);
    this.#log.push(`${name}: ${script} -> ${said.trim().slice(-60)}`);
    const commit = said.trim().split("\n").at(-1)!;
    // Else the program did not start, as where a socket of another test came and went.
    if (!/^[0-9a-f]{40}$/.test(commit)) return;
    this.#commits.add(commit);
    if (script.includes("echo")) this.#lines.add(name);
  }

  /** Ends one session, or its host. */
  async #end(): Promise<void> {
    const [agent] = this.#agents.splice(this.#random(this.#agents.length), 1);
    if (agent === undefined) return;
    if (this.#random(2) === 0) await agent.run(attacks[this.#random(attacks.length)]!);
    let changes: readonly GitChange[];
    if (this.#random(5) > 0) changes = await agent.end();
    else {
      await agent.kill();
      changes = (await takeOverOf(join(this.#repo.stateDir, "git", agent.id)))?.changes ?? [];
    }
    this.#log.push(`end of ${agent.id}: ${JSON.stringify(changes)}`);
    this.#changes.push(...changes);
  }

  async #check(): Promise<void> {
    const { git, sh, work } = this.#repo;
    const log = this.#log.join("\n");
    const status = await git("status", "--porcelain");
    expect(await readdir(work), log).not.toContain("ran");
    // Nothing is staged to be deleted, and no commit deletes: no step does.
    expect(status.split("\n").filter((line) => /^D|^.D/.test(line)), log).toEqual([]);
    expect(await git("log", "--all", "--reflog", "--diff-filter=D", "--no-merges", "--format=%s"), log).toBe("");
    const reachable = new Set((await git("rev-list", "--all", "--reflog", "HEAD")).split("\n"));
    expect([...this.#commits].filter((id) => !reachable.has(id)), log).toEqual([]);
    const blobs =
      "git rev-list --objects --all --reflog --indexed-objects HEAD | cut -d' ' -f1 | git cat-file --batch | strings";
    const texts = await sh(`${blobs}; cat $(git ls-files -co --exclude-standard) 2>/dev/null || true`);
    const known = new Set(texts.split("\n"));
    expect([...this.#lines].filter((line) => !known.has(line)), log).toEqual([]);
    expect(await git("fsck", "--no-dangling", "--no-progress"), log).toBe("");
    expect(this.#changes.filter(({ outcome, command }) => outcome !== "moved" && command === undefined), log).toEqual(
      [],
    );
  }
}

for (let seed = firstSeed; seed < firstSeed + histories; seed++) {
  test(
    `no history of an agent, a person and a second session loses or undoes anything: ${seed}`,
    { timeout: 120_000 },
    async (context) => {
      await needsWall(context, "bubblewrap");
      const repo = await makeAgentGit(
        `git init -q -b main . && echo one > shared && echo base > clash && git add . && git commit -qm first && git switch -qc side && echo side > side && echo side > clash && git add . && git commit -qm side && git switch -q main && echo main > clash && git commit -qam main`,
      );
      await repo.sh("touch ~/.gitconfig.own");
      await new History(repo, seed).run();
    },
  );
}
