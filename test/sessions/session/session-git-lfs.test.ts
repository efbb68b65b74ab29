import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { needsWall } from "../../ground/platform/os-walls/needs-wall.ts";
import { type AgentGit, makeAgentGit } from "./agent-git.ts";

/**
 * A filter that keeps files beside the repository and a pointer to each in it, as git-lfs does. Out here, where the person's home
 * is, it also notes what it was asked for.
 */
const filter = (home: string) =>
  `#!/bin/sh
[ -e ${home}/.out ] && echo "$1" >> ${home}/asked
store=$(git rev-parse --git-common-dir)/lfs/objects
case $1 in
clean)
  t=$(mktemp); cat > "$t"; id=$(sha256sum "$t" | cut -c1-64); size=$(wc -c < "$t"); to=$store/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-4)
  mkdir -p "$to"; mv "$t" "$to/$id"
  printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$id" "$size";;
smudge)
  p=$(cat); id=$(echo "$p" | sed -n 's/^oid sha256://p')
  cat "$store/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-4)/$id" 2>/dev/null || { echo "$p"; exit 1; };;
esac
`;

/** A repository with a large file, whose filter is in the person's own settings. */
async function withLargeFiles(program: string): Promise<AgentGit> {
  const repo = await makeAgentGit("true");
  const file = join(repo.home, program);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, filter(repo.home));
  await chmod(file, 0o755);
  const set = ["clean", "smudge"].map((word) => `git config --global filter.lfs.${word} "${file} ${word} -- %f"`);
  await repo.sh(
    `touch ~/.out; ${set.join("; ")}; git config --global filter.lfs.required true; git init -q -b main .
     echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; echo large > a.bin; touch -d '1 hour ago' a.bin; git add .; git commit -qm first; rm ~/asked`,
  );
  return repo;
}

async function asked(repo: AgentGit): Promise<string> {
  return await readFile(join(repo.home, "asked"), "utf8").catch(() => "");
}

const pointerStart = "version https://git-lfs.github.com/spec/v1\n";

describe("a repository with git-lfs", () => {
  test("gets an agent's large files, and the take-over starts no filter", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await withLargeFiles(".local/bin/git-lfs");
    const agent = await repo.session();
    const said = await agent.run(
      "git status --short; echo larger > b.bin; echo changed > a.bin; git add .; git commit -qm of-agent; git status --short; rm a.bin; git checkout -q a.bin; cat a.bin",
    );
    expect(said).toBe("changed\n");
    expect(await agent.end()).toEqual([expect.objectContaining({ name: "refs/heads/main", outcome: "moved" })]);
    expect(await asked(repo)).toBe("");
    // The person's own git stores what it looks at.
    expect((await repo.sh("cd .git/lfs/objects; cat $(find . -type f)")).split("\n").sort()).toEqual(
      ["", "changed", "large", "larger"],
    );
    expect(await repo.git("status", "--short")).toBe("");
    expect(await repo.git("cat-file", "blob", "HEAD:b.bin")).toContain(pointerStart);
    await repo.sh("rm a.bin b.bin; git checkout -q .");
    expect(await repo.read("a.bin") + await repo.read("b.bin")).toBe("changed\nlarger\n");
    await repo.sh("git checkout -q HEAD~1");
    expect(await repo.read("a.bin")).toBe("large\n");
    await repo.git("fsck");
  });

  test("stays as it is where the agent does not see the filter's program", async (context) => {
    await needsWall(context, "bubblewrap");
    const repo = await withLargeFiles("hidden/git-lfs");
    const agent = await repo.session();
    const said = await agent.run(
      "echo larger > b.bin; git add b.bin; echo text > c; git add c; git commit -qm of-agent",
    );
    expect(said).toContain("clean filter 'lfs' failed");
    expect(await agent.end()).toEqual([expect.objectContaining({ name: "refs/heads/main", outcome: "moved" })]);
    expect(await asked(repo)).toBe("");
    expect(await repo.git("status", "--short")).toBe("?? b.bin\n");
    expect(await repo.git("log", "-1", "--format=%s", "--name-only")).toBe("of-agent\n\nc\n");
    await repo.sh("git add b.bin");
    expect(await repo.git("cat-file", "blob", ":b.bin")).toContain(pointerStart);
  });
});
