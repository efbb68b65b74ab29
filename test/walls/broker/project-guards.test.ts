import { existsSync, lstatSync } from "node:fs";
import { link, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import type { SessionBrokerOptions } from "../../../core/walls/broker/session-broker.ts";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { anyShell, type BrokerFixture, capabilities, makeBroker, readAll, runShell } from "./broker-fixture.ts";

const ownHome = process.env["HOME"];
afterEach(() => {
  process.env["HOME"] = ownHome;
});

/** A project with these files, and a session of an agent in it. A value that begins with `->` makes a link. */
async function session(
  files: Record<string, string>,
  changes: (workdir: string) => Partial<SessionBrokerOptions> = () => ({}),
): Promise<BrokerFixture> {
  const fixture = await makeBroker({ permissions: { run: [anyShell] }, containPrograms: true, programNet: [] });
  process.env["HOME"] = join(fixture.root, "home");
  await mkdir(process.env["HOME"]);
  for (const [name, text] of Object.entries(files)) {
    const path = join(fixture.workdir, name);
    await mkdir(dirname(path), { recursive: true });
    if (text.startsWith("->")) await symlink(text.slice(2), path);
    else await writeFile(path, text);
  }
  Object.assign(fixture.options, changes(fixture.workdir));
  return fixture;
}

/** The next session in the same project, of another adapter. */
async function nextSession({ options }: BrokerFixture, number = 2): Promise<BrokerFixture> {
  return await makeBroker({ ...options, tempDir: `${options.tempDir}-${number}` });
}

async function run({ broker }: BrokerFixture, script: string): Promise<string> {
  const { stdout, stderr, process_id } = await runShell(broker, script);
  const [out, err] = await Promise.all([readAll(broker, stdout), readAll(broker, stderr)]);
  await broker.call("process_wait", { process_id });
  return out + err;
}

/** What the end of a session tells of writes. */
async function told({ broker, events }: BrokerFixture): Promise<[target: string, reason: string | undefined][]> {
  await broker.close();
  return capabilities(events).filter(({ permission }) => permission === "write")
    .map(({ target, reason }) => [target.replace("workdir:", ""), reason]);
}

/** Swaps two entries by one call of the system, renameat2(2). */
const exchange = (one: string, other: string) => {
  const number = process.arch === "arm64" ? 276 : 316;
  return `perl -e 'my ($a, $b) = @ARGV; syscall(${number}, -100, $a, -100, $b, 2) == 0 or print "no\\n"' ${one} ${other};`;
};

describe("the folders above a sealed place", () => {
  const plugin = { "plugins/deploy/mod.ts": "old", "conf/eu/bulkhead.yaml": "old", "src/main.c": "old" };
  const host = (workdir: string): Partial<SessionBrokerOptions> => ({
    sealedPaths: [join(workdir, "plugins", "deploy")],
    protectedPaths: [join(workdir, "conf", "eu", "bulkhead.yaml")],
    pluginPlaces: [join(workdir, "plugins")],
  });

  test("cannot be moved away and made again, by no kind of rename", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(plugin, host);
    const said = await run(
      made,
      `mv plugins p2 && cp -r p2 plugins; mv plugins/deploy plugins/d2; mv conf c2; mv conf/eu conf/us; rm -rf plugins conf
       mkdir -p other/deploy other/eu; echo evil > other/deploy/mod.ts; echo evil > other/eu/bulkhead.yaml
       ${exchange("plugins", "other")} ${exchange("conf", "other")} ${exchange("conf/eu", "other/eu")}
       echo beside > plugins/beside; mv src moved`,
    );
    expect(said.match(/^no$/gm)).toHaveLength(3);
    expect(await readFile(join(made.workdir, "plugins/deploy/mod.ts"), "utf8")).toBe("old");
    expect(await readFile(join(made.workdir, "conf/eu/bulkhead.yaml"), "utf8")).toBe("old");
    // What holds nothing of the host's is the agent's, and so is what stands beside it.
    expect(await readFile(join(made.workdir, "plugins/beside"), "utf8")).toBe("beside\n");
    expect(existsSync(join(made.workdir, "moved"))).toBe(true);
  });

  test("cannot be replaced where they are links, nor can the links to the place itself", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(
      {
        "store/deploy/mod.ts": "old",
        "vendor/two/mod.ts": "old",
        "plugins": "->store",
        "store/two": "->../vendor/two",
      },
      (workdir) => ({
        sealedPaths: [join(workdir, "store", "deploy"), join(workdir, "vendor", "two")],
        pluginPlaces: [join(workdir, "plugins")],
      }),
    );
    await run(
      made,
      `mkdir -p evil/deploy; echo evil > evil/deploy/mod.ts; mv store s2; mv vendor v2; rm plugins; ln -sfn evil plugins
       mv plugins p2; rm store/two; ln -sfn ../evil store/two; mv -T evil plugins; ${exchange("plugins", "evil")}`,
    );
    expect(await readlink(join(made.workdir, "plugins"))).toBe("store");
    expect(await readlink(join(made.workdir, "store/two"))).toBe("../vendor/two");
    for (const name of ["deploy", "two"]) {
      expect(await readFile(join(made.workdir, "plugins", name, "mod.ts"), "utf8")).toBe("old");
    }
  });

  test("are no more open for that than what is around them", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(
      {
        ".claude/rules/deep/one.md": "old",
        ".claude/all.md": "->rules/deep/one.md",
        "state/keys/secret": "SECRET",
        "state/keys/packages/deploy/mod.ts": "old",
      },
      (workdir) => ({
        sealedPaths: [join(workdir, "state", "keys", "packages", "deploy")],
        protectedPaths: [join(workdir, "state")],
      }),
    );
    const said = await run(
      made,
      `echo evil > .claude/rules/deep/two.md; echo evil > .claude/rules/two.md; cat state/keys/secret
       cat state/keys/packages/deploy/mod.ts`,
    );
    expect(said).toContain("old");
    expect(said).not.toContain("SECRET");
    expect(await readdir(join(made.workdir, ".claude/rules"))).toEqual(["deep"]);
    expect(await readdir(join(made.workdir, ".claude/rules/deep"))).toEqual(["one.md"]);
  });

  test("that a person makes meanwhile are held for the next program", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({}, host);
    await run(made, "true");
    await mkdir(join(made.workdir, "plugins", "deploy"), { recursive: true });
    await run(made, "mv plugins p2; echo x > plugins/deploy/mod.ts");
    expect(await readdir(join(made.workdir, "plugins", "deploy"))).toEqual([]);
  });
});

