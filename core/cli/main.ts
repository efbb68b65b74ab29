#!/usr/bin/env node
import { openTerminal } from "../runtime/terminal.ts";
import { runCli } from "./run-cli.ts";

const terminal = openTerminal();
terminal.exit(await runCli(terminal));
