#!/usr/bin/env node
import { keepInspectorShut } from "../../ground/runtime/keep-inspector-shut.ts";
import { openTerminal } from "../../ground/runtime/terminal.ts";
import { runCli } from "./run-cli.ts";

keepInspectorShut();
const terminal = openTerminal();
terminal.exit(await runCli(terminal));
