/** Agents of documents, whose programs are not on this machine, and those of the test's world that take their place. */
export const standsFor: Readonly<Record<string, string>> = {
  "acp": "my-agent",
  "claude-code": "my-agent",
  "codex": "other-agent",
  "copilot": "my-agent",
  "gemini-cli": "my-agent",
  "kiro": "my-agent",
  "opencode": "my-agent",
  "pi": "my-agent",
  "qchat": "my-agent",
  "qwen-code": "my-agent",
  "repo-census": "my-agent",
};

/** Commands that go before a line, in the same world: what its page says before it. */
export const prepared: Readonly<Record<string, readonly string[]>> = {
  "session rewind 3f2a --undo": ["session rewind 3f2a --to 1 --files --talk"],
  "session rewind 3f2a --to 3 --talk": ["session rewind 3f2a --to 2 --talk"],
  "secret rm API_KEY": ["secret set API_KEY"],
  "token revoke ci": ["token create ci --scope run"],
  "run replay Again --param recording=./a.jsonl": ["run my-agent Hello --record a.jsonl"],
  "plugin enable greeter --grant write:workdir": ["plugin revoke greeter write:workdir"],
  "plugin test my-agent": ["plugin new my-agent"],
  "plugin pack my-agent": ["plugin new my-agent"],
};

/** Lines that end with another code than 0 in the test's world, and what they say. */
export const unlike: Readonly<Record<string, { code: number; says: string }>> = {
  "setup": { code: 4, says: "there is no terminal to ask at" },
  "setup --for all": { code: 4, says: "there is no terminal to ask at" },
  "init": { code: 2, says: "it already exists" },
};

/** Reason of lines that are run while a daemon runs. */
export const withDaemon = "beside a daemon";

/**
 * Beginnings of lines that are not run with the others: the test that runs them, or why none can. One with `$` at its end is the
 * whole line; an empty reason is one that is run although a shorter beginning is here.
 */
export const asideFor: Readonly<Record<string, string>> = {
  "up": "test/doors/cli/daemon.test.ts: it runs until it is ended",
  "start": "test/doors/cli/daemon.test.ts: it leaves a daemon",
  "restart": "test/doors/cli/daemon.test.ts: with a daemon",
  "stop": "test/doors/cli/daemon.test.ts: with a daemon",
  "reload": withDaemon,
  "console": withDaemon,
  "status": withDaemon,
  "logs": "test/doors/cli/daemon.test.ts: with a daemon's log",
  "service": "test/doors/cli/daemon.test.ts: with the person's own system, but for what it prints",
  "service install --print": "",
  "session answer": "test/doors/cli/daemon.test.ts: while an agent asks",
  "session held 3f2a --drop": "test/doors/http/workspaces.test.ts: with changes that are held",
  "session held 3f2a --apply-all": "test/doors/http/workspaces.test.ts: with changes that are held",
  "journal verify --head": "test/doors/cli/journal.test.ts: with a head of that journal",
  "mcp": "test/doors/cli/doors.test.ts: it serves a client",
  "acp": "test/doors/cli/doors.test.ts: it serves a client",
  "chat": "test/doors/cli/chat/chat-screen.test.ts: at a terminal",
  "attack": "test/hostile/corpus.test.ts: it takes minutes",
  "attack --list": "",
  "attack --agent --list": "",
  "demo": "test/doors/cli/empty-states.test.ts: it takes seconds",
  "cluster": "test/cluster: with several machines",
  "session watch": "test/doors/cli/watch/session-watch.test.ts: it runs until it is ended",
  "session edit": "test/doors/http/conversations.test.ts: while a message waits",
  "session withdraw": "test/doors/cli/talk.test.ts: while a message waits",
  "session stop": "test/doors/cli/talk.test.ts: while a turn runs",
  "replay": "test/doors/cli/replay.test.ts: with a model whose calls were recorded",
  "run --record-wire": "test/doors/cli/replay.test.ts: with a model whose calls are recorded",
  "run my-agent --keep": "test/sessions/host/kept-turns.test.ts: it waits for a message",
  "run claude-code Fix it --machine": "test/cluster/placement.test.ts: with several machines",
  "run claude-code Fix it --on": "test/cluster/placement.test.ts: with several machines",
  "run codex Fix the test --repository": "test/cluster/placement.test.ts: with several machines",
  "run replay again --param": "test/doors/cli/empty-states.test.ts: with the file that the host puts at its end",
  "run my-agent --record-wire": "test/doors/cli/replay.test.ts: with a model whose calls are recorded",
  "plugin add": "test/packages/install/registry.test.ts: with a registry",
  "plugin update": "test/packages/install/registry.test.ts: with a registry",
  "plugin search": "test/packages/install/search.test.ts: with a registry",
  "plugin remove": "test/packages/install/registry.test.ts: one that was installed",
  "plugin import": "test/kit/author/import-plugin.test.ts: with the files that it reads",
  "plugin test$": "test/doors/cli/plugin-author.test.ts: in the folder of a plugin",
  "plugin check$": "test/doors/cli/plugin-author.test.ts: in the folder of a plugin",
  "plugin pack$": "test/doors/cli/plugin-author.test.ts: in the folder of a plugin",
  "plugin test ../my-agent --wire": "test/kit/conformance/wire.test.ts: with a session that was recorded",
  "plugin test ./my-agent --record": "test/kit/conformance/record-plugin.test.ts: with a program or a server to record",
  "plugin test ./my-plugin --record":
    "test/kit/conformance/record-plugin.test.ts: with a program or a server to record",
  "plugin check plugins/gemini-yaml": "test/plugins/yaml-adapters.test.ts: the plugin is the page's own",
  "plugin enable gemini-yaml": "test/plugins/yaml-adapters.test.ts: the plugin is the page's own",
  "plugin grant gemini-yaml": "test/plugins/yaml-adapters.test.ts: the plugin is the page's own",
  "run gemini-yaml": "test/plugins/yaml-adapters.test.ts: the plugin is the page's own",
  "plugin dev": "test/doors/cli/plugin-dev.test.ts: it runs until it is ended",
  "restore": "test/doors/cli/backup.test.ts: on another machine",
  "accept": "test/doors/cli/accept.test.ts: after an agent changed a file",
};
