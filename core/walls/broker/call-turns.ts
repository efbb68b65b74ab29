import { Turns } from "../../ground/platform/engine/turns.ts";

// File calls and look-ups of names run on the runtime's few threads, which all plugins and the host share: a plugin whose
// calls hang there (a dead network drive, a name server that is silent) must not hold more of them than its own.

/** File calls of one plugin, over all its sessions. */
export const diskTurns: Turns = new Turns(2);

/** Look-ups of names by one plugin. */
export const lookupTurns: Turns = new Turns(1);

/** Look-ups of names by all plugins together: half of the four threads that a runtime has. */
export const allLookupTurns: Turns = new Turns(2);
