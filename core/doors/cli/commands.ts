import type { CommandEntry } from "./command.ts";

/** Every command, in the order and under the headings of the help text. To add one: a file in `commands/` and an entry here. */
export const commandGroups: readonly { heading: string; commands: readonly CommandEntry[] }[] = [
  {
    heading: "Run agents",
    commands: [
      {
        name: "setup",
        summary: "find the agents of this machine, enable them, and run a first session",
        load: async () => (await import("./commands/setup.ts")).defineSetup,
      },
      {
        name: "run",
        summary: "run one session and show its events live",
        load: async () => (await import("./commands/run.ts")).defineRun,
      },
      {
        name: "chat",
        summary: "talk with an agent: prompts, words while it works, stops and other agents",
        load: async () => (await import("./commands/chat.ts")).defineChat,
      },
      {
        name: "replay",
        summary: "play a recorded session again, without its model and without a network",
        load: async () => (await import("./commands/replay.ts")).defineReplay,
      },
      {
        name: "loop",
        summary: "run fresh sessions of one prompt until the agent says that it is done",
        load: async () => (await import("./commands/loop.ts")).defineLoop,
      },
      {
        name: "agents",
        summary: "show which agents could take a session now, and what the others need",
        load: async () => (await import("./commands/agents.ts")).defineAgents,
      },
      {
        name: "console",
        summary: "open a page that shows everything that runs, waits or was refused",
        load: async () => (await import("./commands/console.ts")).defineConsole,
      },
      {
        name: "session",
        summary: "list, show, watch and answer sessions, and take what they changed",
        load: async () => (await import("./commands/session.ts")).defineSession,
      },
      {
        name: "usage",
        summary: "add up tokens and cost of past sessions, by day and agent",
        load: async () => (await import("./commands/usage.ts")).defineUsage,
      },
    ],
  },
  {
    heading: "Plugins and settings",
    commands: [
      {
        name: "plugin",
        summary: "install, update, check, explain and grant plugins; write and pack your own",
        load: async () => (await import("./commands/plugin.ts")).definePlugin,
      },
      {
        name: "secret",
        summary: "keep the secrets that plugins may use and never see",
        load: async () => (await import("./commands/secret.ts")).defineSecret,
      },
      {
        name: "init",
        summary: "write a first bulkhead.yaml",
        load: async () => (await import("./commands/init.ts")).defineInit,
      },
      {
        name: "accept",
        summary: "accept what changed in a file of the host while an agent could write it",
        load: async () => (await import("./commands/accept.ts")).defineAccept,
      },
      {
        name: "config",
        summary: "check bulkhead.yaml and show the settings in force",
        load: async () => (await import("./commands/config.ts")).defineConfig,
      },
      {
        name: "schema",
        summary: "print the JSON Schema of plugin.yaml or bulkhead.yaml",
        load: async () => (await import("./commands/schema.ts")).defineSchema,
      },
    ],
  },
  {
    heading: "The daemon",
    commands: [
      {
        name: "start",
        summary: "start the daemon in the background",
        load: async () => (await import("./commands/start.ts")).defineStart,
      },
      {
        name: "stop",
        summary: "stop the daemon, after the sessions that run",
        load: async () => (await import("./commands/stop.ts")).defineStop,
      },
      {
        name: "restart",
        summary: "stop the daemon and start it again",
        load: async () => (await import("./commands/restart.ts")).defineRestart,
      },
      {
        name: "reload",
        summary: "let the daemon read bulkhead.yaml again",
        load: async () => (await import("./commands/reload.ts")).defineReload,
      },
      {
        name: "status",
        summary: "show whether the daemon runs, and where",
        load: async () => (await import("./commands/status.ts")).defineStatus,
      },
      {
        name: "logs",
        summary: "show the daemon's log",
        load: async () => (await import("./commands/logs.ts")).defineLogs,
      },
      {
        name: "up",
        summary: "run the daemon in this terminal",
        load: async () => (await import("./commands/up.ts")).defineUp,
      },
      {
        name: "service",
        summary: "let the system start the daemon at login: a systemd unit or a launchd agent",
        load: async () => (await import("./commands/system-unit-files.ts")).defineService,
      },
    ],
  },
  {
    heading: "Several machines",
    commands: [
      {
        name: "cluster",
        summary: "show the machines that work together",
        load: async () => (await import("./commands/cluster.ts")).defineCluster,
      },
    ],
  },
  {
    heading: "Other ways in",
    commands: [
      {
        name: "mcp",
        summary: "serve the Model Context Protocol on standard input and output",
        load: async () => (await import("./commands/mcp.ts")).defineMcp,
      },
      {
        name: "acp",
        summary: "act as an agent for editors that speak the Agent Client Protocol",
        load: async () => (await import("./commands/acp.ts")).defineAcp,
      },
      {
        name: "token",
        summary: "make, list and revoke tokens for the HTTP API",
        load: async () => (await import("./commands/token.ts")).defineToken,
      },
    ],
  },
  {
    heading: "See that it holds",
    commands: [
      {
        name: "doctor",
        summary: "show runtime, active walls and available agents",
        load: async () => (await import("./commands/doctor.ts")).defineDoctor,
      },
      {
        name: "journal",
        summary: "verify, export and compact the log of all sessions",
        load: async () => (await import("./commands/journal.ts")).defineJournal,
      },
      {
        name: "backup",
        summary: "copy sessions, settings, secrets and packages to a folder",
        load: async () => (await import("./commands/backup.ts")).defineBackup,
      },
      {
        name: "restore",
        summary: "bring an installation back from a backup",
        load: async () => (await import("./commands/backup.ts")).defineRestore,
      },
      {
        name: "attack",
        summary: "run the hostile corpus against this machine's walls",
        load: async () => (await import("./commands/attack.ts")).defineAttack,
      },
      {
        name: "demo",
        summary: "run three sessions at once, one of them hostile",
        load: async () => (await import("./commands/demo.ts")).defineDemo,
      },
    ],
  },
  {
    heading: "Help",
    commands: [
      {
        name: "help",
        summary: "show help for a command, or a page of the documentation",
        load: async () => (await import("./commands/help.ts")).defineHelp,
      },
      {
        name: "completion",
        summary: "print a completion script for bash, zsh or fish",
        load: async () => (await import("./commands/complete.ts")).defineCompletion,
      },
      {
        name: "complete",
        summary: "print the words that could go on a command line, for completion",
        hidden: true,
        load: async () => (await import("./commands/complete.ts")).defineComplete,
      },
    ],
  },
];
