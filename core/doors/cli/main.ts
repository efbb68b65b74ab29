#!/usr/bin/env node
import { keepInspectorShut } from "../../ground/platform/engine/keep-inspector-shut.ts";

// Must run before any other module loads: until then a signal would open this process to a debugger.
keepInspectorShut();
const { start } = await import("./start.ts");
await start();
