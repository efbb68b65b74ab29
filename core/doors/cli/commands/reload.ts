import type { RemoteReload } from "../../client/connect-host.ts";
import { type DefineCommand, examples, type Invocation, tell } from "../command.ts";
import { daemonPlace } from "../daemon-place.ts";
import { runningDaemon } from "../ask-daemon.ts";
import { asTyped } from "../render/as-typed.ts";
import { demandOwnProject } from "../project-daemon.ts";

/** `bulkhead reload`. */
export const defineReload: DefineCommand = (command, bind) => {
  command
    .addHelpText(...examples(
      ["bulkhead reload", "put bulkhead.yaml into force; sessions that run go on as they began"],
      ["kill -HUP $(bulkhead status --json | jq .pid)", "the same; what came of it stands in the log"],
    ))
    .action(bind(reload));
};

async function reload(call: Invocation): Promise<number> {
  const place = await daemonPlace(call);
  const record = await runningDaemon(place.stateDir, "reload the daemon");
  demandOwnProject(record, { place, act: "reload the daemon" });
  const { connectDaemon, ours } = await import("../remote-sessions.ts");
  const remote = await connectDaemon(record);
  const report = await ours(remote.reload());
  return await tell(call, report, reportText(report));
}

function reportText({ added, removed, changed, unavailable, restart_needed }: RemoteReload): string {
  const rows = [["added", added], ["removed", removed], ["changed", changed]] as const;
  const lines = rows.filter(([, ids]) => ids.length > 0).map(([what, ids]) => `${what}: ${ids.join(", ")}`);
  return [
    ...(lines.length === 0 ? ["No plugin changed."] : lines),
    ...(unavailable.length === 0
      ? []
      : [asTyped(`unavailable: ${unavailable.join(", ")} (why: bulkhead plugin list)`)]),
    ...(restart_needed.length === 0 ? [] : [`After a restart: ${restart_needed.join(", ")}`]),
  ].join("\n");
}