describe("a guarded name that is a link", () => {
  const links = {
    "AGENTS.md": "old",
    "CLAUDE.md": "->AGENTS.md",
    ".vscode": "->settings/code",
    "settings/code/tasks.json": "old",
    ".envrc": "->/etc/hostname",
    ".mcp.json": "->one",
    "one": "->two.json",
    "two.json": "old",
    ".github": "->nowhere",
    "GEMINI.md": "->docs/gemini.md",
  };

  test("is neither replaced, nor removed, nor written through", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(links);
    const said = await run(
      made,
      `for name in CLAUDE.md .vscode .envrc .mcp.json .github GEMINI.md one; do
         echo evil > $name; rm -f $name; mv $name gone; ln -sfn evil $name; echo evil > other; mv other $name; ${
        exchange("$name", "other")
      }
       done
       echo evil > AGENTS.md; echo evil > .vscode/tasks.json; mv settings s2; echo evil > two.json; mkdir -p docs
       echo evil > .github/x; echo evil > GEMINI.md; cat CLAUDE.md; readlink CLAUDE.md`,
    );
    expect(said).toContain("oldAGENTS.md\n");
    for (const [name, text] of Object.entries(links)) {
      const path = join(made.workdir, name);
      if (text.startsWith("->")) expect(await readlink(path), name).toBe(text.slice(2));
      else expect(await readFile(path, "utf8"), name).toBe("old");
    }
    expect(existsSync(join(made.workdir, "docs/gemini.md"))).toBe(false);
    expect(await told(made)).toEqual([]);
  });

  test("is told of where what it names was missing, and the agent made it", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(links);
    await run(made, "mkdir docs; echo evil > docs/gemini.md");
    expect(await told(made)).toEqual([["GEMINI.md", expect.stringContaining("what it names was made")]]);
  });

  test("in a guarded folder guards what it names in the project", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({
      ".claude/skills": "->../shared/skills",
      ".cursor/rules/all.md": "->../../docs/rules.md",
      ".zed": "->.editor",
      ".editor/tasks": "->../shared/tasks",
      "shared/skills/one/SKILL.md": "old",
      "shared/tasks/one": "old",
      "docs/rules.md": "old",
      "docs/more.md": "old",
      ".vscode/all": "->..",
    });
    await run(
      made,
      `for name in shared/skills/one/SKILL.md shared/tasks/one docs/rules.md docs/more.md; do echo new > $name; done
       mv shared s2; mv docs d2`,
    );
    for (const name of ["shared/skills/one/SKILL.md", "shared/tasks/one", "docs/rules.md"]) {
      expect(await readFile(join(made.workdir, name), "utf8"), name).toBe("old");
    }
    expect(await readFile(join(made.workdir, "docs/more.md"), "utf8")).toBe("new\n");
  });

  test("stays open where the operator's grant names what it leads to", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({ "AGENTS.md": "old", "CLAUDE.md": "->AGENTS.md" }, () => ({
      permissions: { run: [anyShell], write: ["workdir", "workdir:AGENTS.md"] },
      spelledRoots: ["workdir", "workdir:AGENTS.md"],
    }));
    await run(made, "echo new > CLAUDE.md; rm CLAUDE.md");
    expect(await readFile(join(made.workdir, "CLAUDE.md"), "utf8")).toBe("new\n");
    expect(lstatSync(join(made.workdir, "CLAUDE.md")).isSymbolicLink()).toBe(true);
  });

  test("keeps no program from starting, whatever a repository has it name", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({
      "CLAUDE.md": "->CLAUDE.md",
      "AGENTS.md": "->../../../../../../proc/self/root/etc/shadow",
      ".vscode": "->.",
      ".idea": "->..",
      ".cursor": "->.git",
      ".zed": "->/",
      "GEMINI.md": "->a/b/../c",
    });
    expect(await run(made, "echo up; rm -f CLAUDE.md")).toContain("up\n");
    expect(await readlink(join(made.workdir, "CLAUDE.md"))).toBe("CLAUDE.md");
  });
});

