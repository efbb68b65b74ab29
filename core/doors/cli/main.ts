#!/usr/bin/env node
import { keepInspectorShut } from "../../ground/runtime/keep-inspector-shut.ts";

// Must run before any other module loads: until then a signal would open this process to a debugger.
keepInspectorShut();
const [{ openTerminal }, { runCli }] = await Promise.all([
  import("../../ground/runtime/terminal.ts"),
  import("./run-cli.ts"),
]);
const terminal = openTerminal();
terminal.exit(await runCli(terminal));
