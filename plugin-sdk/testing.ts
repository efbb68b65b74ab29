export {
  type AdapterProbe,
  type AdapterRun,
  probeAdapter,
  runAdapter,
  type RunAdapterOptions,
} from "./testing/run-adapter.ts";
export { MemoryContext, type MemoryContextOptions, type RecordedLog } from "./testing/memory-context.ts";
export { EventChecker } from "./testing/event-checker.ts";
export type {
  RecordedCall,
  RecordedConnection,
  RecordedRun,
  ScriptedProcess,
  ScriptedResponse,
  ScriptedSocket,
  ScriptedTurn,
} from "./testing/scripts.ts";