describe("a guarded file with another name", () => {
  test("is not changed under that one", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({ "AGENTS.md": "old", "src/deep/main.c": "old" });
    await link(join(made.workdir, "AGENTS.md"), join(made.workdir, "src/deep/notes"));
    await run(
      made,
      "echo evil > src/deep/notes; mv src s2; ln AGENTS.md more; ln src/deep/notes more; echo evil > more",
    );
    expect(await readFile(join(made.workdir, "AGENTS.md"), "utf8")).toBe("old");
  });

  test("is told of where that name was not found", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({ "AGENTS.md": "old", "node_modules/x/y": "" });
    await link(join(made.workdir, "AGENTS.md"), join(made.workdir, "node_modules/x/notes"));
    await run(made, "echo evil > node_modules/x/notes");
    expect(await told(made)).toEqual([[
      "AGENTS.md",
      expect.stringMatching(/Before: sha256 \w{64}\. Now: sha256 \w{64}/),
    ]]);
  });
});

describe("many guarded places", () => {
  const rules = (count: number, name: (number: number) => string) =>
    Object.fromEntries(Array.from({ length: count }, (_, number) => [name(number), "old"]));

  test(
    "of a repository keep no program from starting, and the names that agents know are guarded first",
    async (context) => {
      await needsWall(context, "bubblewrap");
      const made = await session({
        ...rules(1500, (number) => `a${number}.mdc`),
        "CLAUDE.md": "old",
        ".pre-commit-config.yaml": "old",
      });
      expect(
        await run(
          made,
          "echo up; echo evil > CLAUDE.md; echo evil > .pre-commit-config.yaml; for f in *.mdc; do echo evil > $f; done",
        ),
      ).toContain("up\n");
      expect(await readFile(join(made.workdir, "CLAUDE.md"), "utf8")).toBe("old");
      expect(await readFile(join(made.workdir, ".pre-commit-config.yaml"), "utf8")).toBe("old");
      const names = await told(made);
      expect(names).toHaveLength(21);
      expect(names.at(-1)).toEqual([expect.stringMatching(/and 1\d\d\d more guarded places/), undefined]);
    },
    60_000,
  );

  test("that an agent makes do not end the next session, nor fill the log of this one", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({});
    await run(made, "i=0; while [ $i -lt 1500 ]; do echo x > r$i.mdc; i=$((i+1)); done");
    const next = await nextSession(made);
    expect(await run(next, "echo up")).toBe("up\n");
    expect(await told(made)).toHaveLength(21);
  }, 60_000);

  test("that a repository's links name keep no program from starting", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({
      ...rules(1000, (number) => `f${number}.txt`),
      "AGENTS.md": "old",
      ...Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`.claude/l${at}`, `->../f${at}.txt`])),
      ...Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`a${at}.mdc`, `->f${at}.txt`])),
    });
    for (let number = 0; number < 1000; number++) {
      await link(join(made.workdir, "AGENTS.md"), join(made.workdir, `notes${number}`));
    }
    expect(await run(made, "echo up; echo evil > AGENTS.md")).toContain("up\n");
    expect(await readFile(join(made.workdir, "AGENTS.md"), "utf8")).toBe("old");
  }, 60_000);

  test("in one folder are one: it is read-only as a whole, and named", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session(
      { ...rules(300, (number) => `plugins/p${number}/mod.ts`), "src/main.c": "old" },
      (workdir) => ({
        sealedPaths: Array.from({ length: 300 }, (_, number) => join(workdir, "plugins", `p${number}`)),
      }),
    );
    await run(made, "echo evil > plugins/p7/mod.ts; echo evil > plugins/x; mv plugins p; echo new > src/main.c");
    expect(await readFile(join(made.workdir, "plugins/p7/mod.ts"), "utf8")).toBe("old");
    expect(existsSync(join(made.workdir, "plugins/x"))).toBe(false);
    expect(await readFile(join(made.workdir, "src/main.c"), "utf8")).toBe("new\n");
    expect(await told(made)).toEqual([["plugins", expect.stringContaining("only read it")]]);
  }, 60_000);
});

