import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { makeDemoPlace } from "../demo/demo-repository.ts";
import { demoManifest } from "../demo/demo-sessions.ts";
import { playDemo } from "../demo/play-demo.ts";
import { watchInterrupts } from "../interrupts.ts";

/** `bulkhead demo`. */
export const defineDemo: DefineCommand = (command, bind) => {
  command
    .addHelpText(
      "after",
      "\nIn a fresh git repository, three sessions run at once: a tool defined in YAML, a recorded session of a real " +
        "agent, and a hostile adapter. The demo exits with 0 only if the hostile one harmed no other session.",
    )
    .addHelpText(...examples(
      ["bulkhead demo", "watch it; it takes seconds"],
      ["bulkhead demo --json", "every envelope on a line, and a summary last"],
    ))
    .action(bind(demo));
};

async function demo({ terminal, json, createHost }: Invocation): Promise<number> {
  const started = performance.now();
  using interrupts = watchInterrupts(terminal);
  await using place = await makeDemoPlace();
  const host = await createHost({ manifest: demoManifest(), root: place.repository, stateDir: place.state });
  const pluginFolder = (id: string) => Promise.resolve(host.registry.get(id)?.folder);
  try {
    const { signal } = interrupts;
    const held = await playDemo({ sessions: host.sessions, pluginFolder }, { terminal, json, place, signal, started });
    return held ? 0 : 1;
  } finally {
    await host.close();
  }
}
