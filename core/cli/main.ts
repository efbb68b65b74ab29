#!/usr/bin/env node
import { keepInspectorShut } from "../runtime/keep-inspector-shut.ts";
import { openTerminal } from "../runtime/terminal.ts";
import { runCli } from "./run-cli.ts";

keepInspectorShut();
const terminal = openTerminal();
terminal.exit(await runCli(terminal));