describe("guarded places and what happens outside meanwhile", () => {
  test("a file that a person makes is guarded for the next program of the session", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({});
    await run(made, "true");
    await writeFile(join(made.workdir, "AGENTS.md"), "mine");
    await mkdir(join(made.workdir, ".zed"));
    await run(made, "echo evil > AGENTS.md; rm AGENTS.md; echo evil > .zed/tasks.json");
    expect(await readFile(join(made.workdir, "AGENTS.md"), "utf8")).toBe("mine");
    expect(await readdir(join(made.workdir, ".zed"))).toEqual([]);
  });

  test("a file that is replaced from outside, and then changed by the agent, is told of with both digests", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({
      "AGENTS.md": "old",
      ".envrc": "old",
      ".vscode/tasks.json": "old",
      "CLAUDE.md": "->AGENTS.md",
    });
    const running = run(
      made,
      "echo > up; until [ -e go ]; do sleep 0.05; done; for f in AGENTS.md .envrc .vscode/tasks.json; do echo evil > $f; done",
    );
    await expect.poll(() => existsSync(join(made.workdir, "up")), { timeout: 20_000 }).toBe(true);
    for (const name of ["AGENTS.md", ".envrc"]) {
      await writeFile(join(made.workdir, "draft"), "edited");
      await rename(join(made.workdir, "draft"), join(made.workdir, name));
    }
    await rename(join(made.workdir, ".vscode"), join(made.workdir, "moved"));
    await mkdir(join(made.workdir, ".vscode"));
    await writeFile(join(made.workdir, "go"), "");
    await running;
    const digests = expect.stringMatching(/Before: sha256 \w{64}\. Now: sha256 \w{64}/);
    const all = await told(made);
    expect(all).toContainEqual(["AGENTS.md", digests]);
    expect(all).toContainEqual([".envrc", digests]);
    expect(all).toContainEqual([".vscode", expect.stringContaining("changed")]);
  });

  test("a place that is the same at the end is not told of, nor one that the grant opens", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({ "AGENTS.md": "old", ".envrc": "old", ".vscode/tasks.json": "old" }, () => ({
      permissions: { run: [anyShell], write: ["workdir", "workdir:AGENTS.md"] },
      spelledRoots: ["workdir", "workdir:AGENTS.md"],
    }));
    await run(made, "echo new > AGENTS.md");
    await writeFile(join(made.workdir, ".envrc"), "old");
    await rm(join(made.workdir, "AGENTS.md"));
    expect(await told(made)).toEqual([]);
  });

  test("a guarded place that is gone at the end is told of", async (context) => {
    await needsWall(context, "bubblewrap");
    const made = await session({ "AGENTS.md": "old", ".vscode/tasks.json": "old", ".vscode/more/x": "old" });
    await run(made, "true");
    await rm(join(made.workdir, "AGENTS.md"));
    await writeFile(join(made.workdir, ".vscode/more/x"), "new");
    expect(await told(made)).toEqual([
      ["AGENTS.md", expect.stringContaining("removed")],
      [".vscode/more/x", expect.stringContaining("changed")],
    ]);
  });
});

test("settings of tools that git starts at a commit are guarded, and files that git alone does not act on are not", async (context) => {
  await needsWall(context, "bubblewrap");
  const guarded = [
    ".husky/pre-commit",
    ".githooks/pre-commit",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    ".lefthook-local/pre-commit/x",
    "lefthook-local.yml",
    ".overcommit.yml",
    ".simple-git-hooks.json",
    ".simple-git-hooks.cjs",
    ".gitconfig",
    ".hg/hgrc",
  ];
  const open = [".gitattributes", ".gitmodules", ".gitignore"];
  const made = await session(Object.fromEntries([...guarded, ...open].map((name) => [name, "old"])));
  await run(
    made,
    `for name in ${[...guarded, ...open].join(" ")}; do echo new > $name; done; mv .husky h; mv .githooks g`,
  );
  for (const name of guarded) expect(await readFile(join(made.workdir, name), "utf8"), name).toBe("old");
  for (const name of open) expect(await readFile(join(made.workdir, name), "utf8"), name).toBe("new\n");
});
