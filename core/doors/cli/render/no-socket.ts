/** Words for a daemon that has no socket. */
export const noSocket = "none; the log says why";
