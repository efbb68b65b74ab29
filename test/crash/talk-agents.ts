import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writePlugin } from "../sessions/host/test-host.ts";
import type { Lane } from "./lane.ts";

/** Agents that take words into a turn, keep them for a turn of their own, or take none; the last one has one turn a process. */
export const agentKinds = ["injects", "queues", "deaf", "single"] as const;

/** What each of them accepts. */
const accepts: Record<(typeof agentKinds)[number], string> = {
  injects: "turns, steer, stop_turn, continue_from",
  queues: "turns, steer, stop_turn, continue_from",
  deaf: "turns, continue_from",
  single: "continue_from",
};

/** The agent's program: writes each message that it sees into a file, before it says so. */
const program = `seen=$1 kind=$2 held=()
note() { printf '%s\\n' "$1" >> "$seen"; }
# A read that is out of time has taken what was there of its line: a busy machine cuts it short in the middle of one.
work() {
  local left=$1 part= word code
  while ((left-- > 0)) || [[ -n $part ]]; do
    IFS= read -r -t 0.02 word; code=$?
    part+=$word
    if ((code == 1)); then exit; fi
    if ((code > 1)); then continue; fi
    word=$part part=
    case $word in
      S\\ *) if [[ $kind == injects ]]; then note "\${word#S }"; printf 'took %s\\n' "\${word#S }"; else held+=("\${word#S }"); fi ;;
      X) return ;;
    esac
  done
}
while IFS= read -r line; do
  case $line in
    P\\ *)
      rest=\${line#P }
      [[ $rest == *\\ * ]] && note "\${rest#* }"
      work "\${rest%% *}"
      echo done
      while ((\${#held[@]})); do
        words=("\${held[@]}"); held=()
        for word in "\${words[@]}"; do note "$word"; done
        echo "began \${words[*]}"
        work 3
        echo done
      done ;;
    S\\ *) printf 'late %s\\n' "\${line#S }" ;;
  esac
done
`;

/** The adapter of such an agent. */
const adapter = (kind: string) =>
  `import { defineAdapter } from "bulkhead/plugin-sdk";
const tokenOf = (text) => [...text.matchAll(/say:([a-z0-9]+:\\d+):(\\d+)(:fail)?/g)].at(-1);
async function* linesOf(pieces) {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\\n");
    rest = lines.pop();
    yield* lines;
  }
}
const idOf = (token) => token.split(":")[0];
export default defineAdapter({
  id: "made", name: "Made", version: "1.0.0",
  async *runSession(request, ctx) {
    const child = await ctx.run("/bin/bash", [ctx.plugin_dir + "/agent.sh", ctx.workdir + "/seen.txt", "${kind}"], { stdin: "open" });
    const lines = linesOf(child.stdout);
    const next = async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error("The program is gone.");
      return value.split(" ");
    };
    yield { type: "agent_info", agent_session_id: request.continue_from ?? "native-" + ctx.session_id };
    // A word may be on its way when its turn ends: the next one waits for the answer.
    const open = new Set();
    for await (const turn of ctx.turns) {
      const [, token, steps = "1", fails] = tokenOf(turn.prompt) ?? [];
      const steering = async () => {
        for await (const { text } of turn.messages) {
          const [, word] = tokenOf(text);
          open.add(idOf(word));
          await child.stdin.write("S " + word + "\\n");
        }
      };
      await child.stdin.write("P " + steps + (token === undefined ? "" : " " + token) + "\\n");
      if (${kind === "injects" || kind === "queues"}) {
        steering().catch(() => {});
        turn.signal.addEventListener("abort", () => child.stdin.write("X\\n").catch(() => {}));
      }
      for (let isOver = false; !isOver || open.size > 0;) {
        const [what, ...words] = await next();
        for (const word of words) open.delete(idOf(word));
        if (what === "took") yield { type: "message", message_id: idOf(words[0]), state: "taken" };
        if (what === "late") yield { type: "message", message_id: idOf(words[0]), state: "returned" };
        if (what === "began") {
          isOver = false;
          yield { type: "turn_began", message_ids: words.map(idOf) };
        }
        if (what !== "done") continue;
        isOver = true;
        yield { type: "completed", success: fails === undefined, files_changed: [], tokens_used: null, cost: null };
      }
    }
  },
});
`;

/** Writes the agents into a lane, and the host manifest that lets them run. */
export async function writeAgents({ folder, workdir }: Lane): Promise<void> {
  await mkdir(workdir, { recursive: true });
  for (const kind of agentKinds) {
    await writePlugin(join(folder, "plugins", kind), kind, {
      files: { "mod.js": adapter(kind), "agent.sh": program },
      manifest: `accepts: [${accepts[kind]}]\npermissions: { run: [{ binary: /bin/bash, args: ["{...}"] }] }`,
    });
  }
  await writeTalkManifest(folder, 0);
}

/** A plugin whose processes are killed all the time still has to run. */
const limits = {
  agent_grace_ms: 300,
  warden_grace_ms: 200,
  teardown_timeout_ms: 200,
  quarantine_crashes: 1000,
  restart_backoff_max_ms: 500,
};

/** Writes the host manifest; another number is another manifest, so that kept sessions end before their next prompt. */
export async function writeTalkManifest(folder: string, number: number): Promise<void> {
  const lines = [
    "bulkhead: 1",
    `# ${number}`,
    "plugins:",
    ...agentKinds.map((kind) => `  ${kind}: { grant: { run: [/bin/bash] } }`),
    "daemon: { port: 0, drain_ms: 200 }",
    `limits: ${JSON.stringify(limits)}`,
    "",
  ];
  await writeFile(join(folder, "bulkhead.yaml"), lines.join("\n"));
}
