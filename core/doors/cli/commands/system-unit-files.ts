import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { Option } from "commander";
import { type DefineCommand, examples, type Invocation } from "../command.ts";
import { mkdir, rm } from "../../../ground/runtime/files.ts";
import { dirname } from "../../../ground/runtime/paths.ts";
import { replaceFile } from "../../../ground/runtime/replace-file.ts";
import { systemUnitOf } from "../system-unit.ts";

const systems = ["systemd", "launchd"] as const;
const systemFlag = "--system <name>";
const systemMeaning = "who starts it; default: launchd on macOS, else systemd";

/** `bulkhead service` and its sub-commands. */
export const defineService: DefineCommand = (command, bind) => {
  command.usage("<install|uninstall> [flags]");
  command.command("install")
    .description("write the file with which your system starts the daemon at login")
    .option("--print", "print the file, write nothing")
    .addOption(new Option(systemFlag, systemMeaning).choices(systems))
    .addHelpText(
      "after",
      examples(
        ["bulkhead service install", "then the two commands that it prints"],
        ["bulkhead service install --print --system systemd", "look at it first"],
      ),
    )
    .action(bind(install));
  command.command("uninstall")
    .description("remove that file")
    .addOption(new Option(systemFlag, systemMeaning).choices(systems))
    .addHelpText("after", examples(["bulkhead service uninstall", "the daemon itself goes on"]))
    .action(bind(uninstall));
};

async function install(call: Invocation): Promise<number> {
  const { terminal, json, options } = call;
  const { file, text, enable } = await systemUnitOf(call);
  if (options["print"] === true) {
    await terminal.stdout.write(json ? `${JSON.stringify({ file, text })}\n` : text);
    return 0;
  }
  try {
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, text);
  } catch (cause) {
    throw new BulkheadError("io_error", `Cannot write ${file}.`, { cause });
  }
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ file, enable })}\n`
      : `Wrote ${file}.\nStart it now and at every login:\n${enable.map((line) => `  ${line}\n`).join("")}`,
  );
  return 0;
}

async function uninstall(call: Invocation): Promise<number> {
  const { terminal, json } = call;
  const { file, disable } = await systemUnitOf(call);
  const removed = await rm(file).then(() => true, (error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw new BulkheadError("io_error", `Cannot remove ${file}.`, { cause: error });
  });
  await terminal.stdout.write(
    json
      ? `${JSON.stringify({ file, removed, disable })}\n`
      : removed
      ? `Removed ${file}.\nLet the system forget it:\n${disable.map((line) => `  ${line}\n`).join("")}`
      : `There is no ${file}.\n`,
  );
  return 0;
}
